//! SQS, Lambda, EventBridge and S3 as ministack speaks them, in a process of its own.
//!
//! `make test` installs ministack and names it in `ONCEHOOK_TEST_MINISTACK`; without it there is no SQS to test with.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use aws_sdk_sqs::types::{Message, QueueAttributeName};
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use oncehook_core::clock::Clock as _;
use oncehook_edge::{Environment, Signer, SystemClock, Unsigned, local_sqs};
use serde_json::{Value, json};

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

    /// Makes a queue, a FIFO queue if its name ends so; returns its URL.
    ///
    /// # Panics
    /// When it cannot.
    pub async fn queue(&self, name: &str) -> String {
        let fifo = name.ends_with(".fifo").then(|| "true".to_owned());
        let attributes = fifo.map(|value| [(QueueAttributeName::FifoQueue, value)].into());
        let made = self
            .sqs()
            .create_queue()
            .queue_name(name)
            .set_attributes(attributes)
            .send()
            .await;
        made.unwrap().queue_url.unwrap()
    }

    /// The messages that wait in a queue, with all that was said about them.
    ///
    /// # Panics
    /// When it does not answer.
    pub async fn messages(&self, url: &str) -> Vec<Message> {
        let received = self
            .sqs()
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(10)
            .message_attribute_names("All")
            .send()
            .await;
        received.unwrap().messages.unwrap_or_default()
    }

    /// Makes a function in Python of this text, which has a `handler`.
    ///
    /// # Panics
    /// When it cannot.
    pub async fn function(&self, name: &str, text: &str) {
        let zip = "import base64,io,sys,zipfile;b=io.BytesIO();z=zipfile.ZipFile(b,'w');z.writestr('index.py',sys.argv[1]);\
                   z.close();print(base64.b64encode(b.getvalue()).decode())";
        let program = Environment::process()
            .get("ONCEHOOK_TEST_MINISTACK")
            .unwrap_or_default();
        let python = Path::new(&program).with_file_name("python");
        let made = Command::new(python).args(["-c", zip, text]).output().unwrap();
        let zip = String::from_utf8(made.stdout).unwrap();
        let function = json!({
            "FunctionName": name, "Runtime": "python3.12", "Handler": "index.handler", "Timeout": 10,
            "Role": "arn:aws:iam::000000000000:role/none", "Code": { "ZipFile": zip.trim() },
        });
        let body = Bytes::from(function.to_string());
        self.call("lambda", Method::POST, "/2015-03-31/functions", &[], body)
            .await;
    }

    /// Calls EventBridge.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn events(&self, operation: &str, body: &Value) {
        let headers = [
            ("content-type", "application/x-amz-json-1.1".to_owned()),
            ("x-amz-target", format!("AWSEvents.{operation}")),
        ];
        let body = Bytes::from(body.to_string());
        self.call("events", Method::POST, "/", &headers, body).await;
    }

    /// Calls S3, without a body; returns what it says.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn s3(&self, method: Method, path: &str) -> String {
        self.call("s3", method, path, &[], Bytes::new()).await
    }

    async fn call(
        &self,
        service: &str,
        method: Method,
        path: &str,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> String {
        let call = Unsigned {
            service,
            method,
            region: None,
            origin: None,
            path,
            headers,
            body,
        };
        let signer = Signer::local(&self.endpoint);
        let request = signer.sign(&call, SystemClock.now()).await.unwrap();
        let answer = oncehook_drain::client().unwrap().request(request).await.unwrap();
        let status = answer.status();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(status.is_success(), "{path}: {status} {text}");
        text
    }
}
