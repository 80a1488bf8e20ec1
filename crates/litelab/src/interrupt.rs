//! Signal handling: the first SIGINT, SIGTERM or SIGHUP asks running work to stop, the second one ends the program.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use litelab_observe::temporary;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// Stop flag, set by the first signal.
static STOP: AtomicBool = AtomicBool::new(false);
/// Whether the first signal was SIGTERM, which a terminal does not send.
#[cfg(feature = "servers")]
static TERMINATED: AtomicBool = AtomicBool::new(false);
/// Response to the first signal: one of the next three constants.
static MODE: AtomicU8 = AtomicU8::new(AT_ONCE);
/// No code polls the flag: the program ends at once.
const AT_ONCE: u8 = 0;
/// The flag is polled; the program ends after [`GRACE`] whatever still runs, such as one long statement of a schema.
const WITHIN_GRACE: u8 = 1;
/// The flag is polled, and the remaining work has no time limit.
#[cfg(feature = "servers")]
const WHEN_DONE: u8 = 2;

/// Time that a run has to stop in an orderly way.
const GRACE: Duration = Duration::from_secs(10);

/// Installs handlers for SIGINT, SIGTERM and SIGHUP (SIGHUP only if it is not ignored, as under `nohup`). Also handles
/// SIGXFSZ, so that a write beyond the file-size limit (`ulimit -f`) fails instead of ending the program.
pub fn install() {
    let mut caught = vec![SIGINT, SIGTERM, SIGXFSZ];
    if !is_ignored(SIGHUP) {
        caught.push(SIGHUP);
    }
    let terminals = [std::io::stdout().is_terminal(), std::io::stderr().is_terminal()];
    // Without a handler Ctrl-C still ends the program, but without cleanup.
    let Ok(mut signals) = Signals::new(caught) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGXFSZ => continue,
                // The terminal and the shell each send a SIGHUP.
                SIGHUP if is_asked() => continue,
                SIGHUP => leave(terminals),
                #[cfg(feature = "servers")]
                SIGTERM if !is_asked() => TERMINATED.store(true, Ordering::Relaxed),
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

/// The stop flag for work that polls it several times a second; sets [`WITHIN_GRACE`].
pub fn stop() -> &'static AtomicBool {
    MODE.store(WITHIN_GRACE, Ordering::Relaxed);
    &STOP
}

/// The stop flag for work that first shuts down what it has started; sets [`WHEN_DONE`].
#[cfg(feature = "servers")]
pub fn stop_when_done() -> &'static AtomicBool {
    MODE.store(WHEN_DONE, Ordering::Relaxed);
    &STOP
}

/// Restores [`AT_ONCE`] after work that polls the flag.
pub fn over() {
    MODE.store(AT_ONCE, Ordering::Relaxed);
}

/// Whether a signal has arrived.
pub fn is_asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Whether the first signal was SIGTERM, which reaches only the process that it is sent to.
#[cfg(feature = "servers")]
pub fn is_terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
}

/// Ends the program. Guard processes stop its servers, and runners end when their standard input closes.
fn end() -> ! {
    temporary::remove_all();
    std::process::exit(130)
}

/// Redirects output from a closed terminal to /dev/null: orderly shutdown still prints, and those writes would fail.
fn leave([stdout, stderr]: [bool; 2]) {
    let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") else { return };
    if stdout {
        let _failing = rustix::stdio::dup2_stdout(&nowhere);
    }
    if stderr {
        let _failing = rustix::stdio::dup2_stderr(&nowhere);
    }
}

/// Whether this process was started with the signal ignored; `true` if the state is unknown.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}
