//! The conversation with the processes of one trial, in steps, so that a check can act between two of them.

use std::time::{Duration, Instant};

use litelab_engine::merge::merge;
use litelab_engine::process::RunnerProcess;
use litelab_engine::trial::split;
use litelab_protocol::{ConnectionSettings, Failed, Message, Tick, Trial, TrialResult};

use crate::check::Wrong;
use crate::subject::Subject;

/// Longest waits for a runner.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until all connections are open; includes the start of the language's runtime.
    pub ready: Duration,
    /// Between `go` and the first line, and between two lines.
    pub silence: Duration,
    /// For a whole trial. The longest trial takes half a second, except where the runner is killed on purpose.
    pub trial: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        // These limits are only meant to catch a hang: on a busy machine, or while the disk stalls, any step may take
        // seconds.
        Self { ready: Duration::from_secs(60), silence: Duration::from_secs(20), trial: Duration::from_secs(60) }
    }
}

/// A trial whose processes are ready.
pub struct Started {
    processes: Vec<RunnerProcess>,
    limits: Limits,
    begun: Option<Instant>,
    /// Settings reported with `ready`.
    pub connections: Vec<ConnectionSettings>,
}

/// Everything that a trial reported, from `ready` to its result.
pub struct Heard {
    /// Settings reported with `ready`.
    pub connections: Vec<ConnectionSettings>,
    /// Ticks, each with the time since `go` at which the suite received it.
    pub ticks: Vec<(Duration, Tick)>,
    /// The result; the sum over all processes.
    pub result: TrialResult,
    /// Time from `go` to the last result.
    pub took: Duration,
}

impl Started {
    /// Starts the processes of a trial and waits until all are ready.
    pub fn new(subject: &Subject<'_>, trial: &Trial) -> Result<Self, String> {
        let limits = subject.limits;
        let mut started = Self { processes: Vec::new(), limits, begun: None, connections: Vec::new() };
        for part in split(trial) {
            started.processes.push(RunnerProcess::start(subject.runner, &part, subject.directory, &[])?);
            // One process after the other: a change of the journal mode needs exclusive access to the database.
            let Some(process) = started.processes.last_mut() else { continue };
            match process.next_line(limits.ready, &mut || true)? {
                Message::Ready(ready) => started.connections.extend(ready.connections),
                Message::Failed(failed) => return Err(format!("it failed where `ready` was due: {}", failed.reason)),
                other => return Err(format!("it said {} where `ready` was due", brief(&other))),
            }
        }
        Ok(started)
    }

    /// Sends `go` to all processes.
    pub fn go(&mut self) {
        self.begun = Some(Instant::now());
        self.processes.iter_mut().for_each(RunnerProcess::go);
    }

    /// Reads all lines until every process has ended. Each must end with exit code 0.
    pub fn finish(mut self) -> Result<Heard, String> {
        let begun = self.begun.unwrap_or_else(Instant::now);
        let (mut ticks, mut results) = (Vec::new(), Vec::new());
        for process in &mut self.processes {
            loop {
                match process.next_line(self.limits.silence, &mut || begun.elapsed() < self.limits.trial) {
                    Ok(Message::Tick(tick)) => ticks.push((begun.elapsed(), tick)),
                    Ok(Message::Result(result)) => {
                        results.push(*result);
                        break;
                    }
                    Ok(Message::Failed(failed)) => return Err(format!("the trial failed: {}", failed.reason)),
                    Ok(Message::Ready(_)) => return Err("it said `ready` twice".into()),
                    Err(e) => return Err(e),
                }
            }
        }
        let took = begun.elapsed();
        for process in &mut self.processes {
            exit_code(process, 0, "after its result")?;
        }
        Ok(Heard { connections: self.connections, ticks, result: merge(results), took })
    }

    /// Reads ticks of the first process until `enough` returns true, then kills all processes. Returns the ticks.
    pub fn killed_when(mut self, enough: impl Fn(&[Tick]) -> bool) -> Result<Vec<Tick>, Wrong> {
        let begun = self.begun.unwrap_or_else(Instant::now);
        let mut ticks = Vec::new();
        while !enough(&ticks) {
            let Some(process) = self.processes.first_mut() else { break };
            match process.next_line(self.limits.silence, &mut || begun.elapsed() < self.limits.trial)? {
                Message::Tick(tick) => ticks.push(tick),
                Message::Failed(failed) => return Err(format!("the trial failed: {}", failed.reason).into()),
                // If the disk stalls, the trial may end first.
                Message::Result(_) => return Err(Wrong::Perhaps("it was to be killed, and ended before".into())),
                other => return Err(format!("it was to be killed, and said {} before", brief(&other)).into()),
            }
        }
        // Dropping a process that still runs kills it.
        drop(self);
        Ok(ticks)
    }

    /// Reads lines of the first process until `failed`, which exit code 1 must follow.
    pub fn fails(mut self) -> Result<Failed, String> {
        let begun = self.begun.unwrap_or_else(Instant::now);
        let Some(process) = self.processes.first_mut() else { return Err("it has no process".into()) };
        loop {
            match process.next_line(self.limits.silence, &mut || begun.elapsed() < self.limits.trial)? {
                Message::Tick(_) => {}
                Message::Failed(failed) => {
                    exit_code(process, 1, "after `failed`")?;
                    return Ok(failed);
                }
                other => return Err(format!("it said {} in place of `failed`", brief(&other))),
            }
        }
    }

    /// Closes the input of every process. Each must end with exit code 0 and without another line.
    pub fn close_input(mut self) -> Result<(), String> {
        for process in &mut self.processes {
            process.close_input();
            match process.next_line(self.limits.silence, &mut || true) {
                Ok(line) => return Err(format!("it was not told to go, and then said {}", brief(&line))),
                Err(e) if e.contains("said nothing for") => {
                    return Err(format!("its input ended before `go`, and {e}"));
                }
                Err(_) => exit_code(process, 0, "when its input ended before `go`")?,
            }
        }
        Ok(())
    }

    /// Waits for the given time. A line from any process is an error.
    pub fn stays_silent(&mut self, wait: Duration) -> Result<(), String> {
        let until = Instant::now() + wait;
        for process in &mut self.processes {
            match process.next_line(until.saturating_duration_since(Instant::now()), &mut || true) {
                Ok(line) => return Err(format!("it was not told to go, and said {}", brief(&line))),
                Err(e) if e.contains("said nothing for") => {}
                Err(e) => return Err(format!("while it waited for `go`: {e}")),
            }
        }
        Ok(())
    }
}

/// Runs a trial that must end with `failed`, a reason and exit code 1, before or after `go`.
pub fn refusal(subject: &Subject<'_>, trial: &Trial) -> Result<Failed, String> {
    // Some errors occur only when a statement is executed.
    refused(subject, trial, true)
}

/// Starts a trial that must report `failed`, with a reason and exit code 1, in place of `ready`.
pub fn refused_at_once(subject: &Subject<'_>, trial: &Trial) -> Result<Failed, String> {
    refused(subject, trial, false)
}

fn refused(subject: &Subject<'_>, trial: &Trial, later: bool) -> Result<Failed, String> {
    let mut process = RunnerProcess::start(subject.runner, trial, subject.directory, &[])?;
    let mut told = false;
    loop {
        match process.next_line(subject.limits.ready, &mut || true)? {
            Message::Failed(failed) => {
                exit_code(&mut process, 1, "after `failed`")?;
                return if failed.reason.trim().is_empty() { Err("its reason is empty".into()) } else { Ok(failed) };
            }
            Message::Ready(_) if later && !told => {
                process.go();
                told = true;
            }
            Message::Tick(_) if told => {}
            other => return Err(format!("it said {} in place of `failed`", brief(&other))),
        }
    }
}

fn exit_code(process: &mut RunnerProcess, wanted: i32, when: &str) -> Result<(), String> {
    if !process.settle() {
        return Err(format!("it did not end {when}"));
    }
    let exited = process.finish().map_err(|e| e.to_string())?;
    match exited.status.code() {
        Some(code) if code == wanted => Ok(()),
        _ => Err(format!("its {} {when}, where exit code {wanted} is due", exited.status)),
    }
}

fn brief(line: &Message) -> &'static str {
    match line {
        Message::Ready(_) => "`ready`",
        Message::Tick(_) => "`tick`",
        Message::Result(_) => "`result`",
        Message::Failed(_) => "`failed`",
    }
}
