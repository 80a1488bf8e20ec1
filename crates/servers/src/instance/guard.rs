//! Stops servers when this program can no longer do it.
//!
//! A destructor does not run in a program that is killed, nor for a static. The kernel offers `PR_SET_PDEATHSIG`, but
//! it is bound to the *thread* that started the server (a thread of a test or of a pool ends long before the program),
//! is cleared when the server changes its user, needs `unsafe`, and leaves the folder behind. Therefore a short shell
//! script waits for the end of a pipe whose other end only this program holds (Rust's pipes are closed in every other
//! child), stops the servers as this program would have done, and removes their folder.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::process::Process;

const SCRIPT: &str = include_str!("guard.sh");

/// A shell process that waits for the end of this program.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard for a folder, and for the folders whose names begin with `scratch`. It runs in its own process
    /// group, so that Ctrl-C does not reach it.
    pub fn begin(folder: &Path, scratch: Option<&Path>) -> std::io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "litelab-guard"])
            .arg(folder)
            .args(scratch)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// Adds a process, which the guard ends with this signal (`INT`, `TERM`).
    pub fn add(&mut self, process: &Process, signal: &str) -> std::io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        writeln!(pipe, "server {} {} {signal}", process.pid, process.start)
    }

    /// Reports that the servers are up: from now on the guard gives them more time to end.
    pub fn up(&mut self) -> std::io::Result<()> {
        self.pipe.as_mut().map_or(Ok(()), |pipe| writeln!(pipe, "up"))
    }

    /// Ends the guard without any action.
    pub fn release(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // The write fails if the guard has already ended.
            let _gone = writeln!(pipe, "release");
        }
        let _gone = self.shell.wait();
    }
}
