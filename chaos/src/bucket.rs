//! The bucket of large bodies, and the way to it: requests are lost, late, answered and the answer lost; the process that
//! asks dies before or after. Its lifecycle deletes what is old or released.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::timing::BODIES_BEYOND_RETENTION;
use oncehook_store::{Bodies, BodyAnswer, BodyError};
use tokio::time::sleep;

use crate::{
    database::{TABLE, number, text},
    sabotage::Sabotage,
    world::{Kind, Process, World},
};

/// What is under `bodies/` goes after this: the retention of chaos.toml and what template.yaml adds to it.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(48);

#[derive(Debug, Clone)]
struct Object {
    name: String,
    body: Bytes,
    written: Timestamp,
    released: bool,
}

/// All objects, in the order in which they came: their names are random.
#[derive(Debug, Default)]
pub(crate) struct Objects(Mutex<Vec<Object>>);

impl Objects {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Object>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(&self, name: &str) -> Option<Bytes> {
        self.with(|objects| {
            let found = objects.iter().find(|object| object.name == name);
            found.map(|object| object.body.clone())
        })
    }

    fn put(&self, world: &World, name: &str, body: Bytes) {
        let object = Object {
            name: name.to_owned(),
            body,
            written: world.now(),
            released: world.sabotage == Some(Sabotage::ReleasedAtOnce),
        };
        self.with(|objects| objects.push(object));
    }

    /// What the lifecycle deletes, sooner or later.
    pub(crate) fn expire(&self, world: &World) {
        let now = world.now();
        let gone = |object: &Object| {
            let age = now.duration_since(object.written);
            match object.name.starts_with("kept/") {
                true => object.released && age >= SignedDuration::from_hours(24),
                false => age >= KEPT_FOR + BODIES_BEYOND_RETENTION,
            }
        };
        self.with(|objects| objects.retain(|object| !gone(object) || world.chance(30)));
        check(world);
    }
}

/// 3, 4: whatever is named is there, for as long as it is named.
pub(crate) fn check(world: &World) {
    let now = world.now().as_second();
    for item in world.database.all(TABLE) {
        let Some(name) = text(&item, "body_at") else {
            continue;
        };
        if number(&item, "expires_at").is_some_and(|at| at <= now) {
            continue;
        }
        let pk = text(&item, "pk").unwrap_or_default();
        if world.objects.get(&name).is_none() {
            world.wrong(Kind::Lost, format!("the large body of {pk} is gone"));
        }
    }
}

/// The way of one process to it.
#[derive(Debug)]
pub(crate) struct Bucket(pub(crate) Arc<Process>);

impl Bucket {
    /// One request, which may meet something on its way there or back.
    async fn ask<T>(
        &self,
        what: &str,
        act: impl Fn(&World) -> T + Send + Sync + 'static,
    ) -> Result<T, BodyError>
    where
        T: Send + 'static,
    {
        let world = Arc::clone(&self.0.world);
        let met = world.storming() && world.draw(1000) < u64::from(world.weather.database);
        let fault = if met { 1 + world.draw(6) } else { 0 };
        world.say(&self.0.name, || format!("bucket: {what}, meets {fault}"));
        sleep(Duration::from_millis(1 + world.draw(world.weather.latency))).await;
        match fault {
            0 => Ok(act(&world)),
            1 => self.0.die().await,
            2 => {
                act(&world);
                self.0.die().await
            }
            3 => {
                act(&world);
                lost().await
            }
            4 => {
                let delay = world.some(Duration::from_secs(30));
                tokio::spawn(async move {
                    sleep(delay).await;
                    act(&world);
                });
                lost().await
            }
            5 => lost().await,
            _ => Err(BodyError::Busy("slow down".to_owned())),
        }
    }
}

/// No answer comes, and the caller has waited for long enough.
async fn lost<T>() -> Result<T, BodyError> {
    sleep(Duration::from_secs(5)).await;
    Err(BodyError::Busy("no answer".to_owned()))
}

impl Bodies for Bucket {
    fn put<'a>(&'a self, name: &'a str, body: Bytes) -> BodyAnswer<'a, ()> {
        let name = name.to_owned();
        Box::pin(async move {
            let later = self.0.world.sabotage == Some(Sabotage::BodyAfterRecord);
            self.ask("put", move |world| {
                if !later || !world.mishap(30) {
                    world.objects.put(world, &name, body.clone());
                }
            })
            .await
        })
    }

    fn get<'a>(&'a self, name: &'a str, most: usize) -> BodyAnswer<'a, Option<Bytes>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = self.ask("get", move |world| world.objects.get(&name)).await?;
            Ok(found.filter(|body| body.len() <= most))
        })
    }

    fn copy<'a>(&'a self, from: &'a str, to: &'a str) -> BodyAnswer<'a, bool> {
        let (from, to) = (from.to_owned(), to.to_owned());
        Box::pin(async move {
            self.ask("copy", move |world| {
                let found = world.objects.get(&from);
                found.map(|body| world.objects.put(world, &to, body)).is_some()
            })
            .await
        })
    }

    fn release<'a>(&'a self, name: &'a str) -> BodyAnswer<'a, ()> {
        let name = name.to_owned();
        Box::pin(async move {
            self.ask("release", move |world| {
                world.objects.with(|objects| {
                    for object in objects.iter_mut().filter(|object| object.name == name) {
                        object.released = true;
                    }
                });
            })
            .await
        })
    }
}
