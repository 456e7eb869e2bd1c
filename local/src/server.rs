//! HTTP/1.1 on the loopback interface: accepting, dropping connections on purpose, stopping.
//!
//! It knows no protocol above HTTP and writes no log.

use std::{
    error::Error,
    fmt,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::sleep};

/// A whole answer.
pub(crate) type Answer = Response<Full<Bytes>>;

/// No answer: the connection is closed instead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropped;

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is dropped on purpose")
    }
}

impl Error for Dropped {}

/// An answer of JSON.
pub(crate) fn json(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body.to_string())));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

pub(crate) fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text.to_owned())));
    *answer.status_mut() = status;
    answer
}

/// The whole request, or [`Dropped`] when the client went away before its end.
pub(crate) async fn whole(request: Request<Incoming>) -> Result<Request<Bytes>, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    Ok(Request::from_parts(head, body))
}

/// Serves until `shutdown`, then lets the requests under way finish.
pub(crate) async fn serve<H, F>(listener: TcpListener, handler: H, shutdown: impl Future<Output = ()>)
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Answer, Dropped>> + Send + 'static,
{
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => {
                let Ok((stream, peer)) = accepted else {
                    // Out of file descriptors, or the client is gone already.
                    sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let handler = handler.clone();
                let service = service_fn(move |request| handler(request, peer));
                let stopped = stopped.clone();
                connections.spawn(async move {
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    let mut connection = std::pin::pin!(connection);
                    tokio::select! {
                        _ = &mut connection => {}
                        () = closed(stopped) => {
                            connection.as_mut().graceful_shutdown();
                            // An error here is the client's leaving, or a connection dropped on purpose.
                            let _ = connection.await;
                        }
                    }
                });
            }
        }
    }
    drop(listener);
    drop(stop);
    while connections.join_next().await.is_some() {}
}

/// Resolves once the sender is gone.
async fn closed(mut signal: watch::Receiver<()>) {
    while signal.changed().await.is_ok() {}
}

/// A server on a thread and a runtime of its own, so that it also serves a test whose only thread is busy.
#[derive(Debug)]
pub(crate) struct Background {
    address: SocketAddr,
    stop: Option<watch::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    /// Listens on `port` (any free one if absent) and runs `run` with the listener and the signal to stop.
    /// `run` may take `grace` after the signal; whatever is left then is cut off.
    pub(crate) fn start<R, F>(name: &str, port: Option<u16>, grace: Duration, run: R) -> Result<Self>
    where
        R: FnOnce(TcpListener, Stopped) -> F + Send + 'static,
        F: Future<Output = ()>,
    {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let listener =
            StdListener::bind(wanted).with_context(|| format!("{name}: cannot listen on {wanted}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(name)
            .enable_all()
            .build()?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = watch::channel(());
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(async {
                let cut_off = async {
                    closed(stopped.clone()).await;
                    sleep(grace).await;
                };
                tokio::select! {
                    () = run(listener, Stopped(stopped.clone())) => {}
                    () = cut_off => {}
                }
            });
            runtime.shutdown_timeout(Duration::from_secs(1));
        })?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Serves `handler` in the background; nothing is waited for when it stops.
    pub(crate) fn serve<H, F>(name: &str, port: Option<u16>, handler: H) -> Result<Self>
    where
        H: Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Answer, Dropped>> + Send + 'static,
    {
        Self::start(name, port, Duration::ZERO, move |listener, stopped| {
            let handler = move |request, _| {
                let handler = handler.clone();
                async move { handler(whole(request).await?).await }
            };
            serve(listener, handler, stopped.wait())
        })
    }

    /// `http://127.0.0.1:port`
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported by its thread.
            let _ = thread.join();
        }
    }
}

/// The signal to stop, as a background server sees it.
#[derive(Debug)]
pub(crate) struct Stopped(watch::Receiver<()>);

impl Stopped {
    /// Resolves when the handle is dropped.
    pub(crate) async fn wait(self) {
        closed(self.0).await;
    }
}
