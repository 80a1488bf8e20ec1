//! Starts handwritten.c, which Cargo can only link into a Rust program.

use libsqlite3_sys as _;

use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    fn handwritten_main(argc: c_int, argv: *const *const c_char) -> c_int;
}

fn main() {
    // No argument has a NUL inside.
    let arguments: Vec<CString> = std::env::args().flat_map(CString::new).collect();
    let argv: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
    // SAFETY: as many C strings as said, all of which outlive the call.
    std::process::exit(unsafe { handwritten_main(arguments.len() as c_int, argv.as_ptr()) })
}
