//! Ctrl-C: the first one asks everything to end well, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first Ctrl-C.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Catches SIGINT and SIGTERM.
pub fn install() {
    // Without a handler Ctrl-C still works, only less gently.
    let _installed = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}
