//! Plays a script in virtual time: workers, arrivals and service times are numbers; nothing sleeps or opens a file.
//!
//! A script contains service times. Workers do not wait for each other unless it sets `one_at_a_time`.

use std::collections::BTreeMap;

use litelab_protocol::generator::{Stream, below, unit};
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{
    Arrivals, Fetch, Load, Order, Role, Sharing, Tick, TickCount, TransactionResult, Trial, TrialResult, Unfinished,
    Until, WorkerResult, codes,
};

use crate::script::{Ending, Script};

const MS: u64 = 1_000_000;

/// Messages after `go`.
pub struct Played {
    /// Ticks, in order.
    pub ticks: Vec<Tick>,
    /// Content of the last line.
    pub result: TrialResult,
}

/// One execution, times in nanoseconds from `go`.
struct Event {
    worker: usize,
    start: u64,
    end: u64,
    operation: usize,
    committed: bool,
    /// Code of the error with which it failed.
    failed: Option<String>,
}

struct Worker {
    database: usize,
    role: usize,
    index: u32,
    /// Number of its next transaction in the role.
    number: u64,
    /// Step of its next transaction.
    at: usize,
    free_at: u64,
    ended: bool,
    result: WorkerResult,
}

/// Plays all roles to their ends.
pub fn play(trial: &Trial, script: &Script) -> Result<Played, String> {
    Stage::new(trial, script)?.play()
}

struct Stage<'a> {
    trial: &'a Trial,
    script: &'a Script,
    /// Results for each role and transaction.
    operations: Vec<TransactionResult>,
    keys: Vec<(usize, usize)>,
    lists: Vec<Vec<Ending>>,
    /// Number of entries played, by database and operation.
    played: BTreeMap<(usize, usize), usize>,
    /// Number of arrivals taken, and seconds until the last one, by database and role.
    arriving: BTreeMap<(usize, usize), (u64, f64)>,
    workers: Vec<Worker>,
    events: Vec<Event>,
    /// End of the server's last service under `one_at_a_time`.
    served: u64,
}

impl<'a> Stage<'a> {
    fn new(trial: &'a Trial, script: &'a Script) -> Result<Self, String> {
        let mut stage = Self {
            trial,
            script,
            operations: Vec::new(),
            keys: Vec::new(),
            lists: Vec::new(),
            played: BTreeMap::new(),
            arriving: BTreeMap::new(),
            workers: Vec::new(),
            events: Vec::new(),
            served: 0,
        };
        for (r, role) in trial.roles.iter().enumerate() {
            for step in &role.steps {
                let t = step.transaction as usize;
                let transaction = trial.transactions.get(t).ok_or("a step has no transaction")?;
                if !stage.keys.contains(&(r, t)) {
                    stage.keys.push((r, t));
                    stage.lists.push(script.list(&transaction.name));
                    stage.operations.push(operation(trial, r, t));
                }
            }
        }
        for database in 0..trial.databases.len() {
            for (r, role) in trial.roles.iter().enumerate() {
                for w in 0..role.workers {
                    let index = role.first_worker + w;
                    stage.workers.push(Worker {
                        database,
                        role: r,
                        index,
                        number: u64::from(role.first_in_role + w),
                        at: 0,
                        free_at: 0,
                        ended: false,
                        result: WorkerResult {
                            role: role.name.clone(),
                            worker: index,
                            database: database as u32,
                            ..WorkerResult::default()
                        },
                    });
                }
            }
        }
        Ok(stage)
    }

    fn play(mut self) -> Result<Played, String> {
        // The worker that is free first comes first, so that roles observe each other's ends in order of time.
        while let Some(w) = (0..self.workers.len())
            .filter(|&w| !self.workers[w].ended)
            .min_by_key(|&w| (self.workers[w].free_at, waits(self.trial, self.workers[w].role), self.workers[w].index))
        {
            self.step(w);
        }
        let warm = self.trial.warmup_ms * MS;
        let elapsed_ns = self.workers.iter().map(|w| w.free_at).max().unwrap_or_default();
        self.leave_unserved();
        self.count_windows();
        let ticks = self.ticks(elapsed_ns);
        let workers = self.workers.into_iter().map(|w| w.result);
        // No timer of the probe is late.
        let probe = (self.trial.probe_ms > 0).then(|| {
            let mut lateness = Histogram::new();
            (0..elapsed_ns / (self.trial.probe_ms * MS)).for_each(|_| lateness.record(0));
            ("probe".to_owned(), lateness)
        });
        let result = TrialResult {
            elapsed_ns,
            measured_ns: elapsed_ns.saturating_sub(warm),
            operations: self.operations,
            workers: workers.collect(),
            timers: probe.into_iter().collect(),
            ..TrialResult::default()
        };
        Ok(Played { ticks, result })
    }

    /// Simulates one transaction of a worker, or its end.
    fn step(&mut self, w: usize) {
        let (database, r, number) = (self.workers[w].database, self.workers[w].role, self.workers[w].number);
        let role = &self.trial.roles[r];
        let free_at = self.workers[w].free_at;
        let over = match &role.until {
            Until::Count { transactions } => number >= *transactions,
            Until::Time { ms } => free_at > ms * MS,
            Until::Role { name } => self.role_ended_by(name, database, free_at),
        };
        if over {
            self.workers[w].ended = true;
            return;
        }
        let due = match self.due(database, r) {
            None => None,
            Some(due) => {
                if let Until::Time { ms } = role.until
                    && due.max(free_at) > ms * MS
                {
                    self.workers[w].ended = true;
                    self.workers[w].free_at = free_at.max(ms * MS);
                    return;
                }
                self.take(database, r);
                Some(due)
            }
        };
        if role.order == Order::Weighted {
            let sum = role.steps.iter().map(|s| u64::from(s.weight)).sum();
            let drawn = below(Stream::new(self.trial.seed, &format!("{}.step", role.name)).word(number), sum);
            let mut cumulative = 0;
            self.workers[w].at = role
                .steps
                .iter()
                .position(|s| {
                    cumulative += u64::from(s.weight);
                    cumulative > drawn
                })
                .unwrap_or_default();
        }
        let at = self.workers[w].at;
        let key = (r, role.steps[at].transaction as usize);
        let o = self.keys.iter().position(|k| *k == key).unwrap_or_default();
        let next = self.played.entry((database, o)).or_default();
        let ending = self.lists[o][*next % self.lists[o].len()].clone();
        *next += 1;
        let start = due.map_or(free_at, |due| due.max(free_at));
        let mut ending = ending;
        if let Some(starved) = self.script.starved.iter().find(|starved| starved.worker == self.workers[w].index) {
            ending.ns = starved.ns;
        } else if self.script.one_at_a_time {
            self.served = self.served.max(start) + ending.ns;
            ending.ns = self.served - start;
        }
        if let Until::Time { ms } = role.until
            && start + ending.ns > (ms + self.trial.drain_ms) * MS
        {
            // The drain passes before it ends, and its worker starts no other.
            let at = (ms + self.trial.drain_ms) * MS;
            let response_ns = due.map(|due| at - due);
            self.operations[o].unfinished.push(Unfinished { service_ns: at - start, response_ns });
            self.events.push(Event { worker: w, start, end: u64::MAX, operation: o, committed: false, failed: None });
            (self.workers[w].ended, self.workers[w].free_at) = (true, at);
            return;
        }
        self.count(w, o, &ending, start, due);
        let think = match role.load {
            Load::Closed { think_us } => think_us * 1_000,
            Load::Open { .. } => 0,
        };
        let worker = &mut self.workers[w];
        worker.free_at = start + ending.ns + think;
        worker.number += u64::from(role.workers_in_role.max(1));
        worker.at = if at + 1 == role.steps.len() { 0 } else { at + 1 };
    }

    /// Counts one execution.
    fn count(&mut self, w: usize, o: usize, ending: &Ending, start: u64, due: Option<u64>) {
        let end = start + ending.ns;
        let warm = self.trial.warmup_ms * MS;
        let operation = &mut self.operations[o];
        let worker = &mut self.workers[w].result;
        let committed = ending.failed.is_none();
        if let Some(code) = &ending.failed {
            let count = operation.errors.entry(code.clone()).or_default();
            count.message.get_or_insert_with(|| "scripted".into());
            count.seen += 1;
        }
        operation.committed += u64::from(committed);
        operation.failed += u64::from(!committed);
        worker.committed += u64::from(committed);
        if committed && start >= warm {
            operation.measured += 1;
            operation.rows += 1;
            operation.service.record(ending.ns);
            for (name, timer) in &mut operation.timers {
                timer.record(match name.as_str() {
                    "response" => due.map_or(0, |due| end - due),
                    "lag" => due.map_or(0, |due| start - due),
                    "wait" => 0,
                    _ => ending.ns / 2,
                });
            }
        }
        self.events.push(Event { worker: w, start, end, operation: o, committed, failed: ending.failed.clone() });
    }

    /// Counts the parts of all executions that are in the windows of their roles.
    fn count_windows(&mut self) {
        let warm = self.trial.warmup_ms * MS;
        let last = |workers: &[Worker], role: &str| {
            let of_role = workers.iter().filter(|w| self.trial.roles[w.role].name == role);
            of_role.map(|w| w.free_at).max().unwrap_or_default()
        };
        let ends: Vec<u64> = self
            .trial
            .roles
            .iter()
            .map(|role| match &role.until {
                Until::Count { .. } => u64::MAX,
                Until::Time { ms } => ms * MS,
                Until::Role { name } => last(&self.workers, name),
            })
            .collect();
        let mut committed = vec![0; self.workers.len()];
        self.events.sort_by_key(|e| e.end);
        for event in &self.events {
            let worker = &mut self.workers[event.worker];
            let (end, result) = (ends[worker.role], &mut worker.result);
            result.inside_ns += event.end.min(worker.free_at).min(end).saturating_sub(event.start.max(warm));
            if event.committed {
                let ended = u64::from(event.end > warm && event.end <= end);
                self.operations[event.operation].ended += ended;
                result.ended += ended;
                result.stall_ns = result.stall_ns.max(event.end - committed[event.worker]);
                committed[event.worker] = event.end;
            }
        }
        for (worker, committed) in self.workers.iter_mut().zip(committed) {
            let window = worker.free_at.min(ends[worker.role]).saturating_sub(warm);
            worker.result.outside_ns = window.saturating_sub(worker.result.inside_ns);
            worker.result.stall_ns = worker.result.stall_ns.max(worker.free_at.saturating_sub(committed));
        }
    }

    fn role_ended_by(&self, name: &str, database: usize, now: u64) -> bool {
        let mut others =
            self.workers.iter().filter(|w| w.database == database && self.trial.roles[w.role].name == *name);
        others.all(|w| w.ended && w.free_at <= now)
    }

    /// Due time of the next arrival under an open load.
    fn due(&self, database: usize, role: usize) -> Option<u64> {
        let Load::Open { rate, arrivals } = self.trial.roles[role].load else { return None };
        let (taken, seconds) = self.arriving.get(&(database, role)).copied().unwrap_or_default();
        let Role { name, first_in_role, workers, workers_in_role, .. } = &self.trial.roles[role];
        let stream = Stream::new(self.trial.seed, &format!("{name}.arrivals.{first_in_role}"));
        let phase = f64::from(first_in_role + workers) / f64::from(*workers_in_role);
        let at = match arrivals {
            Arrivals::Constant => (taken as f64 + phase) / rate,
            Arrivals::Poisson => seconds - (1.0 - unit(stream.word(taken))).ln() / rate,
        };
        Some((at * 1e9) as u64)
    }

    fn take(&mut self, database: usize, role: usize) {
        let Some(due) = self.due(database, role) else { return };
        let (taken, seconds) = self.arriving.entry((database, role)).or_default();
        (*taken, *seconds) = (*taken + 1, due as f64 / 1e9);
    }

    /// Counts the arrivals that were due before the end of a role and not started.
    fn leave_unserved(&mut self) {
        for database in 0..self.trial.databases.len() {
            for (r, role) in self.trial.roles.iter().enumerate() {
                let Until::Time { ms } = role.until else { continue };
                let Some(first) = self.keys.iter().position(|(of, _)| *of == r) else { continue };
                while self.due(database, r).is_some_and(|due| due <= ms * MS) {
                    self.take(database, r);
                    self.operations[first].unserved += 1;
                }
            }
        }
    }

    /// The ticks of all executions, which are sorted by their ends.
    fn ticks(&self, elapsed_ns: u64) -> Vec<Tick> {
        let every = self.trial.tick_ms.max(1);
        let mut ticks = Vec::new();
        let mut events = self.events.iter().peekable();
        let mut t_ms = 0;
        while t_ms * MS < elapsed_ns {
            t_ms = (t_ms + every).min(elapsed_ns.div_ceil(MS));
            let mut counts: BTreeMap<usize, TickCount> = BTreeMap::new();
            while let Some(event) = events.next_if(|e| e.end <= t_ms * MS) {
                let operation = &self.operations[event.operation];
                let count = counts.entry(event.operation).or_insert_with(|| TickCount {
                    role: operation.role.clone(),
                    transaction: operation.transaction.clone(),
                    ..TickCount::default()
                });
                count.committed += u64::from(event.committed);
                if let Some(code) = &event.failed {
                    count.failed += 1;
                    count.errors += 1;
                    count.busy += u64::from(codes::stands_for("SQLITE_BUSY", code));
                }
            }
            let lag_ns = (self.trial.probe_ms > 0).then_some(0);
            ticks.push(Tick { t_ms, counts: counts.into_values().collect(), lag_ns });
        }
        ticks
    }
}

/// Whether a role waits for another; among simultaneous events such a role comes last.
fn waits(trial: &Trial, role: usize) -> bool {
    matches!(trial.roles[role].until, Until::Role { .. })
}

fn operation(trial: &Trial, role: usize, transaction: usize) -> TransactionResult {
    let spec = &trial.transactions[transaction];
    let open = matches!(trial.roles[role].load, Load::Open { .. });
    let fetches = spec.timed_rows && spec.statements.iter().any(|s| matches!(s.fetch, Fetch::All | Fetch::Buffer));
    let shares = trial.sharing != Sharing::OwnConnection;
    let timers = [("wait", shares), ("response", open), ("lag", open), ("query", fetches), ("first_row", fetches)];
    TransactionResult {
        role: trial.roles[role].name.clone(),
        transaction: spec.name.clone(),
        timers: timers
            .into_iter()
            .filter(|(_, wanted)| *wanted)
            .map(|(name, _)| (name.into(), Histogram::new()))
            .collect(),
        ..TransactionResult::default()
    }
}

#[cfg(test)]
#[path = "simulate_tests.rs"]
mod tests;
