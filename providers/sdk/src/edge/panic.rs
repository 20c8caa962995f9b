//! Catches panics and keeps their words, without the standard hook, which prints to stderr and reads `RUST_BACKTRACE`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WORDS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs the hook. In a cdylib the hook is the library's own, since its standard library is; where the SDK is linked into a
/// program, panics outside the edge go to the hook that was there.
pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
                before(info);
                return;
            }
            let words = match info.location() {
                Some(at) => format!("{} ({}:{})", payload(info.payload()), at.file(), at.line()),
                None => payload(info.payload()),
            };
            let _ = WORDS.try_with(|w| w.replace(Some(words)));
        }));
    });
}

/// Marks a thread that a provider started and on which code runs outside the edge (a pool's worker), so that a panic there is
/// as quiet as one at the edge. Call it once at the thread's start.
pub fn adopt_thread() {
    install_hook();
    DEPTH.with(|d| d.set(d.get() + 1));
}

/// Runs `f`; a panic becomes its words, with file and line.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    DEPTH.with(|d| d.set(d.get() + 1));
    let result = catch_unwind(AssertUnwindSafe(f));
    DEPTH.with(|d| d.set(d.get() - 1));
    result.map_err(|thrown| {
        let words = WORDS
            .with(RefCell::take)
            .unwrap_or_else(|| payload(&*thrown));
        // What was thrown may panic again when dropped; a leak is the lesser harm.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(thrown))).map_err(std::mem::forget);
        words
    })
}

fn payload(thrown: &dyn Any) -> String {
    thrown
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| thrown.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".into())
}
