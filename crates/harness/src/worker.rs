//! A worker: repeats its role's steps until the role ends.

use litelab_protocol::generator::{Stream, below};
use litelab_protocol::{Load, Order, Role, Step, Until};

use crate::access::Handle;
use crate::clock::{Clock, NEVER};
use crate::desk::{Desk, Window};
use crate::fault::Fault;
use crate::params::{Params, Values};
use crate::record::{Counters, Record, add};
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
    pub window: Window<'a>,
    /// Where it writes down what it does.
    pub desk: &'a Desk,
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
    pub counters: &'a Counters,
    /// How often this worker has started it.
    pub times: u64,
}

/// A worker that is done.
pub struct Done<H> {
    pub id: Id,
    pub handle: H,
}

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
    /// Works until the role ends, or something goes wrong that is not SQLite's. None where nobody waits for it any more.
    pub fn run(mut self, clock: Clock) -> Result<Option<Done<H>>, Fault> {
        let end = self.window.end;
        let limit = limit(self.role);
        let every = u64::from(self.role.workers_in_role);
        // The worker's own transactions have the numbers place, place + every, place + 2 * every, … in its role.
        let mut number = self.id.place;
        let mut values = Values::default();
        let mut at = 0;
        while number < limit {
            let due = match self.schedule.map(|schedule| schedule.take(end.time)) {
                None => None,
                Some(Some(due)) => Some(due),
                Some(None) => {
                    // Nothing more arrives, but the role lasts until its time.
                    end.sleep(clock, NEVER);
                    break;
                }
            };
            if self.role.order == Order::Weighted {
                at = by_weight(self.role, &self.choice, number);
            }
            let task = &mut self.steps[at];
            task.params.draw(task.operation(self.id.place), &mut values);
            if let Some(due) = due {
                end.sleep(clock, due);
            }
            let start = clock.now();
            if end.is_past(start) {
                if let (Some(schedule), Some(due)) = (self.schedule, due) {
                    schedule.leave(due);
                }
                break;
            }
            task.times += 1;
            number += every;

            self.desk.begin(at, start, due);
            let Task { plan, params, .. } = &*task;
            let execution = self.handle.execute(plan, (params, &values), &mut self.memory, self.retry, clock)?;
            let passed = self.desk.pass((at, start), &execution, self.window, |record| {
                task.count(record, &execution, &self.memory.errors);
                if start >= self.window.warm {
                    record.measure(&execution, start, due);
                }
            });
            if passed.is_none() {
                return Ok(None);
            }
            at = if execution.ending == Ending::Empty || at + 1 == self.steps.len() { 0 } else { at + 1 };
            if let Load::Closed { think_us: 1.. } = self.role.load {
                self.think(clock);
            }
        }
        let Self { id, handle, desk, window, .. } = self;
        Ok(desk.end(clock.now(), window).map(|()| Done { id, handle }))
    }

    fn think(&self, clock: Clock) {
        if let Load::Closed { think_us } = self.role.load {
            self.window.end.sleep(clock, clock.now().saturating_add(think_us.saturating_mul(1_000)));
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
    pub fn count(&self, record: &mut Record, execution: &Execution, errors: &[(i32, String)]) {
        let counter = match execution.ending {
            Ending::Committed => &self.counters.committed,
            Ending::Empty => &self.counters.empty,
            Ending::Failed => &self.counters.failed,
        };
        add(counter, 1);
        record.verified += execution.verified;
        record.mismatches += execution.mismatches;
        if !errors.is_empty() {
            add(&self.counters.errors, errors.len() as u64);
            add(&self.counters.busy, errors.iter().filter(|(code, _)| code & 0xFF == SQLITE_BUSY).count() as u64);
            record.errors(errors, execution.ending != Ending::Failed);
        }
    }
}
