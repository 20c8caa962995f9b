//! Ctrl-C: the first ends the work between two passes, the second ends the program.

use crate::exit::{Exit, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants an end.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> Result<Interrupt, Failure> {
        let came = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&came);
        ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(Exit::Interrupted as u8));
            }
        })
        .map_err(|error| Failure::new(Exit::Provider, format!("no handler for Ctrl-C: {error}")))?;
        Ok(Interrupt(came))
    }

    /// Whether it came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
