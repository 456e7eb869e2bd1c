//! What the logs show: what happened and why, never a body, an answer or a secret.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
};

use oncehook_local::behaviour::Behaviour;
use oncehook_tests::{World, invoice};

/// What one thread logs; the subscriber is the whole process's, and other tests run beside this one.
#[derive(Clone)]
struct Lines(ThreadId, Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if thread::current().id() == self.0 {
            self.1.lock().expect("no writer panics").extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_tells_what_happened_and_shows_no_body_answer_or_secret() {
    let lines = Lines(thread::current().id(), Arc::default());
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let world = World::new().await;
    for (id, behaviour) in [
        ("evt_l1", Behaviour::Normal),
        ("evt_l2", Behaviour::Status(422, None)),
    ] {
        world.mail.next(behaviour);
        assert_eq!(
            world
                .post(&world.signed(&invoice(id, "cus_private", 987_654)))
                .await
                .status,
            200
        );
        world.drain_due().await;
    }
    let mut forged = world.signed(&invoice("evt_l3", "cus_private", 987_654));
    forged.body = b"{\"forged\":\"cus_private\"}".as_slice().into();
    assert_eq!(world.post(&forged).await.status, 401);
    let log = String::from_utf8(lines.1.lock().unwrap().clone()).unwrap();
    for shown in [
        "evt_l1",
        "evt_l2",
        "\"applied\"",
        "\"delivered\"",
        "\"refused\"",
        "signature_mismatch",
    ] {
        assert!(log.contains(shown), "{shown} is not in the log:\n{log}");
    }
    // The body, the rendered mail, the destination's answer, both secrets.
    for secret in [
        "cus_private",
        "987654",
        "as told by the test",
        "whsec_for_tests",
        "re_for_tests",
    ] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}
