//! What the workers of a trial have in common, whatever runs them, and the result when they are done.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use litelab_protocol::generator::Stream;
use litelab_protocol::{Access, Probe, Role, Trial, TrialResult, Until, WorkerResult};

use crate::access::{Handle, Shared};
use crate::clock::{Clock, End, NEVER};
use crate::fault::Fault;
use crate::params::Params;
use crate::record::{Beat, Board, Record};
use crate::schedule::Schedule;
use crate::transaction::{Memory, Plan, Retrying};
use crate::worker::{Done, Id, Task, Worker};

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
            Until::Time { ms } => End { time: ms.saturating_mul(1_000_000), role: None },
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
    ends: Ends,
    write_lock: Mutex<()>,
}

impl<'a> Stage<'a> {
    /// Fails on a retry or a rate that is none.
    pub fn new(trial: &'a Trial, board: Board) -> Result<Self, Fault> {
        let schedules = trial.roles.iter().map(|role| Schedule::new(trial.seed, role)).collect::<Result<_, _>>()?;
        let retry = Retrying::new(&trial.retry)?;
        Ok(Self { trial, retry, schedules, board, ends: Ends::new(trial), write_lock: Mutex::new(()) })
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
        let mut workers = Vec::new();
        let mut counters = 0;
        for database in 0..self.trial.databases.len() {
            for (r, role) in self.trial.roles.iter().enumerate() {
                for w in 0..role.workers {
                    let place = u64::from(role.first_in_role + w);
                    let id = Id { database, role: r, place, index: role.first_worker + w, counters };
                    counters += role.steps.len();
                    workers.push(self.worker(id, role, handle(database))?);
                }
            }
        }
        Ok(workers)
    }

    fn worker<'s, H>(&'s self, id: Id, role: &'s Role, handle: H) -> Result<Worker<'s, H>, Fault> {
        let trial = self.trial;
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
            let shares = match trial.access {
                Access::PerWorker => false,
                Access::WriteLock => spec.writes,
                _ => true,
            };
            steps.push(Task {
                step,
                plan: Plan::new(index, spec, &mut place),
                params: Params::new(trial.seed, spec, id.index, &mut place)?,
                record: Record::new(spec, shares, schedule.is_some()),
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
            end: self.ends.of(trial, role),
            warm: trial.warmup_ms.saturating_mul(1_000_000),
            choice: Stream::new(trial.seed, &format!("{}.step", role.name)),
        })
    }

    /// A worker of this role has ended.
    pub fn leave(&self, role: usize, clock: Clock) {
        self.ends.leave(role, clock);
    }

    /// What all workers did, in the order in which they were made.
    pub fn result<H>(&self, done: &[Done<H>], probe: Option<Probe>) -> TrialResult {
        let trial = self.trial;
        let elapsed_ns = done.iter().map(|d| d.time.ended).max().unwrap_or_default();
        let mut operations = self.board.operations(trial);
        let mut workers = Vec::new();
        for worker in done {
            let id = worker.id;
            let mut committed = 0;
            for (at, record) in worker.records.iter().enumerate() {
                record.merge_into(&mut operations[self.board.operation(id.counters + at)]);
                committed += self.board.counters[id.counters + at].committed.load(Ordering::Relaxed);
            }
            workers.push(WorkerResult {
                role: trial.roles[id.role].name.clone(),
                worker: id.index,
                database: id.database as u32,
                committed,
                inside_ns: worker.time.inside,
                outside_ns: worker.time.outside,
                stall_ns: Some(worker.time.stall),
            });
        }
        for (r, schedule) in self.schedules.iter().enumerate() {
            // Arrivals are the role's, not yet those of one of its steps: they count for its first.
            let (Some(schedule), Some(first)) = (schedule, self.board.first_of(r)) else { continue };
            let end = self.ends.of(trial, &trial.roles[r]).known();
            if end != NEVER {
                operations[first].unserved += schedule.unserved(end);
            }
        }
        let measured_ns = elapsed_ns.saturating_sub(trial.warmup_ms.saturating_mul(1_000_000));
        TrialResult { elapsed_ns, measured_ns, operations, workers, probe, breakdown: Vec::new() }
    }
}
