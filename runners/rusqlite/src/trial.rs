//! The verb `run`: open everything, say `ready`, wait for `go`, let the workers work, say `result`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, OnceLock, mpsc};
use std::thread;

use litelab_protocol::generator::Stream;
use litelab_protocol::{Access, Database, Line, Probe, Ready, Role, Trial, TrialResult, Until, WorkerResult};

use crate::access::{self, Handle, Opened, Shared};
use crate::clock::{Clock, End, NEVER, Rate, Tuning};
use crate::driver::{Fault, Session};
use crate::params::Params;
use crate::record::{Board, Record};
use crate::schedule::Schedule;
use crate::transaction::{Memory, Plan, Retrying};
use crate::watch::Watch;
use crate::worker::{Done, Id, Task, Worker};
use crate::{NOOP, RUSQLITE, check, say};

/// Runs the trial on the first line. Input that ends before `go` is no error: nothing is run.
pub fn run(input: &mut impl BufRead) -> Result<(), Fault> {
    let Some(line) = next_line(input)? else { return Ok(()) };
    let trial: Trial = serde_json::from_str(&line).map_err(|e| Fault::Other(format!("not a trial: {e}")))?;
    check::check(&trial)?;
    match trial.driver.as_str() {
        RUSQLITE => with::<crate::statement::Rusqlite>(&trial, input),
        NOOP => with::<crate::noop::Noop>(&trial, input),
        other => Err(Fault::Other(format!("driver `{other}` is none of {RUSQLITE}, {NOOP}"))),
    }
}

fn with<S: Session>(trial: &Trial, input: &mut impl BufRead) -> Result<(), Fault> {
    let board = Board::new(trial)?;
    let watch = Watch::begin(trial, &board)?;
    let tuning = Tuning::begin();
    let retry = Retrying::new(&trial.retry)?;
    let schedules: Vec<Option<Schedule>> =
        trial.roles.iter().map(|role| Schedule::new(trial.seed, role)).collect::<Result<_, _>>()?;
    let mut ready = Ready::default();
    let mut shared: Vec<Shared<S>> = Vec::new();
    let mut own = Vec::new();
    for database in 0..trial.databases.len() {
        let opened: Opened<S> = access::open(trial, database)?;
        ready.connections.extend(opened.settings);
        shared.push(opened.shared);
        own.push(opened.own);
    }
    let stage = Stage { trial, retry, schedules, board, ends: Ends::new(trial), write_lock: Mutex::new(()) };
    let workers = stage.workers(&shared, own)?;
    let rate = tuning.finish();
    say(&Line::Ready(ready))?;
    if !wait_for_go(input)? {
        return Ok(());
    }
    let (done, probe) = stage.run(workers, rate, watch)?;
    let result = stage.result(&done, probe);
    close(trial, shared, done)?;
    say(&Line::Result(Box::new(result)))
}

/// Runs `teardown` on the first connection of each database, and closes them all.
fn close<S: Session>(trial: &Trial, shared: Vec<Shared<S>>, done: Vec<Done<S>>) -> Result<(), Fault> {
    let mut sessions: Vec<Vec<S>> = shared.into_iter().map(Shared::into_sessions).collect();
    for worker in done {
        sessions[worker.id.database].extend(worker.session);
    }
    for (database, sessions) in trial.databases.iter().zip(&mut sessions) {
        if let (Database::Memory { teardown, .. }, Some(first)) = (database, sessions.first_mut()) {
            first.script(teardown)?;
        }
    }
    Ok(())
}

fn next_line(input: &mut impl BufRead) -> Result<Option<String>, Fault> {
    let mut line = String::new();
    let read = input.read_line(&mut line).map_err(Fault::other)?;
    Ok((read > 0).then_some(line))
}

fn wait_for_go(input: &mut impl BufRead) -> Result<bool, Fault> {
    let Some(line) = next_line(input)? else { return Ok(false) };
    let message: serde_json::Value = serde_json::from_str(&line).map_err(Fault::other)?;
    if message["type"] == "go" { Ok(true) } else { Err(Fault::Other(format!("`{}` is not go", line.trim()))) }
}

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
struct Stage<'a> {
    trial: &'a Trial,
    retry: Retrying,
    schedules: Vec<Option<Schedule>>,
    board: Board,
    ends: Ends,
    write_lock: Mutex<()>,
}

impl Stage<'_> {
    /// In the order of [`Board::new`].
    fn workers<'s, S>(&'s self, shared: &'s [Shared<S>], own: Vec<Vec<S>>) -> Result<Vec<Worker<'s, S>>, Fault> {
        let mut workers = Vec::new();
        let mut counters = 0;
        for (database, own) in own.into_iter().enumerate() {
            let mut own = own.into_iter();
            for (r, role) in self.trial.roles.iter().enumerate() {
                for w in 0..role.workers {
                    let handle = match (own.next(), self.trial.access) {
                        (Some(session), Access::WriteLock) => Handle::WriteLock(session, &self.write_lock),
                        (Some(session), _) => Handle::Own(session),
                        (None, _) => Handle::Shared(&shared[database]),
                    };
                    let place = u64::from(role.first_in_role + w);
                    let id = Id { database, role: r, place, index: role.first_worker + w, counters };
                    counters += role.steps.len();
                    workers.push(self.worker(id, role, handle)?);
                }
            }
        }
        Ok(workers)
    }

    fn worker<'s, S>(&'s self, id: Id, role: &'s Role, handle: Handle<'s, S>) -> Result<Worker<'s, S>, Fault> {
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

    /// Starts all workers together, and waits until the last has ended. The only worker of a process works in its only
    /// thread.
    fn run<S: Session>(
        &self,
        workers: Vec<Worker<'_, S>>,
        rate: Option<Rate>,
        watch: Watch,
    ) -> Result<(Vec<Done<S>>, Option<Probe>), Fault> {
        let mut done = match <[Worker<'_, S>; 1]>::try_from(workers) {
            Ok([worker]) => {
                let clock = Clock::start(rate);
                watch.start(clock)?;
                vec![self.work(worker, clock)?]
            }
            Err(workers) => self.together(workers, rate, &watch)?,
        };
        done.sort_by_key(|done: &Done<S>| done.id.counters);
        Ok((done, watch.finish()?))
    }

    /// Each in a thread of its own. A trial that cannot go on ends the process here: workers may hang on what the faulty
    /// one still holds, and there is no result to wait for.
    fn together<S: Session>(
        &self,
        workers: Vec<Worker<'_, S>>,
        rate: Option<Rate>,
        watch: &Watch,
    ) -> Result<Vec<Done<S>>, Fault> {
        let barrier = Barrier::new(workers.len() + 1);
        let go = OnceLock::new();
        let start = || {
            barrier.wait();
            *go.get_or_init(|| Clock::start(rate))
        };
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for worker in workers {
                let (send, start) = (send.clone(), &start);
                thread::Builder::new()
                    .spawn_scoped(scope, move || {
                        // The receiver is gone only when the process is about to end.
                        let _sent = send.send(self.work(worker, start()));
                    })
                    .unwrap_or_else(|error| give_up(watch, Fault::Other(format!("a thread for a worker: {error}"))));
            }
            drop(send);
            watch.start(start()).unwrap_or_else(|fault| give_up(watch, fault));
            Ok(receive.iter().map(|ended| ended.unwrap_or_else(|fault| give_up(watch, fault))).collect())
        })
    }

    /// One worker from `go` to its end; a panic is a fault.
    fn work<S: Session>(&self, worker: Worker<'_, S>, clock: Clock) -> Result<Done<S>, Fault> {
        let role = worker.id.role;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let ended = worker.run(clock);
            self.ends.leave(role, clock);
            ended
        }));
        ended.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    fn result<S>(&self, done: &[Done<S>], probe: Option<Probe>) -> TrialResult {
        let trial = self.trial;
        let elapsed_ns = done.iter().map(|d| d.ended).max().unwrap_or_default();
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
                inside_ns: worker.inside,
                outside_ns: worker.outside,
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
        TrialResult { elapsed_ns, measured_ns, operations, workers, probe }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fault::Other(format!("panic: {}", text.unwrap_or("without a message")))
}

fn give_up(watch: &Watch, fault: Fault) -> ! {
    watch.leave();
    // Nobody is left to tell where even this cannot be written.
    let _told = say(&Line::Failed(fault.into_failed()));
    std::process::exit(1)
}
