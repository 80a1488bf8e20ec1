//! Conditions of one database that are events: of one look, or lasting.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use litelab_observe::live::Moment;
use litelab_record::recording::{DatabaseView, ReaderView, Totals};

use crate::event::{EventFacts, Kind};
use crate::thresholds as limit;
use crate::tracker::is_write_lock;

/// A condition that is true at a look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    pub(crate) pid: Option<u32>,
    pub(crate) facts: EventFacts,
}

/// What a look brings.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Events without a duration.
    pub(crate) once: Vec<(Kind, Condition)>,
    /// Conditions that are true now, at most one of a kind.
    pub(crate) lasting: BTreeMap<Kind, Condition>,
}

impl Found {
    fn once(&mut self, kind: Kind, facts: EventFacts) {
        self.once.push((kind, Condition { pid: None, facts: EventFacts { kind: kind.name(), ..facts } }));
    }

    fn lasts(&mut self, kind: Kind, pid: Option<u32>, facts: EventFacts) {
        self.lasting.insert(kind, Condition { pid, facts: EventFacts { kind: kind.name(), ..facts } });
    }
}

/// Detector of the events of one database.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    before: Option<Before>,
    /// Beginning of conditions that must last before they count.
    since: BTreeMap<Kind, Instant>,
    /// Size of the log at which its growth is the next event.
    growth: u64,
    locked: VecDeque<(Instant, Totals)>,
    /// Looks with a reader since the last reset of the log or the last gap between readers, all looks, and its time.
    read: (u64, u64, Option<Instant>),
    resets: Tally,
    came: Tally,
    left: Tally,
}

#[derive(Debug)]
struct Before {
    identity: Option<(u64, u64)>,
    moved: Option<PathBuf>,
    view: DatabaseView,
}

/// Events that become one, because they come often.
#[derive(Debug, Default)]
struct Tally {
    told: Option<Instant>,
    count: u64,
    names: Vec<String>,
}

/// Names of processes that are listed.
const NAMES: usize = 5;

impl Tally {
    fn add(&mut self, count: u64, name: Option<String>) {
        self.count += count;
        self.names.extend(name.filter(|_| self.names.len() < NAMES));
    }

    /// What was gathered, if the last event is long enough ago.
    fn due(&mut self, now: Instant) -> Option<(u64, String)> {
        if self.count == 0 || self.told.is_some_and(|told| now - told < limit::TALLY) {
            return None;
        }
        self.told = Some(now);
        Some((std::mem::take(&mut self.count), std::mem::take(&mut self.names).join(", ")))
    }
}

/// Path of the database's file under another name, if a process has it open.
fn moved(moment: &Moment) -> Option<&PathBuf> {
    moment.openers.iter().find_map(|opener| opener.moved.as_ref())
}

impl Detector {
    /// Compares a look with the one before. `shown` gives the line of a process.
    pub(crate) fn detect(&mut self, moment: &Moment, view: &DatabaseView, shown: &dyn Fn(u32) -> String) -> Found {
        let mut found = Found::default();
        let now = moment.at;
        self.locks(view, &mut found);
        self.checkpoints(now, view, &mut found);
        self.storm(now, view, &mut found);
        self.files(moment, view, &mut found);
        self.space(now, view, &mut found);
        self.processes(now, view, shown, &mut found);
        self.before = Some(Before { identity: moment.identity, moved: moved(moment).cloned(), view: view.clone() });
        found
    }

    /// Whether a condition has been true for `least`.
    fn lasted(&mut self, kind: Kind, is: bool, now: Instant, least: Duration) -> bool {
        if !is {
            self.since.remove(&kind);
            return false;
        }
        now - *self.since.entry(kind).or_insert(now) >= least
    }

    fn locks(&mut self, view: &DatabaseView, found: &mut Found) {
        for lock in &view.locks {
            let (kind, least) = match lock.lock.as_str() {
                name if is_write_lock(view.mode == "wal", name) => (Kind::LongWrite, limit::LONG_WRITE),
                "checkpoint" => (Kind::LongCheckpoint, limit::LONG_CHECKPOINT),
                // The exclusive lock covers the byte of the pending one.
                "pending" if !view.locks.iter().any(|other| other.lock == "exclusive") => {
                    (Kind::PendingWriter, limit::PENDING)
                }
                _ => continue,
            };
            // Half of the time before the first look with it is a guess.
            if lock.seconds - lock.error_seconds >= least.as_secs_f64() {
                found.lasts(kind, lock.pid, EventFacts { seconds: lock.seconds, ..EventFacts::default() });
            }
        }
    }

    fn checkpoints(&mut self, now: Instant, view: &DatabaseView, found: &mut Found) {
        let stuck = view.stuck_seconds.unwrap_or(0.0);
        let is_long = view.backlog_frames.unwrap_or(0) >= limit::STARVED_FRAMES;
        // A large commit after a quiet time is copied in a moment.
        let lasted = self.lasted(Kind::StarvedCheckpoint, is_long, now, limit::STARVED);
        if lasted && stuck >= limit::STARVED.as_secs_f64() {
            // A reader that began a moment ago does not keep the checkpoint from what it has not copied for long.
            let is_old = |reader: &&ReaderView| {
                reader.pins_frames > 0 && reader.seconds - reader.error_seconds >= limit::STARVED.as_secs_f64() / 2.0
            };
            let reader = view.readers.iter().find(is_old);
            let since = self.since.get(&Kind::StarvedCheckpoint).map_or(stuck, |since| (now - *since).as_secs_f64());
            let facts = EventFacts {
                seconds: reader.map_or(stuck.min(since), |reader| reader.seconds),
                bytes: reader.map_or(view.backlog_bytes.unwrap_or(0), |reader| reader.pins_bytes),
                slot: reader.and_then(|reader| reader.slot),
                ..EventFacts::default()
            };
            found.lasts(Kind::StarvedCheckpoint, reader.and_then(|reader| reader.pid), facts);
        }
        let resets = self.before.as_ref().map_or(0, |before| view.totals.resets - before.view.totals.resets);
        self.resets.add(resets, None);
        if let Some((count, _)) = self.resets.due(now) {
            found.once(Kind::Reset, EventFacts { count, ..EventFacts::default() });
        }
        let (mut read, mut all, since) = self.read;
        // Slot 0 reads the database file alone, and does not keep the log from being reset.
        let reads = view.readers.iter().any(|reader| reader.slot.is_some_and(|slot| slot > 0));
        let since = since.filter(|_| resets == 0).unwrap_or(now);
        if resets > 0 || view.frames.unwrap_or(0) < limit::NO_GAP_FRAMES {
            (read, all) = (0, 0);
            self.read = (0, 0, Some(now));
        } else {
            (read, all) = (read + u64::from(reads), all + 1);
            self.read = (read, all, Some(since));
        }
        let share = read as f64 / all.max(1) as f64;
        if share < limit::NO_GAP_SHARE {
            // A gap: the time begins again. Otherwise an idle hour would outweigh the hours that follow.
            self.read = (0, 0, Some(now));
        }
        let copied = view.backlog_frames.unwrap_or(0) < limit::STARVED_FRAMES;
        if now - since >= limit::NO_GAP && share >= limit::NO_GAP_SHARE && copied {
            let facts = EventFacts {
                seconds: (now - since).as_secs_f64(),
                bytes: view.wal_bytes.unwrap_or(0),
                share,
                ..EventFacts::default()
            };
            // The readers change all the time, and none of them is the cause.
            found.lasts(Kind::NoReaderGap, None, facts);
        }
    }

    fn storm(&mut self, now: Instant, view: &DatabaseView, found: &mut Found) {
        if self.locked.back().is_none_or(|(at, ..)| now - *at >= Duration::from_secs(1)) {
            self.locked.push_back((now, view.totals));
        }
        let is_enough = |(at, totals): &(Instant, Totals)| {
            now - *at >= limit::STORM && view.totals.looks - totals.looks >= limit::STORM_LOOKS
        };
        while self.locked.get(1).is_some_and(is_enough) {
            self.locked.pop_front();
        }
        let Some((begin, totals)) = self.locked.front().filter(|first| is_enough(first)) else { return };
        let seconds = (now - *begin).as_secs_f64();
        let share = (view.totals.write_locked_seconds - totals.write_locked_seconds) / seconds;
        let commits = view.totals.commits - totals.commits;
        let many = view.open_by.len() >= limit::STORM_PROCESSES || !view.waiters.is_empty();
        if share >= limit::STORM_SHARE && commits as f64 >= seconds && many {
            let count = view.open_by.len() as u64;
            found.lasts(Kind::BusyStorm, None, EventFacts { seconds, share, count, ..EventFacts::default() });
        }
    }

    fn files(&mut self, moment: &Moment, view: &DatabaseView, found: &mut Found) {
        let moved = moved(moment);
        let text = |text: String| EventFacts { text, ..EventFacts::default() };
        if let Some(before) = &self.before {
            match (before.identity, moment.identity) {
                (Some(old), Some(new)) if old != new => found.once(Kind::Replaced, text(String::new())),
                (Some(_), None) if moved.is_none() => found.once(Kind::Removed, text(String::new())),
                (None, Some(_)) => found.once(Kind::Appeared, text(String::new())),
                _ => {}
            }
            // A process with the moved file may be found later than the move.
            if let Some(path) = moved.filter(|path| before.moved.as_ref() != Some(path)) {
                found.once(Kind::Moved, text(path.display().to_string()));
            }
            let old = &before.view;
            if old.mode != view.mode && old.mode != "unknown" && view.mode != "unknown" {
                found.once(Kind::ModeChanged, text(view.mode.clone()));
            }
            let (was, is) = (old.wal_bytes.unwrap_or(0), view.wal_bytes.unwrap_or(0));
            if was >= limit::TRUNCATED && is < was / 2 {
                found.once(Kind::Truncated, EventFacts { bytes: was - is, ..EventFacts::default() });
            }
            if let (Some(was), Some(is)) = (old.pages, view.pages) {
                let lost = was.saturating_sub(is);
                if lost >= limit::SHRUNK_PAGES && f64::from(lost) >= limit::SHRUNK * f64::from(was) {
                    let bytes = u64::from(lost) * u64::from(view.page_size.unwrap_or(0));
                    found.once(Kind::Shrunk, EventFacts { bytes, ..EventFacts::default() });
                }
            }
        }
        let log = view.wal_bytes.unwrap_or(0);
        self.growth = self.growth.max(limit::GROWTH);
        // A log that was truncated can pass its sizes again.
        while self.growth > limit::GROWTH && log < self.growth / 2 {
            self.growth /= 2;
        }
        if log >= self.growth {
            while log >= self.growth {
                self.growth *= 2;
            }
            found.once(Kind::Growth, EventFacts { bytes: log, ..EventFacts::default() });
        }
        let deleted = moment.openers.iter().find(|opener| !opener.deleted.is_empty());
        // The last connection deletes the log when it closes it, and a look may fall in between.
        if self.lasted(Kind::DeletedOpen, deleted.is_some(), moment.at, Duration::from_secs(2))
            && let Some(opener) = deleted
        {
            let name = view.path.rsplit('/').next().unwrap_or_default();
            let files: Vec<String> = opener.deleted.iter().map(|suffix| format!("{name}{suffix}")).collect();
            found.lasts(Kind::DeletedOpen, Some(opener.pid), text(files.join(", ")));
        }
        if self.lasted(Kind::HotJournal, view.hot_journal, moment.at, Duration::from_secs(1)) {
            let bytes = view.journal_bytes.unwrap_or(0);
            found.lasts(Kind::HotJournal, None, EventFacts { bytes, ..EventFacts::default() });
        }
    }

    fn space(&mut self, now: Instant, view: &DatabaseView, found: &mut Found) {
        let full = view.free_bytes.is_some_and(|free| free < limit::FULL);
        let soon = view.full_in_seconds.filter(|seconds| *seconds < limit::FULL_SOON);
        let facts = EventFacts { full_in: soon, ..EventFacts::default() };
        if full {
            found.lasts(Kind::Full, None, facts);
        } else if self.lasted(Kind::FullSoon, soon.is_some(), now, Duration::from_secs(5)) {
            found.lasts(Kind::FullSoon, None, facts);
        }
    }

    fn processes(&mut self, now: Instant, view: &DatabaseView, shown: &dyn Fn(u32) -> String, found: &mut Found) {
        if let Some(before) = &self.before {
            let [was, is] = [&before.view, view].map(|view| BTreeSet::from_iter(view.open_by.iter().copied()));
            is.difference(&was).for_each(|pid| self.came.add(1, Some(shown(*pid))));
            was.difference(&is).for_each(|pid| self.left.add(1, Some(shown(*pid))));
        }
        for (tally, verb) in [(&mut self.came, "opened"), (&mut self.left, "closed")] {
            if let Some((count, names)) = tally.due(now) {
                let text = format!("{verb} by {names}");
                found.once(Kind::Processes, EventFacts { count, text, ..EventFacts::default() });
            }
        }
    }
}
