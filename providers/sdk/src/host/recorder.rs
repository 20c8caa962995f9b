//! The observer of executed commands, independent of receipts.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
struct Inner {
    active: AtomicBool,
    symbols: Mutex<Vec<&'static str>>,
}

/// Records the symbol of each body at the moment a worker executes it. Clones share one record; an instance gives one to all
/// its devices.
#[derive(Clone, Default)]
pub struct Recorder {
    inner: Arc<Inner>,
}

impl Recorder {
    /// Forgets what was recorded and records from here on.
    pub fn start(&self) {
        let mut symbols = self.inner.symbols.lock();
        symbols.clear();
        self.inner.active.store(true, Ordering::SeqCst);
    }

    /// Stops and hands over the symbols in order of execution.
    pub fn stop(&self) -> Vec<&'static str> {
        let mut symbols = self.inner.symbols.lock();
        self.inner.active.store(false, Ordering::SeqCst);
        std::mem::take(&mut symbols)
    }

    /// Notes that the device has executed a launch of this symbol. A backend of its own calls it when it knows that.
    pub fn executed(&self, symbol: &'static str) {
        if self.inner.active.load(Ordering::SeqCst) {
            let mut symbols = self.inner.symbols.lock();
            if self.inner.active.load(Ordering::SeqCst) {
                symbols.push(symbol);
            }
        }
    }
}
