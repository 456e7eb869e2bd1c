//! A Parameter Store: as much of Systems Manager's protocol as Oncehook speaks, with versions, and misbehaving when told.
//!
//! It encrypts nothing, checks no credentials and keeps all in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::{
    behaviour::{Behaviour, Script},
    server::{self, Answer, Background},
};

type Store = Arc<Mutex<Inner>>;

#[derive(Debug, Default)]
struct Inner {
    /// The requests of every version of a parameter, the first at 0.
    parameters: BTreeMap<String, Vec<Value>>,
    calls: Vec<String>,
    /// What somebody else writes just before the next PutParameter.
    beforehand: Vec<(String, String)>,
}

/// A running Parameter Store.
#[derive(Debug)]
pub struct Parameters {
    server: Background,
    script: Script,
    store: Store,
}

impl Parameters {
    /// Starts an empty one on any free port.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start() -> Result<Self> {
        let script = Script::default();
        let store = Store::default();
        let (next, kept) = (script.clone(), Arc::clone(&store));
        let server = Background::serve("parameters", None, move |request| {
            let (next, kept) = (next.clone(), Arc::clone(&kept));
            async move {
                let behaviour = next.next();
                let answer = {
                    let mut store = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    store.answer(&request, behaviour.acts())
                };
                behaviour.finish(answer).await
            }
        })?;
        Ok(Self {
            server,
            script,
            store,
        })
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// Scripts the next call not yet scripted.
    pub fn next(&self, behaviour: Behaviour) {
        self.script.add([behaviour]);
    }

    /// Writes a parameter, as somebody else would.
    pub fn put(&self, name: &str, value: &str) {
        self.inner(|inner| inner.put_text(name, value));
    }

    /// Somebody else writes this just before the next PutParameter is taken: what a lost update looks like.
    pub fn put_before_next(&self, name: &str, value: &str) {
        self.inner(|inner| inner.beforehand.push((name.to_owned(), value.to_owned())));
    }

    /// Removes a parameter.
    pub fn remove(&self, name: &str) {
        self.inner(|inner| inner.parameters.remove(name));
    }

    /// The value of a parameter.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<String> {
        self.inner(|inner| Some(inner.parameters.get(name)?.last()?["Value"].as_str()?.to_owned()))
    }

    /// The request that wrote a parameter last.
    #[must_use]
    pub fn written(&self, name: &str) -> Option<Value> {
        self.inner(|inner| inner.parameters.get(name)?.last().cloned())
    }

    /// The operations called so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.inner(|inner| inner.calls.clone())
    }

    fn inner<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.store.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    fn put(&mut self, name: &str, request: Value) -> usize {
        let versions = self.parameters.entry(name.to_owned()).or_default();
        versions.push(request);
        versions.len()
    }

    fn put_text(&mut self, name: &str, value: &str) {
        self.put(
            name,
            json!({ "Name": name, "Value": value, "Type": "SecureString" }),
        );
    }

    fn answer(&mut self, request: &Request<Bytes>, acts: bool) -> Answer {
        let target = request.headers().get("x-amz-target");
        let operation = target
            .and_then(|target| target.to_str().ok()?.split('.').next_back())
            .unwrap_or_default()
            .to_owned();
        self.calls.push(operation.clone());
        let input: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let result = match operation.as_str() {
            "GetParameter" => self.get(&input),
            "PutParameter" if acts => self.write(input),
            "PutParameter" => Ok(json!({})),
            "DescribeParameters" => Ok(self.describe(&input)),
            _ => Err(("InvalidAction", "no such operation here")),
        };
        match result {
            Ok(answer) => server::json(StatusCode::OK, &answer),
            Err((code, message)) => {
                let body = json!({ "__type": code, "message": message });
                server::json(StatusCode::BAD_REQUEST, &body)
            }
        }
    }

    /// `name`, or `name:version`.
    fn get(&self, input: &Value) -> Result<Value, (&'static str, &'static str)> {
        let wanted = input["Name"].as_str().unwrap_or_default();
        let (name, version) = wanted.split_once(':').unwrap_or((wanted, ""));
        let absent = ("ParameterNotFound", "no such parameter");
        let versions = self.parameters.get(name).ok_or(absent)?;
        let version = version.parse().unwrap_or(versions.len());
        let found = version.checked_sub(1).and_then(|index| versions.get(index));
        let found = found.ok_or(("ParameterVersionNotFound", "no such version"))?;
        Ok(json!({ "Parameter": {
            "Name": name, "Type": found["Type"], "Value": found["Value"], "Version": version,
        } }))
    }

    fn write(&mut self, input: Value) -> Result<Value, (&'static str, &'static str)> {
        for (name, value) in std::mem::take(&mut self.beforehand) {
            self.put_text(&name, &value);
        }
        let name = input["Name"].as_str().unwrap_or_default().to_owned();
        if self.parameters.contains_key(&name) && input["Overwrite"] != true {
            return Err(("ParameterAlreadyExists", "the parameter already exists"));
        }
        let version = self.put(&name, input);
        Ok(json!({ "Version": version, "Tier": "Standard" }))
    }

    fn describe(&self, input: &Value) -> Value {
        let wanted = &input["ParameterFilters"][0]["Values"][0];
        let found = wanted.as_str().and_then(|name| self.parameters.get(name)?.last());
        let listed = found.map(|last| {
            let text = |key: &str, default: &str| last[key].as_str().unwrap_or(default).to_owned();
            json!({
                "Name": wanted, "Type": last["Type"], "Tier": text("Tier", "Standard"),
                "KeyId": text("KeyId", "alias/aws/ssm"),
            })
        });
        json!({ "Parameters": listed.into_iter().collect::<Vec<_>>() })
    }
}
