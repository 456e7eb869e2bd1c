//! What the thread of one test logs.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::Once,
};

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

/// Starts logging; one subscriber serves all tests, each with lines of its own.
pub(crate) fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().json().with_writer(|| Lines).finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

/// Takes what this thread has logged.
pub(crate) fn take() -> String {
    String::from_utf8(LINES.take()).unwrap()
}
