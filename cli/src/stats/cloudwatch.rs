//! Asks CloudWatch for the metrics of a stack, in its JSON protocol, signed; there is no client for it here.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html>

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock as _, config::Config};
use oncehook_edge::{
    Environment, Signer, SystemClock, Unsigned,
    metrics::{METRICS, Metric},
};
use serde_json::{Value, json};

use super::report::Sample;
use crate::{
    aws::{self, LOG_IN},
    post,
};

const TARGET: &str = "GraniteServiceVersion20100801.GetMetricData";
/// So many questions in one request; AWS takes 500. Answers stay small.
const AT_ONCE: usize = 50;
/// So many numbers in one answer; more come with its token.
const NUMBERS: u32 = 1000;
/// Up to here numbers of single minutes are asked for, which AWS keeps for 15 days; beyond, those of hours.
const FINE: SignedDuration = SignedDuration::from_hours(3);

/// A metric of one source or destination.
struct Wanted {
    metric: &'static Metric,
    of: String,
}

/// CloudWatch of one account and Region.
pub(super) struct Client {
    signer: Signer,
}

fn period(from: Timestamp, until: Timestamp) -> i64 {
    if until.duration_since(from) <= FINE {
        60
    } else {
        3600
    }
}

/// The beginning of the minute or hour from which the numbers are.
pub(super) fn aligned(from: Timestamp, until: Timestamp) -> Timestamp {
    let seconds = from.as_second();
    let start = seconds - seconds.rem_euclid(period(from, until));
    Timestamp::from_second(start).unwrap_or(from)
}

impl Client {
    /// With the credentials of a person.
    ///
    /// # Errors
    /// When nothing names a Region.
    pub(super) async fn new(region: Option<&str>, profile: Option<&str>) -> anyhow::Result<Self> {
        let settings = aws::settings(region, profile).await;
        if settings.region().is_none() {
            bail!("no Region: give --region, or set AWS_REGION");
        }
        Ok(Self {
            signer: Signer::new(&settings, &Environment::process()),
        })
    }

    /// Every metric of the sources and destinations that are configured, by minute or hour.
    ///
    /// # Errors
    /// When CloudWatch cannot be asked; says what to do.
    pub(super) async fn samples(
        &self,
        stack: &str,
        config: &Config,
        from: Timestamp,
        until: Timestamp,
    ) -> anyhow::Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for wanted in wanted(config).chunks(AT_ONCE) {
            let mut request = request(stack, wanted, from, until);
            loop {
                let answer = self.ask(&request).await?;
                samples.extend(read(&answer, wanted));
                match answer["NextToken"].as_str() {
                    Some(token) => request["NextToken"] = token.into(),
                    None => break,
                }
            }
        }
        Ok(samples)
    }

    async fn ask(&self, request: &Value) -> anyhow::Result<Value> {
        let body = Bytes::from(request.to_string());
        let headers = [
            ("content-type", "application/x-amz-json-1.0".to_owned()),
            ("x-amz-target", TARGET.to_owned()),
        ];
        let call = Unsigned {
            service: "monitoring",
            method: Method::POST,
            region: None,
            origin: None,
            path: "/",
            headers: &headers,
            body: body.clone(),
        };
        let signed = self.signer.sign(&call, SystemClock.now()).await;
        let signed = signed.map_err(|error| anyhow::anyhow!("{error}{LOG_IN}"))?;
        let answer = post::post(&signed.uri().to_string(), signed.headers(), body).await?;
        let value: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        if answer.status == 200 {
            return Some(value)
                .filter(Value::is_object)
                .context("CloudWatch answered with no JSON");
        }
        let kind = value["__type"].as_str().unwrap_or("an error without a name");
        let kind = kind.rsplit('#').next().unwrap_or(kind);
        let message = value["message"].as_str().or(value["Message"].as_str());
        let remedy = match kind {
            "AccessDenied" | "AccessDeniedException" => "\nYou need cloudwatch:GetMetricData.",
            "ExpiredToken"
            | "ExpiredTokenException"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId" => LOG_IN,
            _ => "",
        };
        bail!(
            "CloudWatch answered {}: {kind}: {}{remedy}",
            answer.status,
            message.unwrap_or_default()
        )
    }
}

fn wanted(config: &Config) -> Vec<Wanted> {
    let needed = |metric: &&Metric| metric.unit == "Count" || matches!(metric.name, "OldestDue" | "OpenFor");
    let of = |metric: &'static Metric| {
        let names: Vec<&String> = match metric.by.first() {
            Some(&"source") => config.sources.keys().collect(),
            Some(&"destination") => config.destinations.keys().collect(),
            _ => Vec::new(),
        };
        names.into_iter().map(move |name| Wanted {
            metric,
            of: name.clone(),
        })
    };
    METRICS.iter().filter(needed).flat_map(of).collect()
}

fn request(stack: &str, wanted: &[Wanted], from: Timestamp, until: Timestamp) -> Value {
    let queries = wanted.iter().enumerate().map(|(index, wanted)| {
        let stat = if wanted.metric.unit == "Count" {
            "Sum"
        } else {
            "Maximum"
        };
        let by = wanted.metric.by.first().copied().unwrap_or_default();
        json!({
            "Id": format!("q{index}"),
            "MetricStat": {
                "Metric": {
                    "Namespace": format!("Oncehook/{stack}"),
                    "MetricName": wanted.metric.name,
                    "Dimensions": [
                        {"Name": "function", "Value": wanted.metric.function},
                        {"Name": by, "Value": wanted.of},
                    ],
                },
                "Period": period(from, until),
                "Stat": stat,
            },
        })
    });
    json!({
        "MetricDataQueries": queries.collect::<Vec<_>>(),
        "StartTime": aligned(from, until).as_second(),
        // What is before it counts.
        "EndTime": until.as_second() + 1,
        "ScanBy": "TimestampAscending",
        "MaxDatapoints": NUMBERS,
    })
}

fn read(answer: &Value, wanted: &[Wanted]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for result in answer["MetricDataResults"].as_array().into_iter().flatten() {
        let id = result["Id"].as_str().and_then(|id| id.strip_prefix('q'));
        let Some(wanted) = id.and_then(|id| wanted.get(id.parse::<usize>().ok()?)) else {
            continue;
        };
        let list = |name: &str| result[name].as_array().cloned().unwrap_or_default();
        for (at, value) in list("Timestamps").iter().zip(list("Values")) {
            if let (Some(at), Some(value)) = (time(at), value.as_f64()) {
                samples.push(Sample {
                    metric: wanted.metric,
                    of: wanted.of.clone(),
                    at,
                    value,
                });
            }
        }
    }
    samples
}

/// Seconds since 1970, or RFC 3339.
fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(seconds) => {
            let seconds = SignedDuration::try_from_secs_f64(seconds.as_f64()?).ok()?;
            Timestamp::from_duration(seconds).ok()
        }
        _ => None,
    }
}
