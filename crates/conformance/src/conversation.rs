//! The conversation with the processes of one trial, in steps, so that a check can act between two of them.

use std::path::Path;
use std::time::{Duration, Instant};

use litelab_engine::merge::merge;
use litelab_engine::process::RunnerProcess;
use litelab_engine::runner::Runner;
use litelab_engine::split::split;
use litelab_engine::trial::Patience;
use litelab_protocol::{ConnectionSettings, Failed, Message, Tick, TickCount, TransactionResult, Trial, TrialResult};

use crate::error::{At, Result, ensure, timely};

/// A trial whose processes are ready.
pub struct Started {
    processes: Vec<RunnerProcess>,
    patience: Patience,
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

impl Heard {
    /// The operation of the first role and transaction.
    pub fn first(&self) -> &TransactionResult {
        &self.result.operations[0]
    }

    /// Committed and empty executions of a transaction.
    pub fn done(&self, transaction: &str) -> (u64, u64) {
        let of = self.result.operations.iter().filter(|o| o.transaction == transaction);
        of.fold((0, 0), |(committed, empty), o| (committed + o.committed, empty + o.empty))
    }

    /// How often an error was seen and cured, in all operations.
    pub fn errors(&self, code: &str) -> (u64, u64) {
        let errors = self.result.operations.iter().filter_map(|o| o.errors.get(code));
        errors.fold((0, 0), |(seen, cured), e| (seen + e.seen, cured + e.cured))
    }

    /// Committed and empty executions of an operation in all ticks.
    pub fn ticked_of(&self, operation: &TransactionResult) -> (u64, u64) {
        let counts = self.ticks.iter().flat_map(|(_, tick)| &tick.counts);
        let of = counts.filter(|c| c.role == operation.role && c.transaction == operation.transaction);
        of.fold((0, 0), |(committed, empty), c| (committed + c.committed, empty + c.empty))
    }

    /// Sum of a count over all ticks.
    pub fn ticked(&self, count: fn(&TickCount) -> u64) -> u64 {
        self.ticks.iter().flat_map(|(_, tick)| &tick.counts).map(count).sum()
    }
}

impl Started {
    /// Starts the processes of a trial and waits until all are ready.
    pub fn new(runner: &Runner, directory: &Path, patience: Patience, trial: &Trial) -> Result<Self> {
        let mut started = Self { processes: Vec::new(), patience, begun: None, connections: Vec::new() };
        for part in split(trial, None) {
            let mut process = RunnerProcess::start(runner.command("run"), &part, directory)?;
            // One process after the other: a change of the journal mode needs exclusive access to the database.
            match process.next_line(patience.ready, &mut || true)? {
                Message::Ready(ready) => started.connections.extend(ready.connections),
                Message::Failed(failed) => {
                    return Err(format!("it failed where `ready` was due: {}", failed.reason).into());
                }
                other => return Err(format!("it said `{}` where `ready` was due", other.kind()).into()),
            }
            started.processes.push(process);
        }
        Ok(started)
    }

    /// Sends `go` to all processes.
    pub fn go(&mut self) {
        self.begun = Some(Instant::now());
        self.processes.iter_mut().for_each(|process| process.go(self.patience.trial));
    }

    /// Reads all lines until every process has ended. Each must end with exit code 0.
    pub fn finish(mut self) -> Result<Heard> {
        let begun = self.begun.unwrap_or_else(Instant::now);
        let (mut ticks, mut results) = (Vec::new(), Vec::new());
        for process in &mut self.processes {
            loop {
                match next(process, self.patience, begun)? {
                    Message::Tick(tick) => ticks.push((begun.elapsed(), tick)),
                    Message::Result(result) => {
                        results.push(*result);
                        break;
                    }
                    Message::Failed(failed) => return Err(format!("the trial failed: {}", failed.reason).into()),
                    Message::Ready(_) => return Err("it said `ready` twice".into()),
                }
            }
        }
        let took = begun.elapsed();
        for process in &mut self.processes {
            ends(process, 0, "after its result", self.patience)?;
        }
        Ok(Heard { connections: self.connections, ticks, result: merge(results), took })
    }

    /// Sends `go`, reads ticks of the first process until `enough` transactions are committed, then kills all
    /// processes. Returns the number of committed transactions.
    pub fn killed_after(mut self, enough: u64) -> Result<u64> {
        self.go();
        let begun = Instant::now();
        let mut committed = 0;
        while let Some(process) = self.processes.first_mut().filter(|_| committed < enough) {
            let line = next(process, self.patience, begun)?;
            // If the disk stalls, the trial may end first.
            timely!(!matches!(line, Message::Result(_)), "it was to be killed, and ended before");
            match line {
                Message::Tick(tick) => committed += tick.counts.iter().map(|count| count.committed).sum::<u64>(),
                Message::Failed(failed) => return Err(format!("the trial failed: {}", failed.reason).into()),
                other => return Err(format!("it was to be killed, and said `{}` before", other.kind()).into()),
            }
        }
        // Dropping a process that still runs kills it.
        Ok(committed)
    }

    /// Reads lines of the first process until `failed`, which exit code 1 must follow.
    pub fn fails(mut self) -> Result<Failed> {
        let begun = self.begun.unwrap_or_else(Instant::now);
        let Some(process) = self.processes.first_mut() else { return Err("it has no process".into()) };
        loop {
            match next(process, self.patience, begun)? {
                Message::Tick(_) => {}
                Message::Failed(failed) => {
                    ends(process, 1, "after `failed`", self.patience)?;
                    return Ok(failed);
                }
                other => return Err(format!("it said `{}` in place of `failed`", other.kind()).into()),
            }
        }
    }

    /// Closes the input of every process. Each must end with exit code 0 and without another line.
    pub fn close_input(mut self) -> Result {
        for process in &mut self.processes {
            process.close_input();
            ends(process, 0, "when its input ended before `go`", self.patience)?;
        }
        Ok(())
    }

    /// Waits for the given time. A line from any process is an error.
    pub fn stays_silent(&mut self, wait: Duration) -> Result {
        let until = Instant::now() + wait;
        for process in &mut self.processes {
            match process.next_line(until.saturating_duration_since(Instant::now()), &mut || true) {
                Ok(line) => return Err(format!("it was not told to go, and said `{}`", line.kind()).into()),
                // So the engine reports that no line came.
                Err(e) if e.contains("said nothing for") => {}
                Err(e) => return Err(e).at("while it waited for `go`"),
            }
        }
        Ok(())
    }
}

/// Starts a trial that must report `failed`, with a reason and exit code 1: in place of `ready`, or, if `later`, also
/// after `go`, because some errors occur only when a statement is executed.
pub fn refused(runner: &Runner, directory: &Path, patience: Patience, trial: &Trial, later: bool) -> Result<Failed> {
    let mut process = RunnerProcess::start(runner.command("run"), trial, directory)?;
    let mut gone = false;
    loop {
        match process.next_line(patience.ready, &mut || true)? {
            Message::Failed(failed) => {
                ends(&mut process, 1, "after `failed`", patience)?;
                ensure!(!failed.reason.trim().is_empty(), "its reason is empty");
                return Ok(failed);
            }
            Message::Ready(_) if later && !gone => {
                process.go(patience.trial);
                gone = true;
            }
            Message::Tick(_) if gone => {}
            other => return Err(format!("it said `{}` in place of `failed`", other.kind()).into()),
        }
    }
}

/// The next line of a process after `go`.
fn next(process: &mut RunnerProcess, patience: Patience, begun: Instant) -> Result<Message> {
    Ok(process.next_line(patience.silence, &mut || begun.elapsed() < patience.trial)?)
}

/// A process must end with this exit code and without another line.
fn ends(process: &mut RunnerProcess, wanted: i32, when: &str, patience: Patience) -> Result {
    if let Some(line) = process.line_after_last(patience.silence).at(when)? {
        return Err(format!("it said `{}` {when}", line.kind()).into());
    }
    ensure!(process.settle(), "it did not end {when}");
    let status = process.finish()?.status;
    ensure!(status.code() == Some(wanted), "its {status} {when}, where exit code {wanted} is due");
    Ok(())
}
