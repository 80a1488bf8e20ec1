//! A worker, which executes the steps of its role until the role ends, in a thread or in a task.

use std::time::Duration;

use litelab_protocol::generator::{Stream, below};
use litelab_protocol::{Load, Order, Role, Step, Until};

use crate::clock::{Clock, NEVER};
use crate::fault::Fault;
use crate::record::{Counters, Record, add};
use crate::schedule::Schedule;
use crate::session::{Ending, Execution};
use crate::tally::{Tally, Window};
use crate::transaction::Transactions;

/// A worker without its connection.
pub struct Worker {
    pub id: Id,
    pub role: &'static Role,
    /// Boxed, because a task passes them to other threads.
    pub transactions: Box<Transactions>,
    /// Number in the role of the worker's next transaction: first its place, then increased by `workers_in_role` each
    /// time.
    pub number: u64,
    pub schedule: Option<&'static Schedule>,
    pub window: Window,
    pub tally: &'static Tally,
    /// Counters of each step.
    pub counters: &'static [Counters],
    /// Random stream for the choice of the step.
    pub choice: Stream,
}

/// Identity of a worker.
#[derive(Clone, Copy)]
pub struct Id {
    pub database: usize,
    /// Index of the role in the trial.
    pub role: usize,
    /// Place in the role, over all processes.
    pub place: u64,
    /// Index among all workers of its database.
    pub index: u32,
    /// Index of its first step's counters in the table.
    pub counters: usize,
}

impl Worker {
    /// Runs in this thread from `go` until the role ends. `execute` runs a transaction on `handle`. Returns `false` if
    /// the worker was abandoned.
    pub fn run<H>(
        &mut self,
        clock: Clock,
        handle: &mut H,
        execute: impl Fn(&mut Transactions, &mut H) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        self.transactions.clock = clock;
        while let Some(due) = self.draw_next() {
            if let Some(due) = due {
                self.window.end.sleep(clock, due);
            }
            let Some(start) = self.start(clock, due) else { break };
            execute(&mut self.transactions, handle)?;
            if !self.finish(start, due) {
                return Ok(false);
            }
            if let Some(until) = self.think(clock) {
                self.window.end.sleep(clock, until);
            }
        }
        Ok(self.tally.end(clock.now(), self.window))
    }

    /// As [`Worker::run`], in a task. `execute` takes transactions and handle by value and returns them, because a
    /// thread to which it passes them cannot borrow from a task. Returns the handle unless the worker was abandoned.
    ///
    /// `never_waits`: `execute` may complete without awaiting anything. Such a task would keep its thread of the
    /// runtime, unlike a task of an application, which awaits its next request between two transactions.
    pub async fn run_async<H, F>(
        mut self,
        clock: Clock,
        mut handle: Box<H>,
        execute: impl Fn(Box<Transactions>, Box<H>) -> F,
        never_waits: bool,
    ) -> Result<Option<Box<H>>, Fault>
    where
        F: Future<Output = Result<(Box<Transactions>, Box<H>), Fault>>,
    {
        self.transactions.clock = clock;
        while let Some(due) = self.draw_next() {
            if let Some(due) = due {
                self.sleep(clock, due).await;
            }
            let Some(start) = self.start(clock, due) else { break };
            (self.transactions, handle) = execute(self.transactions, handle).await?;
            // For the application the commit has returned when the awaiting task continues.
            self.transactions.execution.end = clock.now();
            if !self.finish(start, due) {
                return Ok(None);
            }
            match self.think(clock) {
                Some(until) => self.sleep(clock, until).await,
                None if never_waits => tokio::task::yield_now().await,
                None => {}
            }
        }
        Ok(self.tally.end(clock.now(), self.window).then_some(handle))
    }

    /// [`crate::clock::End::sleep`] with the runtime's timer, which has a resolution of one millisecond and wakes up to
    /// two milliseconds late, as in an application.
    async fn sleep(&self, clock: Clock, due: u64) {
        while let Some(nanos) = self.window.end.next_pause(clock, due) {
            tokio::time::sleep(Duration::from_nanos(nanos)).await;
        }
    }

    /// Chooses the next transaction and draws its values. Returns `None` if the role's number of transactions is
    /// reached, otherwise the due time if arrivals are scheduled.
    #[inline(always)]
    fn draw_next(&mut self) -> Option<Option<u64>> {
        if let Until::Count { transactions } = self.role.until
            && self.number >= transactions
        {
            return None;
        }
        // Without a further arrival the role still lasts until its time: the worker sleeps until then and starts
        // nothing.
        let due = self.schedule.map(|schedule| schedule.take(self.window.end.time).unwrap_or(NEVER));
        if let Some(due) = due {
            self.tally.take(due);
        }
        if self.role.order == Order::Weighted {
            self.transactions.choose(by_weight(self.role, &self.choice, self.number));
        }
        self.transactions.draw(self.id.place);
        Some(due)
    }

    /// Starts the transaction. Returns the start time, or `None` if it is too late.
    #[inline(always)]
    fn start(&mut self, clock: Clock, due: Option<u64>) -> Option<u64> {
        let start = clock.now();
        if self.window.end.is_past(start) {
            if let (Some(schedule), Some(due)) = (self.schedule, self.tally.left()) {
                schedule.leave(due);
            }
            return None;
        }
        self.transactions.started();
        self.number += u64::from(self.role.workers_in_role);
        self.tally.begin(self.transactions.at(), start, due);
        Some(start)
    }

    /// Counts the execution and advances to the next step. Returns `false` if the worker was abandoned.
    #[inline(always)]
    fn finish(&mut self, start: u64, due: Option<u64>) -> bool {
        let (at, execution) = (self.transactions.at(), &self.transactions.execution);
        let Some(mut totals) = self.tally.finish(at, start, execution, self.window) else { return false };
        let record = &mut totals.records[at];
        count(&self.counters[at], record, execution, self.transactions.errors());
        if start >= self.window.warm {
            record.measure(execution, start, due);
        }
        if due.is_some() {
            self.tally.take(NEVER);
        }
        drop(totals);
        self.transactions.advance();
        true
    }

    /// End of the worker's think time; `None` without one.
    #[inline(always)]
    fn think(&self, clock: Clock) -> Option<u64> {
        match self.role.load {
            Load::Closed { think_us: think @ 1.. } => Some(clock.now().saturating_add(think.saturating_mul(1_000))),
            _ => None,
        }
    }
}

/// The first step whose cumulative weight exceeds the draw.
fn by_weight(role: &Role, choice: &Stream, number: u64) -> usize {
    let sum = role.steps.iter().map(|step| u64::from(step.weight)).sum();
    let drawn = below(choice.word(number), sum);
    let mut cumulative = 0;
    let exceeds = |step: &Step| {
        cumulative += u64::from(step.weight);
        cumulative > drawn
    };
    role.steps.iter().position(exceeds).unwrap_or_default()
}

/// Counts an execution, including those in the warm-up.
#[inline]
fn count(counters: &Counters, record: &mut Record, execution: &Execution, errors: &[(i32, String)]) {
    let counter = match execution.ending {
        Ending::Committed => &counters.committed,
        Ending::Empty => &counters.empty,
        Ending::Failed => &counters.failed,
    };
    add(counter, 1);
    record.verified += execution.verified;
    record.mismatches += execution.mismatches;
    if !errors.is_empty() && execution.ending != Ending::Failed {
        record.cured(errors);
    }
}
