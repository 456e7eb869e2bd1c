//! One HTTP/1.1 request over a bare socket, written byte by byte.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What came back: nothing at all if the connection was dropped.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends `head` (request line and headers, one a line) and `body`, and reads to the end.
pub(crate) async fn send(endpoint: &str, head: &str, body: &[u8]) -> Option<Reply> {
    let length = format!("{head}\ncontent-length: {}", body.len());
    raw(endpoint, &length, body).await
}

/// The same, with the caller's own idea of the length.
pub(crate) async fn raw(endpoint: &str, head: &str, body: &[u8]) -> Option<Reply> {
    let address = endpoint.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{head}\nhost: {address}\nconnection: close\n\n").replace('\n', "\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.ok()?;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec())
        .unwrap()
        .to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply {
        status,
        head,
        body: bytes[end + 4..].to_vec(),
    })
}
