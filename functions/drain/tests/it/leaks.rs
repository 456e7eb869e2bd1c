//! A destination that repeats its secret in every answer: it is in no stored item, no reason and no line of the log.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use oncehook_core::config::Auth;
use oncehook_local::lines;
use tracing::Level;

use crate::{
    drain::world_with,
    server::Script,
    world::{config, destination_with},
};

const SECRET: &str = "user:c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";

/// What went over the wire, and what can be read off it.
fn forms(auth: &Auth) -> Vec<String> {
    let password = SECRET.rsplit(':').next().unwrap_or_default();
    match auth {
        Auth::Basic(_) => vec![
            SECRET.to_owned(),
            password.to_owned(),
            BASE64_STANDARD.encode(SECRET),
        ],
        _ => vec![SECRET.to_owned()],
    }
}

#[tokio::test]
async fn a_secret_that_a_destination_repeats_is_kept_and_logged_nowhere() {
    lines::start(Level::TRACE);
    let auths = [
        Auth::Bearer,
        Auth::Basic(None),
        Auth::Header("X-Api-Key".to_owned()),
    ];
    let mut looked_at = 0;
    for auth in auths {
        let echo = forms(&auth).join(" ");
        let answers = ["200 OK", "302 Found", "400 Bad Request", "401 No", "403 No", "409 Conflict", "422 No", "429 Slow", "500 Broken", "503 Later"]
        .map(|status| {
            let length = echo.len();
            Script::Answer(format!(
                "HTTP/1.1 {status}\r\nlocation: /{SECRET}\r\nretry-after: 1\r\nx-echo: {echo}\r\ncontent-length: {length}\r\n\r\n{echo}"
            ))
        });
        // Cut off in the middle, no answer, and a head that is none.
        let broken = [
            Script::Answer(format!(
                "HTTP/1.1 500 Broken\r\ncontent-length: 900\r\n\r\n{echo}"
            )),
            Script::Answer(format!("{echo}\r\n\r\n")),
            Script::Drop,
        ];
        for script in answers.iter().chain(&broken) {
            let world = world_with(script.clone(), |url| {
                destination_with(config(url, auth.clone()), SECRET)
            })
            .await;
            world.wake().await;
            assert_eq!(world.server.requests().len(), 1);
            let stored = world.dump().await;
            assert!(stored.contains("idempotency_key"), "{stored}");
            for form in forms(&auth) {
                assert!(!stored.contains(&form), "{auth:?}: {form} is in {stored}");
            }
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 39);
    let log = lines::take();
    assert!(log.contains("\"attempt\""), "{log}");
    for form in forms(&Auth::Basic(None)) {
        let line = log.lines().find(|line| line.contains(&form));
        assert_eq!(line, None, "{form}");
    }
}
