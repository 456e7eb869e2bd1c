//! The rings: the latest requests, attempts and marks, each with a bound. Pure: time is an argument.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use lambda_http::{Body, Request, RequestExt as _, Response};
use serde_json::{Value, json};

use super::{super::mask::Mask, Line, time};

/// So many requests are remembered.
const REQUESTS: usize = 1000;
/// And so many attempts.
const ATTEMPTS: usize = 5000;
/// And so many points of the picture.
const MARKS: usize = 50_000;
/// Of a body that is stored nowhere so much is kept, in characters.
const BODY: usize = 16 * 1024;
/// Of all headers of a request so much is kept, in bytes.
const HEADERS: usize = 16 * 1024;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Its number in this process, from 1.
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    pub(crate) source: String,
    pub(crate) status: u16,
    /// One line for each of its events.
    pub(crate) events: Vec<Line>,
    /// Why it was refused, in one word; `handshake` for one that is answered and is no event.
    pub(crate) reason: Option<String>,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    bytes: usize,
    body: Option<String>,
    likely: Option<String>,
    replayed: bool,
    milliseconds: i64,
}

impl Seen {
    /// A request before it is handled.
    pub(super) fn of(request: &Request, mask: &Mask, at: Timestamp) -> Self {
        let parameters = request.path_parameters();
        let source = parameters.first("source").unwrap_or_default();
        let mut room = HEADERS;
        let mut headers = Vec::new();
        for (name, value) in request.headers() {
            let value = String::from_utf8_lossy(value.as_bytes());
            let value = mask.header(source, name.as_str(), &value);
            let Some(left) = room.checked_sub(name.as_str().len() + value.len()) else {
                headers.push(("..".to_owned(), "more headers than are kept".to_owned()));
                break;
            };
            room = left;
            headers.push((name.as_str().to_owned(), value));
        }
        let query = request.uri().query().unwrap_or_default();
        let path = format!("/webhooks/{source}");
        let body: &[u8] = request.body().as_ref();
        // A secret must not be cut in two by the end of what is kept: then it would not be found.
        let kept = String::from_utf8_lossy(body.get(..2 * BODY).unwrap_or(body));
        let kept = mask.text(&kept).chars().take(BODY).collect();
        Self {
            number: 0,
            at,
            source: source.to_owned(),
            status: 0,
            events: Vec::new(),
            reason: None,
            method: request.method().to_string(),
            path: match query {
                "" => path,
                query => format!("{path}?{}", mask.query(query)),
            },
            headers,
            bytes: body.len(),
            body: Some(kept),
            likely: None,
            replayed: false,
            milliseconds: 0,
        }
    }

    /// What came of it.
    pub(super) fn ends(&mut self, response: &Response<Body>, lines: Vec<Line>, now: Timestamp) {
        self.status = response.status().as_u16();
        self.replayed = response.headers().contains_key(oncehook_ingest::REPLAYED);
        let took = now.duration_since(self.at);
        self.milliseconds = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        for line in lines {
            match &*line.message {
                "event" | "event not committed" => self.events.push(line),
                "handshake" | "subscription" => self.reason = Some("handshake".to_owned()),
                _ => {
                    if let Some(reason) = line.text("reason") {
                        self.reason = Some(reason.to_owned());
                    }
                    self.likely = line.text("likely").map(str::to_owned).or(self.likely.take());
                }
            }
        }
        if self.events.iter().any(is_stored) {
            // It is in the store.
            self.body = None;
        } else if self.reason.is_none() && !response.status().is_success() {
            self.reason = Some(
                match self.status {
                    404 => "no_such_source",
                    405 => "not_a_post",
                    _ => "not_committed",
                }
                .to_owned(),
            );
        }
    }

    /// Whether no event of it is stored: it stands in the list by itself.
    pub(crate) fn is_alone(&self) -> bool {
        !self.events.iter().any(is_stored)
    }

    /// What became of it, in one word.
    pub(crate) fn outcome(&self) -> &'static str {
        match (self.reason.as_deref(), self.status) {
            (Some("handshake"), _) => "handshake",
            (_, 200..300) => "nothing",
            (_, 500..) => "not committed",
            _ => "refused",
        }
    }

    /// All of it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "number": self.number,
            "at": time(self.at),
            "source": self.source,
            "method": self.method,
            "path": self.path,
            "headers": self.headers,
            "bytes": self.bytes,
            "body": self.body,
            "status": self.status,
            "replayed": self.replayed,
            "outcome": if self.is_alone() { Some(self.outcome()) } else { None },
            "reason": self.reason,
            "likely": self.likely,
            "milliseconds": self.milliseconds,
            "events": self.events.iter().map(|line| line.without(&["source"])).collect::<Vec<_>>(),
        })
    }

    fn mark(&self) -> Vec<Mark> {
        if self.is_alone() {
            return match self.outcome() {
                "refused" | "not committed" => vec![Mark::Refused],
                _ => Vec::new(),
            };
        }
        let mark = |line: &Line| match line.text("outcome") {
            _ if line.is("duplicate") => Mark::Duplicate,
            Some("failed" | "held") => Mark::Failed,
            Some(_) => Mark::New,
            None => Mark::Refused,
        };
        self.events.iter().map(mark).collect()
    }
}

fn is_stored(line: &Line) -> bool {
    line.message == "event"
}

/// A point of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Duplicate,
    Failed,
    Refused,
}

/// How many of each came within one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) new: u32,
    pub(crate) duplicates: u32,
    pub(crate) failed: u32,
    pub(crate) refused: u32,
}

/// The memory.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    /// Counts what changed: whoever has seen this number has seen all.
    pub(crate) version: u64,
    requests: VecDeque<Seen>,
    attempts: VecDeque<(Timestamp, Line)>,
    marks: VecDeque<(Timestamp, Mark)>,
    numbers: u64,
}

impl Rings {
    /// A request that was answered.
    pub(super) fn request(&mut self, mut seen: Seen) {
        self.version += 1;
        self.numbers += 1;
        seen.number = self.numbers;
        for mark in seen.mark() {
            push(&mut self.marks, (seen.at, mark), MARKS);
        }
        push(&mut self.requests, seen, REQUESTS);
    }

    /// An attempt that was settled.
    pub(super) fn attempt(&mut self, at: Timestamp, line: Line) {
        self.version += 1;
        push(&mut self.attempts, (at, line), ATTEMPTS);
    }

    /// Requests, newest first.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &Seen> {
        self.requests.iter().rev()
    }

    /// The attempts of an outbox item, oldest first.
    pub(crate) fn attempts(&self, item: &str) -> Vec<Value> {
        let of_item = self
            .attempts
            .iter()
            .filter(|(_, line)| line.text("item") == Some(item));
        of_item
            .map(|(at, line)| {
                let mut value = line.without(&["item", "source", "rule", "effect", "destination"]);
                value["at"] = time(*at);
                value
            })
            .collect()
    }

    /// The `count` spans of `step` that end with the one of `now`, oldest first. Spans begin at multiples of `step`.
    pub(crate) fn picture(&self, now: Timestamp, step: SignedDuration, count: usize) -> Vec<Bucket> {
        let span = |at: Timestamp| at.as_millisecond().div_euclid(millis(step));
        let mut buckets = vec![Bucket::default(); count];
        for (at, mark) in &self.marks {
            let ago = usize::try_from(span(now) - span(*at)).unwrap_or_default();
            let Some(bucket) = count
                .checked_sub(ago + 1)
                .and_then(|place| buckets.get_mut(place))
            else {
                continue;
            };
            match mark {
                Mark::New => bucket.new += 1,
                Mark::Duplicate => bucket.duplicates += 1,
                Mark::Failed => bucket.failed += 1,
                Mark::Refused => bucket.refused += 1,
            }
        }
        buckets
    }
}

fn millis(step: SignedDuration) -> i64 {
    i64::try_from(step.as_millis()).unwrap_or(i64::MAX).max(1)
}

fn push<T>(ring: &mut VecDeque<T>, one: T, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_counted_from_now_back_and_older_ones_left_out() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let mut rings = Rings::default();
        let marks = [
            (999, Mark::New),
            (1040, Mark::New),
            (1049, Mark::Duplicate),
            (1051, Mark::Failed),
            (1059, Mark::Refused),
        ];
        for (at, mark) in marks {
            push(&mut rings.marks, (second(at), mark), MARKS);
        }
        let bucket = |new, duplicates, failed, refused| Bucket {
            new,
            duplicates,
            failed,
            refused,
        };
        let picture = rings.picture(second(1055), SignedDuration::from_secs(10), 3);
        assert_eq!(
            picture,
            [bucket(0, 0, 0, 0), bucket(1, 1, 0, 0), bucket(0, 0, 1, 1)]
        );
    }

    #[test]
    fn rings_keep_the_latest_and_no_more() {
        let mut ring = VecDeque::new();
        for number in 0..10 {
            push(&mut ring, number, 3);
        }
        assert_eq!(ring, [7, 8, 9]);
    }
}
