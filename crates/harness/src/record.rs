//! Counts of workers. Each worker has its own records, which are added up after the trial. The few counts that `tick`
//! reports are atomic, written by one thread and read by another.

use std::sync::atomic::{AtomicU64, Ordering};

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{ErrorCount, Step, Tick, TickCount, Transaction, TransactionResult, Trial, codes};

use crate::session::{Ending, Execution};
use crate::transaction::first_fetch;

/// Counts of one step of one worker, on separate cache lines (two, for processors that fetch them in pairs).
#[derive(Default)]
#[repr(align(128))]
pub struct Counters {
    pub committed: AtomicU64,
    pub empty: AtomicU64,
    pub failed: AtomicU64,
    pub errors: AtomicU64,
    pub busy: AtomicU64,
}

/// Adds without a locked instruction, because only one thread writes.
#[inline]
pub fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

/// Delay of the probe in a runtime. The monitor outside of the runtime reads it even while the runtime is blocked.
#[derive(Default)]
pub struct ProbeLag {
    /// Next due time of its timer, in nanoseconds from `go`; 0 before the probe has begun.
    due: AtomicU64,
    /// Longest delay since [`ProbeLag::take`], in nanoseconds.
    longest: AtomicU64,
}

impl ProbeLag {
    /// Notes that the timer ran `late` nanoseconds late and is due next at `due`.
    pub fn note(&self, late: u64, due: u64) {
        self.longest.fetch_max(late, Ordering::Relaxed);
        self.due.store(due, Ordering::Relaxed);
    }

    /// Longest delay since the last call, or the time for which the timer is overdue at `now`, whichever is longer.
    /// `first` is its first due time.
    pub fn take(&self, now: u64, first: u64) -> u64 {
        let due = match self.due.load(Ordering::Relaxed) {
            0 => first,
            due => due,
        };
        self.longest.swap(0, Ordering::Relaxed).max(now.saturating_sub(due))
    }
}

/// Histograms and counts of one step of one worker. Their size does not depend on the number of operations.
pub struct Record {
    pub ended: u64,
    pub measured: u64,
    pub rows: u64,
    pub verified: u64,
    pub mismatches: u64,
    /// Errors by extended code; a list, because it has few entries.
    pub errors: Vec<(i32, ErrorCount)>,
    pub service: Histogram,
    pub wait: Option<Histogram>,
    pub response: Option<Histogram>,
    pub lag: Option<Histogram>,
    pub query: Option<Histogram>,
    pub first_row: Option<Histogram>,
}

impl Record {
    /// An empty record. `shares` is true if a transaction may wait for a connection or lock, `open` if arrivals are
    /// scheduled.
    pub fn new(transaction: &Transaction, shares: bool, open: bool) -> Self {
        let fetches = first_fetch(transaction).is_some();
        let only = |wanted: bool| wanted.then(Histogram::new);
        Self {
            ended: 0,
            measured: 0,
            rows: 0,
            verified: 0,
            mismatches: 0,
            errors: Vec::new(),
            service: Histogram::new(),
            wait: only(shares),
            response: only(open),
            lag: only(open),
            query: only(fetches),
            first_row: only(fetches),
        }
    }

    /// Counts an error and keeps the first message of each code.
    pub fn met(&mut self, code: i32, message: &str) {
        let at = self.errors.iter().position(|(known, _)| *known == code).unwrap_or_else(|| {
            let message = Some(message.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|m| !m.is_empty());
            self.errors.push((code, ErrorCount { message, ..ErrorCount::default() }));
            self.errors.len() - 1
        });
        self.errors[at].1.seen += 1;
    }

    /// Counts errors that retries have cured.
    #[cold]
    pub fn cured(&mut self, errors: &[(i32, String)]) {
        for (code, _) in errors {
            let known = self.errors.iter_mut().find(|(known, _)| known == code);
            known.into_iter().for_each(|(_, count)| count.cured += 1);
        }
    }

    /// Records a transaction that began at `start`, after the warm-up, if it has committed.
    #[inline(always)]
    pub fn measure(&mut self, execution: &Execution, start: u64, due: Option<u64>) {
        if execution.ending != Ending::Committed {
            return;
        }
        self.measured += 1;
        self.rows += execution.rows;
        let since = |from: u64| move |at: u64| at.saturating_sub(from);
        self.service.record(since(start)(execution.end));
        note(&mut self.wait, execution.acquired.map(since(start)));
        note(&mut self.response, due.map(|due| execution.end.saturating_sub(due)));
        note(&mut self.lag, due.map(|due| start.saturating_sub(due)));
        note(&mut self.query, execution.query.map(since(start)));
        note(&mut self.first_row, execution.first_row.map(since(start)));
    }

    /// Adds this record to an operation.
    pub fn merge_into(&self, whole: &mut TransactionResult) {
        whole.ended += self.ended;
        whole.measured += self.measured;
        whole.rows += self.rows;
        for (name, count) in [("verified", self.verified), ("mismatches", self.mismatches)] {
            if count > 0 {
                *whole.counters.entry(name.into()).or_default() += count;
            }
        }
        for (code, count) in &self.errors {
            whole.errors.entry(codes::name(*code).into()).or_default().add(count.clone());
        }
        whole.service.merge(&self.service);
        let timers = [
            ("wait", &self.wait),
            ("response", &self.response),
            ("lag", &self.lag),
            ("query", &self.query),
            ("first_row", &self.first_row),
        ];
        for (name, timer) in timers {
            if let Some(timer) = timer {
                whole.timers.entry(name.into()).or_default().merge(timer);
            }
        }
    }
}

/// Records a value if there are both a histogram and a value.
#[inline]
fn note(histogram: &mut Option<Histogram>, nanos: Option<u64>) {
    if let (Some(histogram), Some(nanos)) = (histogram, nanos) {
        histogram.record(nanos);
    }
}

/// The counters of all workers, and their operations.
pub struct CounterTable {
    /// Counters of each step of each worker.
    pub counters: Vec<Counters>,
    /// Delay of the probe in a runtime.
    pub probe_lag: ProbeLag,
    /// Index into `keys` for each of `counters`.
    places: Vec<usize>,
    /// Indices of role and transaction, each pair once.
    keys: Vec<(usize, usize)>,
}

impl CounterTable {
    /// A table in the order in which workers are created: by database, role, worker and step.
    pub fn new(trial: &Trial) -> Self {
        let mut keys = Vec::new();
        let mut place = |role: usize, step: &Step| {
            let key = (role, step.transaction as usize);
            keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            })
        };
        for (r, role) in trial.roles.iter().enumerate() {
            for step in &role.steps {
                place(r, step);
            }
        }
        let mut places = Vec::new();
        for _ in &trial.databases {
            for (r, role) in trial.roles.iter().enumerate() {
                places.extend((0..role.workers).flat_map(|_| &role.steps).map(|step| place(r, step)));
            }
        }
        let counters = places.iter().map(|_| Counters::default()).collect();
        Self { counters, probe_lag: ProbeLag::default(), places, keys }
    }

    /// One operation for each role and transaction, with its counts so far and no durations.
    pub fn operations(&self, trial: &Trial) -> Vec<TransactionResult> {
        let sums = self.sums(trial);
        let operation = |(sum, &(role, transaction)): (TickCount, &(usize, usize))| {
            let mut operation = TransactionResult {
                role: trial.roles[role].name.clone(),
                transaction: sum.transaction,
                committed: sum.committed,
                empty: sum.empty,
                failed: sum.failed,
                ..TransactionResult::default()
            };
            Record::new(&trial.transactions[transaction], false, false).merge_into(&mut operation);
            operation
        };
        sums.into_iter().zip(&self.keys).map(operation).collect()
    }

    /// Index in [`CounterTable::operations`] of the operation of these counters.
    pub fn operation(&self, counters: usize) -> usize {
        self.places[counters]
    }

    /// Index in [`CounterTable::operations`] of a role's first step.
    pub fn first_of(&self, role: usize) -> Option<usize> {
        self.keys.iter().position(|(r, _)| *r == role)
    }

    fn sums(&self, trial: &Trial) -> Vec<TickCount> {
        let named = |&(role, transaction): &(usize, usize)| TickCount {
            role: trial.roles[role].name.clone(),
            transaction: trial.transactions[transaction].name.clone(),
            ..TickCount::default()
        };
        let mut sums: Vec<TickCount> = self.keys.iter().map(named).collect();
        for (counters, &place) in self.counters.iter().zip(&self.places) {
            let sum = &mut sums[place];
            sum.committed += counters.committed.load(Ordering::Relaxed);
            sum.empty += counters.empty.load(Ordering::Relaxed);
            sum.failed += counters.failed.load(Ordering::Relaxed);
            sum.errors += counters.errors.load(Ordering::Relaxed);
            sum.busy += counters.busy.load(Ordering::Relaxed);
        }
        sums
    }

    /// Returns the counts since `last` and the delay of the probe, and sets `last` to the present counts.
    pub fn tick(&self, trial: &Trial, t_ms: u64, lag_ns: Option<u64>, last: &mut Vec<TickCount>) -> Tick {
        let now = self.sums(trial);
        last.resize_with(now.len(), TickCount::default);
        let since = |(now, last): (&TickCount, &TickCount)| TickCount {
            committed: now.committed - last.committed,
            empty: now.empty - last.empty,
            failed: now.failed - last.failed,
            errors: now.errors - last.errors,
            busy: now.busy - last.busy,
            ..now.clone()
        };
        let did = |count: &TickCount| count.committed + count.empty + count.failed + count.errors > 0;
        let counts = now.iter().zip(last.iter()).map(since).filter(did).collect();
        *last = now;
        Tick { t_ms, counts, lag_ns }
    }
}
