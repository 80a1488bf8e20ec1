//! Counts and times of one worker. They are read after the trial even if the worker hangs in a call. Therefore they are
//! stored outside of the worker, under a lock that the worker holds to count a transaction, but not to execute one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use litelab_protocol::{TransactionResult, Unfinished, WorkerResult};

use crate::clock::{End, NEVER};
use crate::record::{Counters, Record, add};
use crate::session::{Ending, Execution};

/// Primary result code.
const SQLITE_BUSY: i32 = 5;

/// Window of a role: from the end of the warm-up to the end of the role.
#[derive(Clone, Copy)]
pub struct Window {
    /// Nanoseconds from `go` to the end of the warm-up.
    pub warm: u64,
    /// End of the role.
    pub end: End,
}

impl Window {
    /// Whether an event at `at` is in the window.
    #[inline]
    fn has(self, at: u64) -> bool {
        at > self.warm && at <= self.end.known()
    }

    /// Nanoseconds of a span that are in the window.
    #[inline]
    fn part(self, from: u64, to: u64) -> u64 {
        to.min(self.end.known()).saturating_sub(from.max(self.warm))
    }
}

/// Counts and times of one worker.
pub struct Tally {
    /// Begin of the current transaction in nanoseconds from `go`; [`NEVER`] between transactions.
    began: AtomicU64,
    /// Due time of the current transaction, or of the arrival that the worker has taken; [`NEVER`] under a closed load.
    due: AtomicU64,
    /// Step of the current transaction.
    step: AtomicUsize,
    totals: Mutex<Totals>,
}

/// Counts and times of finished transactions.
pub struct Totals {
    /// One record for each step.
    pub records: Vec<Record>,
    time: Time,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Working,
    Ended,
    /// The drain has passed; no further transaction is counted.
    Abandoned {
        /// Nanoseconds from `go`.
        at: u64,
    },
}

/// Times of a worker, in nanoseconds.
#[derive(Default)]
struct Time {
    /// End of the worker, from `go`.
    ended: u64,
    /// Time of the window inside transactions and between them.
    inside: u64,
    outside: u64,
    /// Longest time without a commit.
    stall: u64,
    /// Last commit, from `go`.
    committed: u64,
}

impl Time {
    /// Adds a transaction that began at `start`.
    #[inline]
    fn pass(&mut self, execution: &Execution, start: u64, window: Window) {
        self.inside += window.part(start, execution.end);
        if execution.ending == Ending::Committed {
            self.stall = self.stall.max(execution.end.saturating_sub(self.committed));
            self.committed = execution.end;
        }
    }

    /// Ends the times at the end of the worker.
    fn end(&mut self, now: u64, window: Window) {
        self.ended = now;
        self.outside = window.part(0, now).saturating_sub(self.inside);
        self.stall = self.stall.max(now.saturating_sub(self.committed));
    }
}

impl Tally {
    /// A tally with an empty record for each step.
    pub fn new(records: Vec<Record>) -> Self {
        Self {
            began: AtomicU64::new(NEVER),
            due: AtomicU64::new(NEVER),
            step: AtomicUsize::new(0),
            totals: Mutex::new(Totals { records, time: Time::default(), state: State::Working }),
        }
    }

    #[inline(always)]
    fn totals(&self) -> MutexGuard<'_, Totals> {
        // Only a panic poisons the lock, and a panic ends the trial.
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an arrival that the worker has taken and not begun; [`NEVER`] for none.
    #[inline]
    pub fn take(&self, due: u64) {
        self.due.store(due, Ordering::Relaxed);
    }

    /// Notes the begin of a transaction of this step.
    #[inline]
    pub fn begin(&self, step: usize, start: u64, due: Option<u64>) {
        self.step.store(step, Ordering::Relaxed);
        self.due.store(due.unwrap_or(NEVER), Ordering::Relaxed);
        self.began.store(start, Ordering::Release);
    }

    /// Counts the end of the transaction. Returns the totals, so that the caller updates its record, or `None` if the
    /// worker was abandoned and must stop.
    #[inline(always)]
    pub fn finish(
        &self,
        step: usize,
        start: u64,
        execution: &Execution,
        window: Window,
    ) -> Option<MutexGuard<'_, Totals>> {
        let mut totals = self.totals();
        if totals.state != State::Working {
            return None;
        }
        self.began.store(NEVER, Ordering::Release);
        totals.records[step].ended += u64::from(execution.ending == Ending::Committed && window.has(execution.end));
        totals.time.pass(execution, start, window);
        Some(totals)
    }

    /// Counts an error of SQLite's in the transaction of this step when it occurs: the transaction may never end.
    #[cold]
    pub fn met(&self, step: usize, counters: &[Counters], code: i32, message: &str) {
        let mut totals = self.totals();
        if totals.state == State::Working {
            add(&counters[step].errors, 1);
            add(&counters[step].busy, u64::from(code & 0xFF == SQLITE_BUSY));
            totals.records[step].met(code, message);
        }
    }

    /// Ends the worker. Returns `false` if it was abandoned.
    pub fn end(&self, now: u64, window: Window) -> bool {
        let mut totals = self.totals();
        if totals.state != State::Working {
            return false;
        }
        totals.state = State::Ended;
        totals.time.end(now, window);
        true
    }

    /// Abandons the worker and freezes its counts, between two transactions only if `idle`. Returns `false` if it has
    /// ended, or is not abandoned.
    pub fn abandon(&self, now: u64, window: Window, idle: bool) -> bool {
        let mut totals = self.totals();
        let began = self.began.load(Ordering::Acquire);
        if totals.state != State::Working || (began == NEVER && !idle) {
            return false;
        }
        totals.state = State::Abandoned { at: now };
        if began != NEVER {
            totals.time.inside += window.part(began, now);
        }
        totals.time.end(now, window);
        true
    }

    /// The arrival that the worker has taken and not begun, for the first caller.
    pub fn left(&self) -> Option<u64> {
        if self.began.load(Ordering::Acquire) != NEVER {
            return None;
        }
        Some(self.due.swap(NEVER, Ordering::Relaxed)).filter(|due| *due != NEVER)
    }

    /// Adds the record of each step to the operation at the index that `place` returns, and the worker's times to its
    /// result. Returns its end in nanoseconds from `go`.
    pub fn add_to(
        &self,
        worker: &mut WorkerResult,
        operations: &mut [TransactionResult],
        place: impl Fn(usize) -> usize,
    ) -> u64 {
        let totals = self.totals();
        for (step, record) in totals.records.iter().enumerate() {
            record.merge_into(&mut operations[place(step)]);
            worker.ended += record.ended;
        }
        (worker.inside_ns, worker.outside_ns) = (totals.time.inside, totals.time.outside);
        worker.stall_ns = totals.time.stall;
        let began = self.began.load(Ordering::Acquire);
        if let (State::Abandoned { at }, true) = (totals.state, began != NEVER) {
            let due = self.due.load(Ordering::Relaxed);
            operations[place(self.step.load(Ordering::Relaxed))].unfinished.push(Unfinished {
                service_ns: at.saturating_sub(began),
                response_ns: (due != NEVER).then(|| at.saturating_sub(due)),
            });
        }
        totals.time.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use litelab_protocol::Begin;

    fn until(end: u64, ending: Ending) -> Execution {
        Execution { ending, end, ..Execution::default() }
    }

    fn window(warm: u64, end: u64) -> Window {
        Window { warm, end: End { time: end, role: None } }
    }

    fn tally() -> Tally {
        let transaction = crate::testing::transaction("t", Begin::None, vec![], vec![]);
        Tally::new(vec![Record::new(&transaction, false, false)])
    }

    /// Runs transactions with these begins and ends.
    fn work(tally: &Tally, window: Window, spans: &[(u64, u64, Ending)]) {
        for (start, end, ending) in spans {
            tally.begin(0, *start, None);
            assert!(tally.finish(0, *start, &until(*end, *ending), window).is_some());
        }
    }

    fn seen(tally: &Tally) -> (WorkerResult, Vec<Unfinished>, u64) {
        let mut operations = [TransactionResult::default()];
        let mut worker = WorkerResult::default();
        let ended = tally.add_to(&mut worker, &mut operations, |_| 0);
        assert_eq!(operations[0].ended, worker.ended);
        (worker, std::mem::take(&mut operations[0].unfinished), ended)
    }

    #[test]
    fn the_longest_time_without_a_commit_has_everything_else_in_it() {
        let (tally, window) = (tally(), window(200, NEVER));
        let (committed, failed, empty) = (Ending::Committed, Ending::Failed, Ending::Empty);
        work(&tally, window, &[(50, 100, committed), (150, 400, failed), (450, 500, empty), (600, 900, committed)]);
        assert!(tally.end(1_100, window));
        let (worker, unfinished, ended) = seen(&tally);
        assert_eq!((worker.stall_ns, ended, worker.ended), (800, 1_100, 1));
        // After the warm-up: 200 of the failed one, then 50 and 300.
        assert_eq!((worker.inside_ns, worker.outside_ns), (550, 350));
        assert_eq!(unfinished, []);
    }

    #[test]
    fn who_commits_nothing_stalls_until_the_end() {
        let (tally, window) = (tally(), window(0, NEVER));
        assert!(tally.end(1_000, window));
        assert_eq!(seen(&tally).0.stall_ns, 1_000);
    }

    #[test]
    fn what_ends_in_the_window_counts_wherever_it_began_and_its_time_is_cut_at_both_ends() {
        let (tally, window) = (tally(), window(100, 1_000));
        // One ends with the warm-up, one spans its end, one is inside the window, and one spans the window's end.
        let ending = Ending::Committed;
        work(&tally, window, &[(10, 100, ending), (100, 300, ending), (500, 600, ending), (900, 1_200, ending)]);
        assert!(tally.end(1_250, window));
        let (worker, ..) = seen(&tally);
        assert_eq!(worker.ended, 2);
        assert_eq!((worker.inside_ns, worker.outside_ns), (200 + 100 + 100, 500));
    }

    #[test]
    fn who_is_abandoned_shows_how_long_it_has_taken_and_counts_nothing_more() {
        let (tally, window) = (tally(), window(100, 1_000));
        work(&tally, window, &[(0, 150, Ending::Committed)]);
        tally.begin(0, 400, Some(300));
        assert!(tally.abandon(1_500, window, false));
        assert!(tally.finish(0, 400, &until(1_600, Ending::Committed), window).is_none());
        assert!(!tally.end(1_700, window));
        let (worker, unfinished, ended) = seen(&tally);
        assert_eq!(unfinished, [Unfinished { service_ns: 1_100, response_ns: Some(1_200) }]);
        assert_eq!((worker.ended, worker.inside_ns, worker.outside_ns), (1, 50 + 600, 250));
        assert_eq!((worker.stall_ns, ended), (1_350, 1_500));
    }

    #[test]
    fn an_error_counts_when_it_occurs_and_not_after_the_drain() {
        let (tally, window, counters) = (tally(), window(0, 1_000), [Counters::default()]);
        tally.begin(0, 400, None);
        tally.met(0, &counters, 517, "database is\nlocked");
        tally.met(0, &counters, 1, "no such table");
        assert!(tally.abandon(1_500, window, false));
        tally.met(0, &counters, 5, "too late");
        let mut operations = [TransactionResult::default()];
        tally.add_to(&mut WorkerResult::default(), &mut operations, |_| 0);
        let [operation] = &operations;
        let seen: Vec<_> =
            operation.errors.iter().map(|(name, count)| (name.as_str(), count.seen, count.cured)).collect();
        assert_eq!(seen, [("SQLITE_BUSY_SNAPSHOT", 1, 0), ("SQLITE_ERROR", 1, 0)]);
        assert_eq!(operation.errors["SQLITE_BUSY_SNAPSHOT"].message.as_deref(), Some("database is locked"));
        let counted = [&counters[0].errors, &counters[0].busy].map(|counter| counter.load(Ordering::Relaxed));
        assert_eq!((counted, operation.unfinished.len()), ([2, 1], 1));
    }

    #[test]
    fn who_is_between_two_transactions_is_abandoned_if_another_hangs_and_leaves_its_arrival() {
        let (tally, window) = (tally(), window(0, 1_000));
        work(&tally, window, &[(0, 150, Ending::Committed)]);
        tally.take(990);
        assert!(!tally.abandon(1_500, window, false));
        assert!(tally.abandon(1_500, window, true));
        assert_eq!((tally.left(), tally.left()), (Some(990), None));
        assert_eq!(seen(&tally).1, []);
    }

    #[test]
    fn who_has_ended_is_not_abandoned() {
        let (tally, window) = (tally(), window(0, 1_000));
        assert!(tally.end(900, window));
        assert!(!tally.abandon(2_000, window, true));
        assert_eq!(seen(&tally).2, 900);
    }
}
