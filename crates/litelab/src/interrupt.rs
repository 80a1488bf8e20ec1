//! Ctrl-C, and the request to end: the first one asks everything to end well, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Set by the first of them.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Catches SIGINT and SIGTERM. Not SIGHUP, which `nohup` has told a long run to ignore.
pub fn install() {
    // Without a handler Ctrl-C still works, only less gently.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        }
    });
}
