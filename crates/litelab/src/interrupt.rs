//! Ctrl-C, and other requests to end: the first one asks what runs to end well, the second one ends the program.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use litelab_engine::scratch;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// Set by the first request.
static STOP: AtomicBool = AtomicBool::new(false);
/// How the first request is met, one of the next three.
static MODE: AtomicU8 = AtomicU8::new(AT_ONCE);
/// Nothing looks at the flag: the program ends.
const AT_ONCE: u8 = 0;
/// The flag is looked at; what has not ended within [`GRACE`], such as a single statement of a schema, ends with the program.
const WITHIN_GRACE: u8 = 1;
/// The flag is looked at, and what there is to do may last.
#[cfg(feature = "servers")]
const WHEN_DONE: u8 = 2;

/// How long a run may take to end well.
const GRACE: Duration = Duration::from_secs(10);

/// A file that is being written, under a name of its own.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Catches SIGINT, SIGTERM and SIGHUP, the last unless it is ignored, as `nohup` has it. Has a write beyond the limit on the
/// size of files (`ulimit -f`) fail, where SIGXFSZ would end the program.
pub fn install() {
    let mut caught = vec![SIGINT, SIGTERM, SIGXFSZ];
    if !is_ignored(SIGHUP) {
        caught.push(SIGHUP);
    }
    let terminals = [std::io::stdout().is_terminal(), std::io::stderr().is_terminal()];
    // Without a handler Ctrl-C still works, only less gently.
    let Ok(mut signals) = Signals::new(caught) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGXFSZ => continue,
                // The terminal and the shell each send one.
                SIGHUP if is_asked() => continue,
                SIGHUP => leave(terminals),
                _ => {}
            }
            let mode = MODE.load(Ordering::Relaxed);
            if STOP.swap(true, Ordering::Relaxed) || mode == AT_ONCE {
                end();
            }
            if mode == WITHIN_GRACE {
                std::thread::spawn(|| {
                    std::thread::sleep(GRACE);
                    end();
                });
            }
        }
    });
}

/// The flag that the first request sets, for something that looks at it a few times a second.
pub fn stop() -> &'static AtomicBool {
    MODE.store(WITHIN_GRACE, Ordering::Relaxed);
    &STOP
}

/// As [`stop`], for something that may take its time to end: what it has started ends well first.
#[cfg(feature = "servers")]
pub fn stop_when_done() -> &'static AtomicBool {
    MODE.store(WHEN_DONE, Ordering::Relaxed);
    &STOP
}

/// What looked at the flag is over.
pub fn over() {
    MODE.store(AT_ONCE, Ordering::Relaxed);
}

/// Whether there was a request.
pub fn is_asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Names a file that is to be removed should the program end at once, or none any more.
pub fn unfinished(file: Option<&Path>) {
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = file.map(Path::to_path_buf);
}

/// Ends the program. Its servers are stopped by their guards, and its runners end with their input.
fn end() -> ! {
    scratch::remove_own();
    if let Some(file) = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _left = std::fs::remove_file(file);
    }
    std::process::exit(130)
}

/// Writes to a terminal that is gone would fail, and what ends well has lines to write.
fn leave([stdout, stderr]: [bool; 2]) {
    let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") else { return };
    if stdout {
        let _failing = rustix::stdio::dup2_stdout(&nowhere);
    }
    if stderr {
        let _failing = rustix::stdio::dup2_stderr(&nowhere);
    }
}

/// Whether this process was started with a signal ignored; where that is not known, it counts as ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}
