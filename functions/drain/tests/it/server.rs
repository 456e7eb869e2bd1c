//! A destination that answers each connection as scripted, byte by byte, and keeps what it was sent.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

#[derive(Clone)]
pub(crate) enum Script {
    /// These bytes, then the connection closes.
    Answer(String),
    /// The connection closes without an answer.
    Drop,
    /// Nothing, for ever.
    Hang,
}

pub(crate) fn status(line: &str) -> Script {
    Script::Answer(format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n\r\n"))
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let requests = Arc::default();
        let server = Self { url, requests };
        let kept = server.requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, script.clone(), kept.clone()));
            }
        });
        server
    }

    /// What came, heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, script: Script, kept: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !complete(&bytes) {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    kept.lock()
        .unwrap()
        .push(String::from_utf8_lossy(&bytes).into_owned());
    match script {
        Script::Answer(text) => stream.write_all(text.as_bytes()).await.unwrap(),
        Script::Drop => {}
        Script::Hang => std::future::pending().await,
    }
}

fn complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}
