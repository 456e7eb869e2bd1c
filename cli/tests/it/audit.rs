//! `oncehook audit`, against Oncehook itself and against an endpoint that believes everything.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{command, err, out};

/// Accepts every POST and counts it; a GET shows the count.
fn credulous() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || serve(&stream, &count));
        }
    });
    url
}

fn serve(stream: &TcpStream, count: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0_u64);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).unwrap();
    let body = if head.starts_with("GET") {
        count.load(Ordering::SeqCst).to_string()
    } else {
        count.fetch_add(1, Ordering::SeqCst);
        "{}".to_owned()
    };
    let mut stream = stream;
    let _gone = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
}

fn audit(url: &str, more: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        &["audit", url, "stripe", "invoice.payment_succeeded", "--json"],
        more,
    ]
    .concat();
    let output = command(folder.path(), &arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let value = serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{}", err(&output)));
    (output.status.code(), value)
}

fn verdict(found: &Value, name: &str) -> String {
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == name);
    check.unwrap_or_else(|| panic!("{name}: {found:#}"))["verdict"]
        .as_str()
        .unwrap()
        .to_owned()
}

const FORGERIES: [&str; 4] = [
    "tampered body",
    "wrong secret",
    "no signature",
    "signed a day ago",
];

#[test]
fn an_endpoint_that_believes_everything_is_found_out() {
    let url = credulous();
    let (code, found) = audit(&url, &["--probe-url", &url, "--settle", "50"]);
    assert_eq!(code, Some(1));
    assert_eq!(verdict(&found, "genuine"), "ok");
    for name in [&["the same again", "at the same moment"][..], &FORGERIES].concat() {
        assert_eq!(verdict(&found, name), "failed", "{name}: {found:#}");
    }
    let race = &found["checks"][2];
    assert_eq!(
        (race["answers"].as_str(), race["effects"].as_str()),
        (Some("8 x 200"), Some("+8"))
    );
    assert!(
        race["means"].as_str().unwrap().contains("acted 8 times"),
        "{race}"
    );

    // Without a probe nothing is claimed about effects.
    let (code, found) = audit(&url, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(verdict(&found, "at the same moment"), "unknown");
    assert!(FORGERIES.iter().all(|name| verdict(&found, name) == "failed"));
}

#[test]
fn oncehook_itself_passes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("oncehook.toml"),
        include_str!("../../src/demo/oncehook.toml"),
    )
    .unwrap();
    let mut dev = command(folder.path(), &["dev", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (start, file) = (Instant::now(), folder.path().join(".oncehook/dev.json"));
    while !file.exists() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let running: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let url = format!("{}/webhooks/stripe", running["url"].as_str().unwrap());
    // Four racers: a busy machine may answer more of them with 503, which is honest, but no verdict.
    let (code, found) = audit(&url, &["--racers", "4"]);
    dev.kill().unwrap();
    dev.wait().unwrap();
    assert_eq!(code, Some(0), "{found:#}");
    for name in [&["genuine", "the same again"][..], &FORGERIES].concat() {
        assert_eq!(verdict(&found, name), "ok", "{name}: {found:#}");
    }
    assert_ne!(verdict(&found, "at the same moment"), "failed", "{found:#}");
}

#[test]
fn other_peoples_endpoints_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["audit", "https://hooks.example.com/x", "stripe", "invoice.paid"];
    let refused = command(folder.path(), &arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("--i-own-this"), "{}", err(&refused));
}
