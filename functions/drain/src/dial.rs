//! How a connection to a destination is opened: over TCP, or over what a test gives instead. Speaks no HTTP.

use std::{
    error::Error,
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection, HttpConnector},
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tower_service::Service;

const CONNECT: Duration = Duration::from_secs(5);

/// Bytes both ways.
pub trait Line: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Line for T {}

type Given = Arc<dyn Fn(Uri) -> BoxFuture<'static, io::Result<Box<dyn Line>>> + Send + Sync>;

/// Opens connections.
#[derive(Clone)]
pub enum Dial {
    /// Over TCP.
    Tcp(HttpConnector),
    /// As this function does: for tests without a network.
    Given(Given),
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp(_) => "Dial::Tcp",
            Self::Given(_) => "Dial::Given",
        })
    }
}

impl Dial {
    /// Over TCP, with a bound on the time that it takes.
    #[must_use]
    pub fn tcp() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT));
        http.set_nodelay(true);
        Self::Tcp(http)
    }
}

impl Service<Uri> for Dial {
    type Response = Wire;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Wire, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Tcp(http) => http.poll_ready(context).map_err(Into::into),
            Self::Given(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match self {
            Self::Tcp(http) => {
                let opening = http.call(uri);
                Box::pin(async { Ok(Wire::Tcp(opening.await?)) })
            }
            Self::Given(open) => {
                let opening = open(uri);
                Box::pin(async { Ok(Wire::Given(opening.await?)) })
            }
        }
    }
}

/// An open connection.
pub enum Wire {
    /// Over TCP.
    Tcp(TokioIo<TcpStream>),
    /// Over what a test gave.
    Given(Box<dyn Line>),
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

impl Wire {
    fn write(self: Pin<&mut Self>) -> Pin<&mut (dyn Write + Unpin)> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream),
            Self::Given(line) => Pin::new(line),
        }
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        match self {
            Self::Tcp(stream) => stream.connected(),
            Self::Given(_) => Connected::new(),
        }
    }
}

impl Read for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Given(line) => Pin::new(line).poll_read(context, buffer),
        }
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Given(line) => line.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write().poll_write_vectored(context, slices)
    }
}
