//! One history: a storm, then calm until everything has come to an end, then the check.

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use futures_util::future::{join, join_all};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{
    check,
    database::{ACCOUNTS, Embedded, TABLE, text},
    destination::Switchboard,
    machine::{Machine, Setup},
    people, provider,
    sabotage::Sabotage,
    wire::client,
    world::{Kind, Process, World},
};

/// What came of a history.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) violations: Vec<(Kind, String)>,
    pub(crate) crashes: u64,
    /// What happened, in one number: the same for the same seed.
    pub(crate) steps: u64,
}

/// What a thread needs for many histories.
pub(crate) struct Stage {
    board: Switchboard,
    setup: Arc<Setup>,
    client: oncehook_drain::Client,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let board = Switchboard::default();
        let client = board.client();
        Self {
            setup: Arc::new(Setup::new(client.clone())),
            board,
            client,
        }
    }

    /// Plays a history in stopped time: it passes only when everything waits.
    pub(crate) fn play(&self, seed: u64, sabotage: Option<Sabotage>, print: bool) -> End {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        fastrand::seed(seed);
        runtime.block_on(async {
            let world = World::new(seed, Embedded::new(), sabotage, print);
            self.board.lead_to(&world);
            self.run(&world).await;
            let mut book = world.book();
            End {
                violations: std::mem::take(&mut book.violations),
                crashes: book.crashes,
                steps: book.steps,
            }
        })
    }

    async fn run(&self, world: &Arc<World>) {
        world.say("weather", || format!("{:?}", world.weather));
        tables(world).await;
        let (machine, sent) = Machine::new(world, &self.setup);
        let events = provider::events(world);
        let story = async {
            let storm = async {
                sleep(world.weather.storm).await;
                world.calm_down();
                world.say("weather", || "CALM".to_owned());
            };
            join(storm, people::act(&machine, self.client.clone())).await;
            calm(&machine, &events).await;
        };
        let expiry = async {
            loop {
                sleep(Duration::from_secs(3_600) + world.some(Duration::from_secs(36_000))).await;
                machine.expire();
            }
        };
        let deliveries = join_all(events.iter().map(|event| event.deliver(&machine)));
        let background = async {
            tokio::join!(
                machine.pump(sent),
                machine.work(0),
                machine.work(1),
                machine.sweep_on(),
                expiry,
                async {
                    deliveries.await;
                    std::future::pending::<()>().await;
                },
            )
        };
        tokio::select! {
            biased;
            _ = background => {}
            () = story => {}
        }
    }
}

async fn tables(world: &Arc<World>) {
    let client = client(&Process::new(world, "setup"));
    world.database.execute(
        "CreateTable",
        &json!({
            "TableName": ACCOUNTS, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "customer_id", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "customer_id", "KeyType": "HASH" }]
        })
        .to_string(),
    );
    loop {
        if oncehook_store::create_table(&client, TABLE).await.is_ok() {
            return;
        }
    }
}

/// Until nothing is left to do, for some days at most; then as long again as anything is kept.
async fn calm(machine: &Machine, events: &[provider::Sent]) {
    let world = &machine.world;
    let open = || {
        let taken = events.iter().all(|event| event.taken.load(Ordering::Relaxed));
        let items = world.database.all(TABLE);
        !taken
            || items
                .iter()
                .any(|item| text(item, "state").as_deref() == Some("open"))
    };
    // Writes that are under way arrive.
    sleep(Duration::from_secs(60)).await;
    let mut step = Duration::from_secs(120);
    for _ in 0..60 {
        machine.sweep().await;
        sleep(step).await;
        if !open() {
            break;
        }
        step = (step * 5 / 4).min(Duration::from_secs(3 * 3_600));
    }
    // Everybody has come to an end, the last answers included.
    let _all = timeout(Duration::from_secs(60), std::future::pending::<()>()).await;
    check::all(world, events);
    // What expires may go now, and nothing else.
    sleep(Duration::from_secs(4 * 86_400)).await;
    for _ in 0..3 {
        machine.expire();
    }
}
