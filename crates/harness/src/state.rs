//! State that the workers of a trial share under every executor, and the result after their end.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use litelab_protocol::generator::Stream;
use litelab_protocol::{Executor, Role, Sharing, Step, Transaction, Trial, TrialResult, Until, WorkerResult};

use crate::clock::{Clock, End, NEVER};
use crate::fault::Fault;
use crate::probe::Probed;
use crate::record::{CounterTable, Record};
use crate::retry::RetryPolicy;
use crate::schedule::Schedule;
use crate::tally::{Tally, Window};
use crate::transaction::Transactions;
use crate::worker::{Id, Worker};

/// An option of the harness in addition to the driver's, only under [`Executor::Offload`]: size of the runtime's pool
/// of blocking threads. Default: tokio's, 512.
pub const MAX_BLOCKING_THREADS: &str = "max_blocking_threads";

/// Ends of the roles.
struct RoleEnds {
    working: Vec<AtomicUsize>,
    /// Nanoseconds from `go` to the end of the role's last worker, [`NEVER`] before.
    ended: Vec<AtomicU64>,
}

impl RoleEnds {
    fn new(trial: &Trial) -> Self {
        let workers = |role: &Role| role.workers as usize * trial.databases.len();
        Self {
            working: trial.roles.iter().map(|r| AtomicUsize::new(workers(r))).collect(),
            ended: trial.roles.iter().map(|r| AtomicU64::new(if workers(r) == 0 { 0 } else { NEVER })).collect(),
        }
    }

    fn of(&'static self, trial: &Trial, role: &Role) -> End {
        match &role.until {
            Until::Count { .. } => End { time: NEVER, role: None },
            Until::Time { ms } => End { time: nanos(*ms), role: None },
            Until::Role { name } => {
                let other = trial.roles.iter().position(|r| r.name == *name);
                End { time: NEVER, role: other.map(|r| &self.ended[r]) }
            }
        }
    }

    fn leave(&self, role: usize, clock: Clock) {
        if self.working[role].fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ended[role].store(clock.now(), Ordering::Release);
        }
    }
}

/// State that the workers of a trial share.
pub struct TrialState {
    pub trial: &'static Trial,
    /// Value of option [`MAX_BLOCKING_THREADS`].
    pub max_blocking_threads: Option<u32>,
    /// Counts that ticks report.
    pub counters: CounterTable,
    retry: RetryPolicy,
    schedules: Vec<Option<Schedule>>,
    /// Counts and times of all workers, in the order of [`TrialState::workers`].
    tallies: Vec<(Id, Tally)>,
    ends: RoleEnds,
}

impl TrialState {
    /// The state before `go`. Fails on an invalid retry policy or rate. Never freed: workers borrow from it, and a
    /// process runs one trial.
    pub fn new(mut trial: Trial) -> Result<&'static Self, Fault> {
        let max_blocking_threads = max_blocking_threads(&mut trial)?;
        let trial: &'static Trial = Box::leak(Box::new(trial));
        let schedules =
            trial.roles.iter().map(|role| Schedule::new(trial.seed, role)).collect::<Result<Vec<_>, _>>()?;
        let retry = RetryPolicy::new(&trial.retry)?;
        let mut tallies = Vec::new();
        let mut counters = 0;
        for database in 0..trial.databases.len() {
            for (r, role) in trial.roles.iter().enumerate() {
                for w in 0..role.workers {
                    let place = u64::from(role.first_in_role + w);
                    let id = Id { database, role: r, place, index: role.first_worker + w, counters };
                    counters += role.steps.len();
                    let record = |step: &Step| {
                        let spec = &trial.transactions[step.transaction as usize];
                        Record::new(spec, shares(trial.sharing, spec), schedules[r].is_some())
                    };
                    tallies.push((id, Tally::new(role.steps.iter().map(record).collect())));
                }
            }
        }
        let (counters, ends) = (CounterTable::new(trial), RoleEnds::new(trial));
        let state = Self { trial, max_blocking_threads, counters, retry, schedules, tallies, ends };
        Ok(Box::leak(Box::new(state)))
    }

    /// Number of workers.
    pub fn count(&self) -> usize {
        self.tallies.len()
    }

    /// All workers, by database, role and place in the role. Fails on a statement that binds a parameter that its
    /// transaction does not have.
    pub fn workers(&'static self) -> Result<Vec<Worker>, Fault> {
        self.tallies.iter().map(|(id, tally)| self.worker(*id, tally)).collect()
    }

    fn worker(&'static self, id: Id, tally: &'static Tally) -> Result<Worker, Fault> {
        let trial = self.trial;
        let role = &trial.roles[id.role];
        let counters = &self.counters.counters[id.counters..][..role.steps.len()];
        Ok(Worker {
            id,
            role,
            transactions: Box::new(Transactions::new(trial, role, id.index, &self.retry, (tally, counters))?),
            number: id.place,
            schedule: self.schedules[id.role].as_ref(),
            window: self.window(role),
            tally,
            counters,
            choice: Stream::new(trial.seed, &format!("{}.step", role.name)),
        })
    }

    fn window(&'static self, role: &Role) -> Window {
        Window { warm: nanos(self.trial.warmup_ms), end: self.ends.of(self.trial, role) }
    }

    /// Notes that a worker of this role has ended.
    pub fn leave(&self, role: usize, clock: Clock) {
        self.ends.leave(role, clock);
    }

    /// End of the drain of this role, [`NEVER`] while it is unknown or if the role has no drain.
    fn drained(&'static self, role: &Role) -> u64 {
        self.window(role).end.known().saturating_add(nanos(self.trial.drain_ms))
    }

    /// Earliest end of the drain of a role in which workers are left.
    pub fn next_drained(&'static self) -> u64 {
        let roles = self.trial.roles.iter().zip(&self.ends.working);
        let working = roles.filter(|(_, working)| working.load(Ordering::Acquire) > 0);
        working.map(|(role, _)| self.drained(role)).min().unwrap_or(NEVER)
    }

    /// Abandons workers whose drain has passed. Returns their number. Those between two transactions end on their own,
    /// unless a worker that hangs keeps the thread of their runtime.
    pub fn abandon(&'static self, clock: Clock, hangs: bool) -> usize {
        let working = self.abandon_if(clock, false);
        if hangs || working > 0 { working + self.abandon_if(clock, true) } else { working }
    }

    fn abandon_if(&'static self, clock: Clock, idle: bool) -> usize {
        let now = clock.now();
        let mut abandoned = 0;
        for (id, tally) in &self.tallies {
            let role = &self.trial.roles[id.role];
            if now >= self.drained(role) && tally.abandon(now, self.window(role), idle) {
                abandoned += 1;
                if let (Some(schedule), Some(due)) = (&self.schedules[id.role], tally.left()) {
                    schedule.leave(due);
                }
                self.leave(id.role, clock);
            }
        }
        abandoned
    }

    /// Ends a worker that cannot continue. Returns `false` if it was abandoned: its outcome has been counted.
    pub fn fail(&'static self, id: Id, clock: Clock) -> bool {
        let role = &self.trial.roles[id.role];
        let of = self.tallies.iter().find(|(other, _)| other.counters == id.counters);
        of.is_none_or(|(_, tally)| tally.end(clock.now(), self.window(role)))
    }

    /// Results of all workers, in the order in which they were created.
    pub fn result(&'static self, probed: Probed) -> TrialResult {
        let trial = self.trial;
        let mut operations = self.counters.operations(trial);
        let mut workers = Vec::new();
        let mut elapsed_ns = 0;
        for (id, tally) in &self.tallies {
            let role = &trial.roles[id.role];
            let counters = &self.counters.counters[id.counters..][..role.steps.len()];
            let mut worker = WorkerResult {
                role: role.name.clone(),
                worker: id.index,
                database: id.database as u32,
                committed: counters.iter().map(|c| c.committed.load(Ordering::Relaxed)).sum(),
                ..WorkerResult::default()
            };
            let place = |step| self.counters.operation(id.counters + step);
            elapsed_ns = tally.add_to(&mut worker, &mut operations, place).max(elapsed_ns);
            workers.push(worker);
        }
        for (r, schedule) in self.schedules.iter().enumerate() {
            // Arrivals that no worker started have no step yet: they count for the role's first.
            let (Some(schedule), Some(first)) = (schedule, self.counters.first_of(r)) else { continue };
            let end = self.ends.of(trial, &trial.roles[r]).known();
            if end != NEVER {
                operations[first].unserved += schedule.unserved(end);
            }
        }
        let measured_ns = elapsed_ns.saturating_sub(nanos(trial.warmup_ms));
        let Probed { timers, gauges } = probed;
        TrialResult { elapsed_ns, measured_ns, operations, workers, timers, gauges, ..TrialResult::default() }
    }
}

fn nanos(milliseconds: u64) -> u64 {
    milliseconds.saturating_mul(1_000_000)
}

/// Removes the option from those that the driver receives.
fn max_blocking_threads(trial: &mut Trial) -> Result<Option<u32>, Fault> {
    if trial.executor != Executor::Offload {
        return Ok(None);
    }
    let Some(value) = trial.connection.options.remove(MAX_BLOCKING_THREADS) else { return Ok(None) };
    match value.as_u64().and_then(|threads| u32::try_from(threads).ok()) {
        Some(threads) => Ok(Some(threads)),
        None => Err(Fault::Other(format!("option `{MAX_BLOCKING_THREADS}`: {value} is no number of threads"))),
    }
}

/// Whether a transaction may have to wait for a connection or a lock.
fn shares(sharing: Sharing, transaction: &Transaction) -> bool {
    match sharing {
        Sharing::OwnConnection => false,
        Sharing::AppLock => transaction.writes,
        _ => true,
    }
}
