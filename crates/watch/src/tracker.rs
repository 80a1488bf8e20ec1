//! One database over time: totals, rates, and the view of it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use litelab_observe::live::Moment;
use litelab_observe::{FRAME_HEADER, Lock, WalIndex};
use litelab_record::recording::{DatabaseView, LockView, Rates, ReaderView, Totals};

use crate::holding::{Counter, Held, Holdings};

/// Window of the rates.
const WINDOW: Duration = Duration::from_secs(2);
/// Window of the rate at which the file system fills, and the least part of it that gives a rate.
const FILL: Duration = Duration::from_secs(60);
const LEAST_FILL: Duration = Duration::from_secs(10);
/// A counter that moved by more was set anew, as by a recovery or another file.
const JUMP: u32 = 1 << 24;

/// State of one database between looks.
#[derive(Debug)]
pub(crate) struct Tracker {
    path: String,
    pub(crate) holdings: Holdings,
    totals: Totals,
    last: Option<(Instant, Option<Counter>, Option<WalIndex>)>,
    /// Totals at earlier looks.
    window: VecDeque<(Instant, Totals)>,
    /// Free space, about once a second.
    free: VecDeque<(Instant, u64)>,
    /// Last progress of a checkpoint, or last look without a backlog.
    progress: Option<Instant>,
}

impl Tracker {
    pub(crate) fn new(path: String) -> Self {
        Self {
            path,
            holdings: Holdings::default(),
            totals: Totals::default(),
            last: None,
            window: VecDeque::new(),
            free: VecDeque::new(),
            progress: None,
        }
    }

    /// Takes over a look, and returns the view of the database.
    pub(crate) fn update(&mut self, moment: &Moment) -> DatabaseView {
        self.holdings.update(moment);
        self.count(moment);
        let index = moment.index;
        let page_size = index.and_then(|index| index.page_size).or(moment.header.map(|header| header.page_size));
        let frame = page_size.map(|size| u64::from(size) + FRAME_HEADER);
        let bytes = |frames: u32| frame.map(|frame| frame * u64::from(frames));
        let backlog = index.map(|index| index.backlog());
        let stuck = backlog.filter(|backlog| *backlog > 0).and(self.progress).map(|at| moment.at - at);
        let held = |of: fn(Lock) -> bool| {
            self.holdings.held().iter().filter(move |held| of(held.hold.lock) && !held.hold.waits)
        };
        let locks = held(|lock| !matches!(lock, Lock::Read(_) | Lock::Shared)).map(|held| lock(held, moment.at));
        let wal = is_wal(moment);
        // In WAL mode every connection holds the shared lock.
        let readers = held(|lock| matches!(lock, Lock::Read(_) | Lock::Shared))
            .filter(|held| !(wal && held.hold.lock == Lock::Shared))
            .map(|held| reader(held, moment, frame.unwrap_or_default()));
        let mut readers: Vec<ReaderView> = readers.collect();
        let older = |reader: &ReaderView| (reader.pins_frames, reader.behind_seconds.unwrap_or(0.0), reader.seconds);
        readers.sort_by(|a, b| older(b).partial_cmp(&older(a)).unwrap_or(std::cmp::Ordering::Equal));
        let waiters = self.holdings.held().iter().filter(|held| held.hold.waits).map(|held| lock(held, moment.at));
        let reserved = moment.holds.iter().any(|hold| matches!(hold.lock, Lock::Reserved | Lock::Exclusive));
        let mode = match (moment.identity, moment.header, wal) {
            (Some(_), _, true) => "wal",
            (Some(_), Some(_), false) => "rollback",
            _ => "unknown",
        };
        DatabaseView {
            path: self.path.clone(),
            mode: mode.to_owned(),
            page_size,
            database_bytes: moment.files.database,
            wal_bytes: moment.files.wal,
            journal_bytes: moment.files.journal,
            // A log without a commit has the size 0, and the file has its own.
            pages: index
                .map(|index| index.database_pages)
                .filter(|pages| *pages > 0)
                .or(moment.header.map(|h| h.pages)),
            free_pages: moment.header.map(|header| header.free_pages),
            frames: index.map(|index| index.frames),
            // Until the log is restarted, `nBackfill` may belong to the log before.
            backfilled: index.map(|index| index.backfilled.min(index.frames)),
            backlog_frames: backlog,
            backlog_bytes: backlog.and_then(bytes),
            salts: index.map(|index| index.salts),
            checkpoint_sequence: moment.log.map(|log| log.checkpoint_sequence),
            rates: self.rates(),
            totals: self.totals,
            stuck_seconds: stuck.map(|stuck| stuck.as_secs_f64()),
            locks: locks.collect(),
            readers,
            waiters: waiters.collect(),
            hot_journal: moment.journal_header && !wal && !reserved,
            free_bytes: moment.free_bytes,
            full_in_seconds: self.full_in(),
            open_by: moment.openers.iter().map(|opener| opener.pid).collect(),
        }
    }

    /// File name of the database.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn count(&mut self, moment: &Moment) {
        let now = moment.at;
        let counter = Counter::of(moment);
        let is_write = |lock: Lock| is_write_lock(is_wal(moment), &lock.to_string());
        let locked = moment.holds.iter().any(|hold| is_write(hold.lock) && !hold.waits);
        self.totals.looks += 1;
        self.totals.torn += u64::from(moment.torn);
        if let Some((at, before, index)) = self.last {
            let seconds = (now - at).as_secs_f64();
            self.totals.write_locked_seconds += if locked { seconds } else { 0.0 };
            if let (Some(before), Some(after)) = (before, counter) {
                let commits = after.since(before).filter(|commits| *commits < JUMP);
                self.totals.commits += u64::from(commits.unwrap_or(0));
            }
            if let (Some(before), Some(after)) = (index, moment.index) {
                self.frames(&before, &after, now);
            }
        }
        if moment.index.is_none_or(|index| index.backlog() == 0) || self.progress.is_none() {
            self.progress = Some(now);
        }
        self.last = Some((now, counter, moment.index.or(self.last.and_then(|(_, _, index)| index))));
        self.window.push_back((now, self.totals));
        while self.window.len() > 2 && self.window.get(1).is_some_and(|(at, _)| now - *at >= WINDOW) {
            self.window.pop_front();
        }
        if let Some(free) = moment.free_bytes
            && self.free.back().is_none_or(|(at, _)| now - *at >= Duration::from_secs(1))
        {
            self.free.push_back((now, free));
            while self.free.front().is_some_and(|(at, _)| now - *at > FILL) {
                self.free.pop_front();
            }
        }
    }

    fn frames(&mut self, before: &WalIndex, after: &WalIndex, now: Instant) {
        if before.salts == after.salts {
            self.totals.frames += u64::from(after.frames.saturating_sub(before.frames));
        } else {
            // The first commit into a new log is no restart.
            let is_new = before.frames == 0 && before.salts == [0, 0];
            self.totals.resets += u64::from(!is_new);
            self.totals.frames += u64::from(after.frames);
        }
        let copied = after.copied_since(before);
        self.totals.checkpointed += copied;
        if copied > 0 || before.salts != after.salts {
            self.progress = Some(now);
        }
    }

    fn rates(&self) -> Option<Rates> {
        let ((begin, first), (end, last)) = (self.window.front()?, self.window.back()?);
        let seconds = (*end - *begin).as_secs_f64();
        let rate = |of: fn(&Totals) -> u64| (of(last) - of(first)) as f64 / seconds;
        (seconds > 0.0).then(|| Rates {
            commits: rate(|totals| totals.commits),
            frames: rate(|totals| totals.frames),
            checkpointed: rate(|totals| totals.checkpointed),
            write_locked: (last.write_locked_seconds - first.write_locked_seconds) / seconds,
        })
    }

    fn full_in(&self) -> Option<f64> {
        let ((begin, first), (end, last)) = (self.free.front()?, self.free.back()?);
        let used = first.checked_sub(*last).filter(|used| *used > 0)?;
        let span = *end - *begin;
        (span >= LEAST_FILL).then(|| *last as f64 / (used as f64 / span.as_secs_f64()))
    }
}

fn is_wal(moment: &Moment) -> bool {
    moment.index.is_some() || moment.header.is_some_and(|header| header.wal)
}

/// Whether a transaction that writes holds the lock of this name. With `locking_mode = EXCLUSIVE` a process in WAL mode
/// has the exclusive lock for all its life.
pub(crate) fn is_write_lock(wal: bool, lock: &str) -> bool {
    matches!(lock, "write" | "reserved") || lock == "exclusive" && !wal
}

fn lock(held: &Held, now: Instant) -> LockView {
    LockView {
        lock: held.hold.lock.to_string(),
        pid: held.hold.pid,
        seconds: (now - held.since).as_secs_f64(),
        error_seconds: held.error.as_secs_f64(),
        at_least: held.at_least,
    }
}

fn reader(held: &Held, moment: &Moment, frame: u64) -> ReaderView {
    let pins_frames = moment.index.map_or(0, |index| index.pinned(held.hold.lock));
    ReaderView {
        slot: if let Lock::Read(slot) = held.hold.lock { Some(slot) } else { None },
        mark: held.mark,
        pid: held.hold.pid,
        seconds: (moment.at - held.since).as_secs_f64(),
        error_seconds: held.error.as_secs_f64(),
        at_least: held.at_least,
        behind_seconds: held.behind.map(|behind| (moment.at - behind).as_secs_f64()),
        pins_frames,
        pins_bytes: u64::from(pins_frames) * frame,
    }
}
