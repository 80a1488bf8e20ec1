//! What ends servers when this program cannot.
//!
//! A destructor does not run in a program that is killed, nor for a static. The kernel offers `PR_SET_PDEATHSIG`, but it
//! is bound to the *thread* that started the server (a test's, or one of a pool, ends long before the program), is
//! cleared when the server takes on another user, needs `unsafe`, and leaves the folder behind. So a shell of a few lines
//! waits for the end of a pipe that only this program holds (Rust's pipes are closed in every other child), stops the
//! servers as this program would have, and removes their folder.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::process::Process;

const SCRIPT: &str = include_str!("guard.sh");

/// Waits for this program's end.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Begins to watch over a folder, and over those whose names begin with `scratch`. In a process group of its own: Ctrl-C
    /// is not for it.
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

    /// Watches over one more process, to be ended by a signal (`INT`, `TERM`).
    pub fn add(&mut self, process: &Process, signal: &str) -> std::io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        writeln!(pipe, "server {} {} {signal}", process.pid, process.start)
    }

    /// The servers are up: from now on they may take their time to end.
    pub fn up(&mut self) -> std::io::Result<()> {
        self.pipe.as_mut().map_or(Ok(()), |pipe| writeln!(pipe, "up"))
    }

    /// Nothing is to be watched any more.
    pub fn release(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // A guard that is gone has nothing left to forget.
            let _gone = writeln!(pipe, "release");
        }
        let _gone = self.shell.wait();
    }
}
