//! The honest runners, which do the work for the faults.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use litelab_protocol::{Inspect, Inspection, Trial};

/// The line that starts the work.
pub const GO: &[u8] = b"{\"type\":\"go\"}\n";

fn spawn(target: &Path, verb: &str) -> Result<Child, String> {
    let started = Command::new(target).arg(verb).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    started.map_err(|e| format!("{}: {e}; build the honest runner first", target.display()))
}

/// Starts the honest runner and sends it the trial. Its death is detected when it sends nothing.
pub fn start(target: &Path, trial: &Trial) -> Result<(Child, ChildStdin, BufReader<ChildStdout>), String> {
    let mut child = spawn(target, "run")?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the honest runner has no pipes".into());
    };
    let text = serde_json::to_string(trial).map_err(|e| e.to_string())?;
    let _sent = writeln!(to, "{text}");
    Ok((child, to, BufReader::new(from)))
}

/// Asks the honest runner to inspect. Its standard error is that of this process.
pub fn inspect(target: &Path, request: &Inspect) -> Result<Inspection, String> {
    let mut child = spawn(target, "inspect")?;
    if let Some(mut to) = child.stdin.take() {
        let _sent = serde_json::to_writer(&mut to, request);
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|e| format!("the honest runner, {}: {e}", output.status))
}

/// Path of the honest runner: the program of the runner `rusqlite` in the same folder.
pub fn target() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("litelab-runner-rusqlite")
}

/// Path of the honest runner of servers: the program of the runner `go` in its own folder.
pub fn server_target() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    // target/release/litelab-runner-mock
    own.ancestors().nth(3).unwrap_or(&own).join("runners").join("go").join("litelab-runner-go")
}
