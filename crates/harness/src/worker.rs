//! A worker: repeats its role's steps until the role ends.

use litelab_protocol::generator::{Stream, below};
use litelab_protocol::{Load, Order, Probe, Role, Step, Until};

use crate::access::Handle;
use crate::clock::{Clock, End, NEVER};
use crate::fault::Fault;
use crate::params::{Params, Values};
use crate::record::{Counters, Record, add, note};
use crate::schedule::Schedule;
use crate::session::Session;
use crate::transaction::{self, Ending, Execution, Memory, Plan, Retrying};

/// The primary code.
const SQLITE_BUSY: i32 = 5;

/// One worker, ready to go.
pub struct Worker<'a, H> {
    pub id: Id,
    pub role: &'a Role,
    /// Its way to a connection.
    pub handle: H,
    pub steps: Vec<Task<'a>>,
    pub memory: Memory,
    pub retry: &'a Retrying,
    pub schedule: Option<&'a Schedule>,
    pub end: End<'a>,
    /// End of the warm-up in nanoseconds from `go`.
    pub warm: u64,
    /// Stream of the draws between steps.
    pub choice: Stream,
}

/// Who a worker is.
#[derive(Clone, Copy)]
pub struct Id {
    pub database: usize,
    /// Index of the role in the trial.
    pub role: usize,
    /// Its place in the role, over all processes.
    pub place: u64,
    /// Index among all workers of its database.
    pub index: u32,
    /// Index of its first step's counters on the board.
    pub counters: usize,
}

/// One step of a role, as this worker does it.
pub struct Task<'a> {
    pub step: &'a Step,
    pub plan: Plan<'a>,
    pub params: Params,
    pub record: Record,
    pub counters: &'a Counters,
    /// How often this worker has started it.
    pub times: u64,
}

/// What a worker leaves when it is done.
pub struct Done<H> {
    pub id: Id,
    pub handle: H,
    pub records: Vec<Record>,
    pub time: Time,
}

/// A worker's time, in nanoseconds.
#[derive(Default)]
pub struct Time {
    /// When it ended, from `go`.
    pub ended: u64,
    /// After the warm-up, in transactions and between them.
    pub inside: u64,
    pub outside: u64,
    /// The longest in which it committed nothing.
    pub stall: u64,
    /// When it last committed something.
    committed: u64,
}

impl Time {
    /// A transaction that began at `start` is over.
    #[inline]
    pub fn pass(&mut self, execution: &Execution, start: u64, warm: u64) {
        self.inside += execution.end.saturating_sub(start.max(warm));
        if execution.ending == Ending::Committed {
            self.stall = self.stall.max(execution.end.saturating_sub(self.committed));
            self.committed = execution.end;
        }
    }

    /// The worker has ended.
    pub fn end(mut self, now: u64, warm: u64) -> Self {
        self.ended = now;
        self.outside = now.saturating_sub(warm).saturating_sub(self.inside);
        self.stall = self.stall.max(now.saturating_sub(self.committed));
        self
    }
}

/// What all workers leave, in the order in which they were made, and what the host probe saw meanwhile.
pub type Ended<H> = (Vec<Done<H>>, Option<Probe>);

/// A thread's way to a connection.
pub trait Route {
    /// Runs one transaction to its end there.
    fn execute(
        &mut self,
        plan: &Plan<'_>,
        drawn: (&Params, &Values),
        memory: &mut Memory,
        retry: &Retrying,
        clock: Clock,
    ) -> Result<Execution, Fault>;
}

impl<S: Session> Route for Handle<'_, S> {
    #[inline(always)]
    fn execute(
        &mut self,
        plan: &Plan<'_>,
        drawn: (&Params, &Values),
        memory: &mut Memory,
        retry: &Retrying,
        clock: Clock,
    ) -> Result<Execution, Fault> {
        let mut lease = self.lease(plan.spec.writes);
        let shares = lease.shares();
        let execution = transaction::run(plan, lease.session(), drawn, memory, retry, clock, shares)?;
        lease.end();
        Ok(execution)
    }
}

impl<H: Route> Worker<'_, H> {
    /// Works until the role ends, or something goes wrong that is not SQLite's.
    pub fn run(mut self, clock: Clock) -> Result<Done<H>, Fault> {
        let limit = limit(self.role);
        let every = u64::from(self.role.workers_in_role);
        // The worker's own transactions have the numbers place, place + every, place + 2 * every, … in its role.
        let mut number = self.id.place;
        let mut values = Values::default();
        let mut time = Time::default();
        let mut at = 0;
        while number < limit {
            let due = match self.schedule.map(|schedule| schedule.take(self.end.time)) {
                None => None,
                Some(Some(due)) => Some(due),
                Some(None) => {
                    // Nothing more arrives, but the role lasts until its time.
                    self.end.sleep(clock, NEVER);
                    break;
                }
            };
            if self.role.order == Order::Weighted {
                at = by_weight(self.role, &self.choice, number);
            }
            let task = &mut self.steps[at];
            task.params.draw(task.operation(self.id.place), &mut values);
            if let Some(due) = due {
                self.end.sleep(clock, due);
            }
            let start = clock.now();
            if self.end.is_past(start) {
                if let (Some(schedule), Some(due)) = (self.schedule, due) {
                    schedule.leave(due);
                }
                break;
            }
            task.times += 1;
            number += every;

            let Task { plan, params, .. } = &*task;
            let execution = self.handle.execute(plan, (params, &values), &mut self.memory, self.retry, clock)?;
            task.count(&execution, &self.memory.errors);
            if start >= self.warm {
                task.measure(&execution, start, due);
            }
            time.pass(&execution, start, self.warm);
            at = if execution.ending == Ending::Empty || at + 1 == self.steps.len() { 0 } else { at + 1 };
            if let Load::Closed { think_us: 1.. } = self.role.load {
                self.think(clock);
            }
        }
        Ok(Done {
            id: self.id,
            time: time.end(clock.now(), self.warm),
            handle: self.handle,
            records: self.steps.into_iter().map(|task| task.record).collect(),
        })
    }

    fn think(&self, clock: Clock) {
        if let Load::Closed { think_us } = self.role.load {
            self.end.sleep(clock, clock.now().saturating_add(think_us.saturating_mul(1_000)));
        }
    }
}

/// How many transactions the role does in all.
pub fn limit(role: &Role) -> u64 {
    match role.until {
        Until::Count { transactions } => transactions,
        Until::Time { .. } | Until::Role { .. } => u64::MAX,
    }
}

/// The first step whose cumulative weight exceeds the draw.
pub fn by_weight(role: &Role, choice: &Stream, number: u64) -> usize {
    let sum = role.steps.iter().map(|step| u64::from(step.weight)).sum();
    let drawn = below(choice.word(number), sum);
    let mut cumulative = 0;
    let exceeds = |step: &Step| {
        cumulative += u64::from(step.weight);
        cumulative > drawn
    };
    role.steps.iter().position(exceeds).unwrap_or_default()
}

impl Task<'_> {
    /// Which operation of the role its next execution is, for the worker at this place.
    #[inline(always)]
    pub fn operation(&self, place: u64) -> u64 {
        self.times * u64::from(self.step.stride) + u64::from(self.step.offset) + place
    }

    /// What counts from `go` on.
    #[inline]
    pub fn count(&mut self, execution: &Execution, errors: &[i32]) {
        let counter = match execution.ending {
            Ending::Committed => &self.counters.committed,
            Ending::Empty => &self.counters.empty,
            Ending::Failed => &self.counters.failed,
        };
        add(counter, 1);
        self.record.verified += execution.verified;
        self.record.mismatches += execution.mismatches;
        if !errors.is_empty() {
            add(&self.counters.errors, errors.len() as u64);
            add(&self.counters.busy, errors.iter().filter(|code| *code & 0xFF == SQLITE_BUSY).count() as u64);
            self.record.errors(errors, execution.ending != Ending::Failed);
        }
    }

    /// What counts after the warm-up.
    #[inline(always)]
    pub fn measure(&mut self, execution: &Execution, start: u64, due: Option<u64>) {
        if execution.ending != Ending::Committed {
            return;
        }
        let record = &mut self.record;
        record.measured += 1;
        record.rows += execution.rows;
        // Two processors' counters may differ by a few nanoseconds, so nothing is subtracted blindly.
        let since = |from: u64| move |at: u64| at.saturating_sub(from);
        record.service.record(since(start)(execution.end));
        note(&mut record.wait, execution.had.map(since(start)));
        note(&mut record.response, due.map(|due| execution.end.saturating_sub(due)));
        note(&mut record.lag, due.map(|due| start.saturating_sub(due)));
        note(&mut record.query, execution.query.map(since(start)));
        note(&mut record.first_row, execution.first_row.map(since(start)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(end: u64, ending: Ending) -> Execution {
        Execution { ending, had: None, end, rows: 0, query: None, first_row: None, verified: 0, mismatches: 0 }
    }

    #[test]
    fn the_longest_time_without_a_commit_has_everything_else_in_it() {
        let mut time = Time::default();
        time.pass(&until(100, Ending::Committed), 50, 200);
        time.pass(&until(400, Ending::Failed), 150, 200);
        time.pass(&until(500, Ending::Empty), 450, 200);
        time.pass(&until(900, Ending::Committed), 600, 200);
        let time = time.end(1_100, 200);
        assert_eq!((time.stall, time.ended), (800, 1_100));
        // From the warm-up on, 200 of what failed, then 50 and 300.
        assert_eq!((time.inside, time.outside), (550, 350));
    }

    #[test]
    fn who_commits_nothing_stalls_until_the_end() {
        let mut time = Time::default();
        time.pass(&until(10, Ending::Committed), 5, 0);
        assert_eq!(time.end(1_000, 0).stall, 990);
        assert_eq!(Time::default().end(1_000, 0).stall, 1_000);
    }
}
