//! A test that looks at the lines of its own thread: metrics, spans. Nothing of this is used in a function.

use std::{cell::RefCell, fmt, thread::LocalKey};

/// Who is handed the lines of a thread, if anybody is.
pub(crate) type Watcher = RefCell<Option<Box<dyn Fn(&str)>>>;

/// Ends the watching when it goes.
pub struct Watching(&'static LocalKey<Watcher>);

impl Watching {
    pub(crate) fn begin(watcher: &'static LocalKey<Watcher>, look: impl Fn(&str) + 'static) -> Self {
        watcher.set(Some(Box::new(look)));
        Self(watcher)
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watching")
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
