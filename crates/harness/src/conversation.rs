//! Messages between the core and this process: lines of JSON.

use std::io::{BufRead, Write};

use litelab_protocol::{ConnectionSettings, Message, Ready, TrialResult};
use serde::Serialize;

use crate::fault::Fault;

/// Writes one line of JSON and flushes it: the core reads while the trial runs.
pub fn send<T: Serialize>(message: &T) -> Result<(), Fault> {
    let mut line = serde_json::to_vec(message).map_err(Fault::other)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(Fault::other)
}

/// The next line of the input; `None` at its end.
pub fn next_line(input: &mut dyn BufRead) -> Result<Option<String>, Fault> {
    let mut line = String::new();
    let read = input.read_line(&mut line).map_err(Fault::other)?;
    Ok((read > 0).then_some(line))
}

/// Sends `ready` and waits for `go`. Returns `false` if the input ends before it.
pub fn ready_and_go(connections: Vec<ConnectionSettings>, input: &mut dyn BufRead) -> Result<bool, Fault> {
    send(&Message::Ready(Ready { connections }))?;
    let Some(line) = next_line(input)? else { return Ok(false) };
    let message: serde_json::Value = serde_json::from_str(&line).map_err(Fault::other)?;
    if message["type"] == "go" { Ok(true) } else { Err(Fault::Other(format!("`{}` is not go", line.trim()))) }
}

/// Ends the process with `failed` as its last line.
pub fn exit_failed(fault: Fault) -> ! {
    // If this write fails, too, only the exit code reports the failure.
    let _sent = send(&Message::Failed(fault.into_failed()));
    std::process::exit(1)
}

/// Ends the process with this result, without waiting for the threads of workers.
pub fn exit_with(result: TrialResult) -> ! {
    let sent = send(&Message::Result(Box::new(result)));
    std::process::exit(i32::from(sent.is_err()))
}
