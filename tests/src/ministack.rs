//! SQS as ministack speaks it, in a process of its own.
//!
//! `make test` installs ministack and names it in `ONCEHOOK_TEST_MINISTACK`; without it there is no SQS to test with.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use oncehook_edge::{Environment, local_sqs};

/// A running ministack; it ends with this.
#[derive(Debug)]
pub struct Ministack {
    process: Child,
    /// `http://127.0.0.1:port`
    pub endpoint: String,
}

impl Drop for Ministack {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// A port of this machine that nobody uses.
///
/// # Panics
/// When there is none.
#[must_use]
pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.expect("a free port").port()
}

impl Ministack {
    /// Starts the program named in the environment, if one is.
    ///
    /// # Panics
    /// When it does not run or does not answer.
    pub async fn start() -> Option<Self> {
        let program = Environment::process().get("ONCEHOOK_TEST_MINISTACK")?;
        let port = free_port();
        let endpoint = format!("http://127.0.0.1:{port}");
        let process = Command::new(program)
            .env("BIND_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", port.to_string())
            .env("AWS_ENDPOINT_URL", &endpoint)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("ONCEHOOK_TEST_MINISTACK names a program that runs");
        let ministack = Self { process, endpoint };
        for _ in 0..300 {
            if ministack.sqs().list_queues().send().await.is_ok() {
                return Some(ministack);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("ministack did not answer within 30 seconds");
    }

    /// A client of its SQS.
    #[must_use]
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        local_sqs(&self.endpoint)
    }

    /// Makes a queue; returns its URL.
    ///
    /// # Panics
    /// When it cannot.
    pub async fn queue(&self, name: &str) -> String {
        let made = self.sqs().create_queue().queue_name(name).send().await;
        made.unwrap().queue_url.unwrap()
    }
}
