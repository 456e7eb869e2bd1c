//! The way to the database, behind the AWS SDK: requests are lost, late, answered and the answer lost, refused; the process
//! that asks dies before or after.

use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Credentials, Region, retry::RetryConfig, timeout::TimeoutConfig},
};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    database::text,
    fence::Fence,
    world::{Process, World},
};

/// What a call to the database meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    DieBefore,
    DieAfter,
    LostRequest,
    LostAnswer,
    Late,
    Throttled,
    Conflict,
    Internal,
}

/// The line of one process to the database.
#[derive(Debug)]
struct Tap(Arc<Process>);

impl HttpConnector for Tap {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let process = Arc::clone(&self.0);
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let body = request.body().bytes().unwrap_or_default();
        let body = String::from_utf8(body.to_vec()).unwrap();
        HttpConnectorFuture::new(async move { exchange(&process, operation, body).await })
    }
}

/// A client of the database for a process.
pub(crate) fn client(process: &Arc<Process>) -> Client {
    let connector = SharedHttpConnector::new(Tap(Arc::clone(process)));
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client_fn(move |_, _| connector.clone()))
        .retry_config(RetryConfig::disabled())
        .timeout_config(
            TimeoutConfig::builder()
                .operation_attempt_timeout(Duration::from_secs(1))
                .build(),
        )
        .region(Region::new("us-east-1"))
        .endpoint_url("http://dynamodb.test")
        .credentials_provider(Credentials::new("chaos", "chaos", None, None, "chaos"))
        .build();
    Client::from_conf(config)
}

async fn exchange(
    process: &Arc<Process>,
    operation: String,
    mut body: String,
) -> Result<HttpResponse, ConnectorError> {
    let world = Arc::clone(&process.world);
    let mut fence = None;
    let writes = !matches!(operation.as_str(), "GetItem" | "Query" | "Scan" | "BatchGetItem");
    if writes {
        let mut request: Value = serde_json::from_str(&body).unwrap();
        note_places(&world, &operation, &request);
        fence = Fence::of(&operation, &request);
        if let Some(sabotage) = world.sabotage
            && sabotage.of_request(&operation, &mut request)
        {
            body = request.to_string();
        }
        world.say(&process.name, || describe(&operation, &request));
    }
    let fault = fault(&world, writes);
    if fault != Fault::None {
        world.say(&process.name, || format!("{operation} meets {fault:?}"));
    }
    sleep(Duration::from_millis(1 + world.draw(world.weather.latency))).await;
    let apply = || Fence::watch(fence.as_ref(), &world, &operation, &body);
    match fault {
        Fault::None => {}
        Fault::DieBefore => return process.die().await,
        Fault::DieAfter => {
            apply();
            return process.die().await;
        }
        Fault::LostRequest => return lost(&world).await,
        Fault::LostAnswer => {
            apply();
            return lost(&world).await;
        }
        Fault::Late => {
            let (world, operation, body) = (Arc::clone(&world), operation.clone(), body.clone());
            let fence = fence.take();
            let delay = world.some(Duration::from_secs(30));
            tokio::spawn(async move {
                sleep(delay).await;
                let (status, _) = Fence::watch(fence.as_ref(), &world, &operation, &body);
                world.say("network", || format!("a late {operation} arrives: {status}"));
            });
            return lost(&process.world).await;
        }
        Fault::Throttled => return Ok(error(400, "ThrottlingException")),
        Fault::Internal => return Ok(error(500, "InternalServerError")),
        Fault::Conflict if operation == "TransactWriteItems" => return Ok(conflict(&body)),
        Fault::Conflict => return Ok(error(400, "TransactionConflictException")),
    }
    if let Some(sabotage) = world.sabotage
        && sabotage.answers_before_writing(&operation, &body)
    {
        let (world, operation) = (Arc::clone(&world), operation.clone());
        if !world.mishap(30) {
            tokio::spawn(async move {
                sleep(Duration::from_millis(300)).await;
                world.database.execute(&operation, &body);
            });
        }
        return Ok(response(200, "{}".to_owned()));
    }
    let (status, mut answer) = apply();
    if status != 200 {
        world.say(&process.name, || {
            format!("{operation} refused: {}", short(&answer))
        });
    }
    if operation == "Query" && !consistent(&body) && world.mishap(10) {
        answer = shortened(&world, &answer);
    }
    if let Some(sabotage) = world.sabotage {
        sabotage.of_answer(&operation, &body, &mut answer);
    }
    Ok(response(status, answer))
}

fn fault(world: &World, writes: bool) -> Fault {
    if !world.storming() || world.draw(1000) >= u64::from(world.weather.database) {
        return Fault::None;
    }
    match world.draw(11) {
        0 => Fault::DieBefore,
        1 | 2 => Fault::DieAfter,
        3 => Fault::LostRequest,
        4 | 5 => Fault::LostAnswer,
        6 | 7 if writes => Fault::Late,
        8 => Fault::Throttled,
        9 => Fault::Internal,
        _ if writes => Fault::Conflict,
        _ => Fault::LostAnswer,
    }
}

/// No answer: the connection breaks, or nothing comes until the client has waited for long enough.
async fn lost(world: &World) -> Result<HttpResponse, ConnectorError> {
    if world.chance(50) {
        return Err(ConnectorError::io("the connection broke".into()));
    }
    std::future::pending().await
}

fn response(status: u16, body: String) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
    response
        .headers_mut()
        .insert("content-type", "application/x-amz-json-1.0");
    response
}

fn error(status: u16, code: &str) -> HttpResponse {
    let code = format!("com.amazonaws.dynamodb.v20120810#{code}");
    response(status, json!({ "__type": code, "message": "chaos" }).to_string())
}

fn conflict(body: &str) -> HttpResponse {
    let request: Value = serde_json::from_str(body).unwrap();
    let count = request["TransactItems"].as_array().map_or(0, Vec::len);
    let mut reasons = vec![json!({ "Code": "None" }); count];
    if let Some(last) = reasons.last_mut() {
        *last = json!({ "Code": "TransactionConflict", "Message": "chaos" });
    }
    let answer = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "chaos", "CancellationReasons": reasons
    });
    response(400, answer.to_string())
}

/// Whether a query has to show everything that was written before it. An index never does.
fn consistent(body: &str) -> bool {
    let request: Value = serde_json::from_str(body).unwrap();
    request["ConsistentRead"] == json!(true)
}

/// A query that does not yet show everything.
fn shortened(world: &World, answer: &str) -> String {
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    if let Some(items) = answer["Items"].as_array_mut() {
        items.retain(|_| !world.chance(50));
        let count = items.len();
        answer["Count"] = json!(count);
    }
    answer.to_string()
}

/// Where outbox items are put.
fn note_places(world: &World, operation: &str, request: &Value) {
    if operation != "TransactWriteItems" {
        return;
    }
    let actions = request["TransactItems"].as_array().into_iter().flatten();
    for item in actions.filter_map(|action| action["Put"].get("Item")) {
        let (Some(pk), Some(sk)) = (text(item, "pk"), text(item, "sk")) else {
            continue;
        };
        if let (true, Some(effect), Some(event)) = (
            sk.starts_with("outbox#"),
            text(item, "effect"),
            text(item, "event_id"),
        ) {
            world.book().places.insert((effect, event), (pk, sk));
        }
    }
}

fn describe(operation: &str, request: &Value) -> String {
    let one = |action: &Value| {
        let key = action.get("Key").or_else(|| action.get("Item"));
        let key = key.map_or_else(String::new, |key| {
            let name = |name| text(key, name).unwrap_or_default();
            format!("{} {}{}", name("pk"), name("sk"), name("customer_id"))
        });
        let change = action["UpdateExpression"].as_str().unwrap_or_default();
        format!("{key} {change}").trim().to_owned()
    };
    match request["TransactItems"].as_array() {
        Some(actions) => {
            let all: Vec<String> = actions
                .iter()
                .filter_map(|action| action.as_object()?.values().next().map(one))
                .collect();
            format!("{operation} [{}]", all.join("; "))
        }
        None => format!("{operation} {}", one(request)),
    }
}

/// The codes of an error.
fn short(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let code = answer["__type"].as_str().unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or_default();
    let reasons: Vec<&str> = answer["CancellationReasons"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|reason| reason["Code"].as_str())
        .collect();
    let message = answer["message"].as_str().unwrap_or_default();
    format!("{code} {} {message}", reasons.join(","))
}
