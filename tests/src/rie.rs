//! A function's own binary under AWS's runtime interface emulator, which stands in for Lambda.
//!
//! `make test` names the emulator in `ONCEHOOK_TEST_RIE`. It runs one invocation at a time and knows no roles.

use std::{
    fs::File,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use oncehook_edge::Environment;
use serde_json::Value;

use crate::ministack::free_port;

/// The longest that the emulator may take to listen, and a function to answer.
const LIMIT: Duration = Duration::from_secs(60);

/// The emulator's path, if it is there to test with.
#[must_use]
pub fn emulator() -> Option<String> {
    Environment::process().get("ONCEHOOK_TEST_RIE")
}

/// A function under the emulator; both end with this.
#[derive(Debug)]
pub struct Function {
    emulator: Child,
    url: String,
    log: PathBuf,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Drop for Function {
    fn drop(&mut self) {
        // The binary ends when the emulator's runtime API is gone.
        let _ended = self.emulator.kill().and_then(|()| self.emulator.wait());
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            crate::say(&format!("== {}\n{log}", self.log.display()));
        }
    }
}

impl Function {
    /// Starts a binary with these variables and no others. `folder` keeps what it logs.
    ///
    /// # Panics
    /// When the emulator does not run.
    pub async fn start(emulator: &str, binary: &Path, variables: &[(&str, String)], folder: &Path) -> Self {
        let name = binary.file_name().and_then(|name| name.to_str()).unwrap();
        let log = folder.join(format!("{name}.log"));
        let out = File::create(&log).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let process = Command::new(emulator)
            .args(["--runtime-interface-emulator-address", &address])
            .args(["--runtime-api-address", &format!("127.0.0.1:{}", free_port())])
            .arg(binary)
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_TIMEOUT", "30")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .expect("ONCEHOOK_TEST_RIE names the emulator, executable on this machine");
        let url = format!("http://{address}/2015-03-31/functions/function/invocations");
        let client = Client::builder(TokioExecutor::new()).build_http();
        let function = Self {
            emulator: process,
            url,
            log,
            client,
        };
        for _ in 0..LIMIT.as_millis() / 50 {
            if TcpStream::connect(&address).is_ok() {
                return function;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the emulator does not listen at {address}");
    }

    /// Invokes the function with these bytes and returns its answer, which is JSON also for an error.
    ///
    /// # Panics
    /// When nothing comes back in time.
    pub async fn invoke(&self, event: impl Into<Bytes>) -> Value {
        let request = Request::post(&self.url).body(Full::new(event.into())).unwrap();
        let answer = async {
            let answer = self.client.request(request).await.unwrap();
            answer.into_body().collect().await.unwrap().to_bytes()
        };
        let bytes = tokio::time::timeout(LIMIT, answer).await;
        let bytes = bytes.expect("an answer of the function in time");
        serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()))
    }
}
