//! What a test logs: one subscriber for the whole process, the lines of each thread kept apart.
//!
//! A subscriber of one's own for each test would not do: whether a line is wanted is remembered for the whole process.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::Once,
};

use tracing::Level;

thread_local! {
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.extend(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts keeping what is logged, as JSON; the level of the first call in a process holds.
pub fn start(level: Level) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(level)
            .with_writer(|| Lines)
            .finish();
        let _other_subscriber = tracing::subscriber::set_global_default(subscriber);
    });
}

/// Takes what this thread has logged.
#[must_use]
pub fn take() -> String {
    String::from_utf8_lossy(&LINES.take()).into_owned()
}
