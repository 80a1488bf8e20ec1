//! Runs the command in a given folder, with the runners of this checkout.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

#[cfg(feature = "servers")]
pub mod servers;

use std::path::Path;
use std::process::{Command, Output, Stdio};

pub fn litelab(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_litelab"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    litelab(folder, arguments).output().unwrap()
}

/// Standard output of a command that must end with `code`.
pub fn ends(output: &Output, code: i32) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{err}\n{out}");
    out.into_owned()
}
