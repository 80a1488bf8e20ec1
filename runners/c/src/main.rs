//! The yardstick: a runner on SQLite's C API, in C. `docs/PROTOCOL.md` is its contract.
//!
//! There is next to nothing here; read `border.h` for what is Rust and why, then the C in this order: `main.c`,
//! `trial.c` (opens, starts, reports), `worker.c` (the loop), `transaction.c` (one execution), `statement.c` (the
//! driver under measurement) and `noop.c` (the same without a database).

mod border;

// Referred to by name so that its SQLite is linked, although only C calls it.
use libsqlite3_sys as _;

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::process::exit;

unsafe extern "C" {
    /// `main` of the C program.
    fn litelab_c_main(argc: c_int, argv: *const *const c_char) -> c_int;
}

fn main() {
    // The system passes no argument with a NUL inside.
    let arguments: Vec<CString> = std::env::args_os().flat_map(|a| CString::new(a.as_bytes())).collect();
    let mut argv: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
    argv.push(std::ptr::null());
    // SAFETY: as many C strings as said and a null, all of which outlive the call.
    exit(unsafe { litelab_c_main(arguments.len() as c_int, argv.as_ptr()) })
}
