//! What the workers of a trial have in common, whatever runs them, and the result when they are done.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use litelab_protocol::generator::Stream;
use litelab_protocol::{Access, Probe, Role, Step, Transaction, Trial, TrialResult, Until, WorkerResult};

use crate::access::{Handle, Shared};
use crate::clock::{Clock, End, NEVER};
use crate::desk::{Desk, Window};
use crate::fault::Fault;
use crate::params::Params;
use crate::record::{Beat, Board, Record};
use crate::schedule::Schedule;
use crate::transaction::{Memory, Plan, Retrying};
use crate::worker::{Id, Task, Worker};

/// When roles end.
struct Ends {
    working: Vec<AtomicUsize>,
    /// Nanoseconds from `go`, [`NEVER`] until the role's last worker has ended.
    ended: Vec<AtomicU64>,
}

impl Ends {
    fn new(trial: &Trial) -> Self {
        let workers = |role: &Role| role.workers as usize * trial.databases.len();
        Self {
            working: trial.roles.iter().map(|r| AtomicUsize::new(workers(r))).collect(),
            ended: trial.roles.iter().map(|r| AtomicU64::new(if workers(r) == 0 { 0 } else { NEVER })).collect(),
        }
    }

    fn of<'a>(&'a self, trial: &Trial, role: &Role) -> End<'a> {
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

/// What the workers of a trial have in common.
pub struct Stage<'a> {
    trial: &'a Trial,
    retry: Retrying,
    schedules: Vec<Option<Schedule>>,
    board: Board,
    /// Of all workers in the order in which they are made, and who they are.
    desks: Vec<(Id, Desk)>,
    ends: Ends,
    write_lock: Mutex<()>,
}

impl<'a> Stage<'a> {
    /// Fails on a retry or a rate that is none.
    pub fn new(trial: &'a Trial) -> Result<Self, Fault> {
        let schedules =
            trial.roles.iter().map(|role| Schedule::new(trial.seed, role)).collect::<Result<Vec<_>, _>>()?;
        let retry = Retrying::new(&trial.retry)?;
        let mut desks = Vec::new();
        let mut counters = 0;
        for database in 0..trial.databases.len() {
            for (r, role) in trial.roles.iter().enumerate() {
                for w in 0..role.workers {
                    let place = u64::from(role.first_in_role + w);
                    let id = Id { database, role: r, place, index: role.first_worker + w, counters };
                    counters += role.steps.len();
                    let record = |step: &Step| {
                        let spec = &trial.transactions[step.transaction as usize];
                        Record::new(spec, shares(trial.access, spec), schedules[r].is_some())
                    };
                    desks.push((id, Desk::new(role.steps.iter().map(record).collect())));
                }
            }
        }
        let board = Board::new(trial);
        Ok(Self { trial, retry, schedules, board, desks, ends: Ends::new(trial), write_lock: Mutex::new(()) })
    }

    /// What is run.
    pub fn trial(&self) -> &'a Trial {
        self.trial
    }

    /// How many workers there are.
    pub fn count(&self) -> usize {
        self.desks.len()
    }

    /// The counts that ticks tell.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Where a probe in the runtime tells how it fares.
    pub fn beat(&self) -> &Beat {
        self.board.beat()
    }

    /// For each database its connections' handles, one for each worker as [`Stage::workers`] asks for them.
    pub fn handles<'s, S>(
        &'s self,
        shared: &'s [Shared<S>],
        own: Vec<Vec<S>>,
    ) -> impl FnMut(usize) -> Handle<'s, S> + use<'s, S> {
        let mut own: Vec<_> = own.into_iter().map(Vec::into_iter).collect();
        move |database| match (own[database].next(), self.trial.access) {
            (Some(session), Access::WriteLock) => Handle::WriteLock(session, &self.write_lock),
            (Some(session), _) => Handle::Own(session),
            (None, _) => Handle::Shared(&shared[database]),
        }
    }

    /// In the order of [`Board::new`]; `handle` gives a worker of this database its way to a connection.
    pub fn workers<'s, H>(&'s self, mut handle: impl FnMut(usize) -> H) -> Result<Vec<Worker<'s, H>>, Fault> {
        let worker = |(id, desk): &'s (Id, Desk)| self.worker(*id, desk, handle(id.database));
        self.desks.iter().map(worker).collect()
    }

    fn worker<'s, H>(&'s self, id: Id, desk: &'s Desk, handle: H) -> Result<Worker<'s, H>, Fault> {
        let trial = self.trial;
        let role = &trial.roles[id.role];
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut place = |name: &str| {
            let next = names.len();
            *names.entry(name.into()).or_insert(next)
        };
        let schedule = self.schedules[id.role].as_ref();
        let mut steps = Vec::new();
        for (at, step) in role.steps.iter().enumerate() {
            let index = step.transaction as usize;
            let spec = &trial.transactions[index];
            steps.push(Task {
                step,
                plan: Plan::new(index, spec, &mut place),
                params: Params::new(trial.seed, spec, id.index, &mut place)?,
                counters: &self.board.counters[id.counters + at],
                times: 0,
            });
        }
        Ok(Worker {
            id,
            role,
            handle,
            steps,
            memory: Memory::new(names.len()),
            retry: &self.retry,
            schedule,
            window: self.window(role),
            desk,
            choice: Stream::new(trial.seed, &format!("{}.step", role.name)),
        })
    }

    fn window(&self, role: &Role) -> Window<'_> {
        Window { warm: nanos(self.trial.warmup_ms), end: self.ends.of(self.trial, role) }
    }

    /// A worker of this role has ended.
    pub fn leave(&self, role: usize, clock: Clock) {
        self.ends.leave(role, clock);
    }

    /// When the drain of this role has passed, [`NEVER`] where that is not known yet, or it has none.
    fn drained(&self, role: &Role) -> u64 {
        self.window(role).end.known().saturating_add(nanos(self.trial.drain_ms))
    }

    /// When the next drain passes of a role whose workers have not all ended.
    pub fn next_drained(&self) -> u64 {
        let roles = self.trial.roles.iter().zip(&self.ends.working);
        let working = roles.filter(|(_, working)| working.load(Ordering::Acquire) > 0);
        working.map(|(role, _)| self.drained(role)).min().unwrap_or(NEVER)
    }

    /// Does not wait any longer for workers whose drain has passed. Returns how many there were.
    pub fn abandon(&self, clock: Clock) -> usize {
        let now = clock.now();
        let mut abandoned = 0;
        for (id, desk) in &self.desks {
            let role = &self.trial.roles[id.role];
            if now >= self.drained(role) && desk.abandon(now, self.window(role)) {
                abandoned += 1;
                self.leave(id.role, clock);
            }
        }
        abandoned
    }

    /// What all workers did, in the order in which they were made.
    pub fn result(&self, probe: Option<Probe>) -> TrialResult {
        let trial = self.trial;
        let mut operations = self.board.operations(trial);
        let mut workers = Vec::new();
        let mut elapsed_ns = 0;
        for (id, desk) in &self.desks {
            let role = &trial.roles[id.role];
            let counters = &self.board.counters[id.counters..][..role.steps.len()];
            let mut worker = WorkerResult {
                role: role.name.clone(),
                worker: id.index,
                database: id.database as u32,
                committed: counters.iter().map(|c| c.committed.load(Ordering::Relaxed)).sum(),
                ..WorkerResult::default()
            };
            let place = |step| self.board.operation(id.counters + step);
            elapsed_ns = desk.enter(&mut worker, &mut operations, place).max(elapsed_ns);
            workers.push(worker);
        }
        for (r, schedule) in self.schedules.iter().enumerate() {
            // Arrivals are the role's, not yet those of one of its steps: they count for its first.
            let (Some(schedule), Some(first)) = (schedule, self.board.first_of(r)) else { continue };
            let end = self.ends.of(trial, &trial.roles[r]).known();
            if end != NEVER {
                operations[first].unserved += schedule.unserved(end);
            }
        }
        let measured_ns = elapsed_ns.saturating_sub(nanos(trial.warmup_ms));
        TrialResult { elapsed_ns, measured_ns, operations, workers, probe, ..TrialResult::default() }
    }
}

fn nanos(milliseconds: u64) -> u64 {
    milliseconds.saturating_mul(1_000_000)
}

/// Whether a transaction may have to wait for a connection or a lock.
fn shares(access: Access, transaction: &Transaction) -> bool {
    match access {
        Access::PerWorker => false,
        Access::WriteLock => transaction.writes,
        _ => true,
    }
}
