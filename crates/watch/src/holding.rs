//! Since when a lock has been held by the same transaction, derived from successive looks.

use std::time::{Duration, Instant};

use litelab_observe::live::{Hold, Moment};
use litelab_observe::{Lock, WalIndex};

/// A lock that was held at the last look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) hold: Hold,
    /// Middle between the last look without it and the first one with it.
    pub(crate) since: Instant,
    /// Half of the time between those two.
    pub(crate) error: Duration,
    /// Whether there was no look without it.
    pub(crate) at_least: bool,
    /// Read mark of its slot.
    pub(crate) mark: Option<u32>,
    /// Time of the first look at which a commit beyond the mark was there.
    pub(crate) behind: Option<Instant>,
}

/// All locks held, with their beginnings.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    held: Vec<Held>,
    last: Option<Instant>,
    counter: Option<Counter>,
    steady: bool,
    index: Option<WalIndex>,
}

impl Holdings {
    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// Takes over the locks of a look.
    pub(crate) fn update(&mut self, moment: &Moment) {
        let counter = Counter::of(moment);
        let salts = |index: Option<WalIndex>| index.map(|index| index.salts);
        // A transaction that writes commits once while it holds its lock. So a lock that is held before and after a
        // commit belongs to two transactions.
        let no_commit = self.steady && counter == self.counter;
        // A checkpoint notes at its start how far it will copy. Without that note it may be one attempt after the other.
        let note = |index: WalIndex| (index.backfill_attempted > index.backfilled).then_some(index.backfill_attempted);
        let note = |index: Option<WalIndex>| index.and_then(note);
        let copies = note(moment.index).is_some() && note(moment.index) == note(self.index);
        // A checkpoint copies while it has slot 0 alone, so who reads by that slot afterwards began later.
        let copied = self.index.zip(moment.index).is_some_and(|(before, after)| after.copied_since(&before) > 0);
        let now = moment.at;
        let held = moment.holds.iter().map(|hold| {
            let mark = moment.index.and_then(|index| index.mark(hold.lock));
            let before = self.held.iter().find(|held| {
                let hold_on = held.hold.lock == hold.lock && held.hold.pid == hold.pid && held.hold.waits == hold.waits;
                let same = match hold.lock {
                    Lock::Read(0) => !copied,
                    // In WAL mode every connection has it. Without WAL a commit waits until no process has it.
                    Lock::Shared => moment.index.is_some() || no_commit,
                    Lock::Read(_) => held.mark == mark && salts(moment.index) == salts(self.index),
                    _ if hold.waits => true,
                    Lock::Write | Lock::Reserved | Lock::Pending | Lock::Exclusive | Lock::Recover => no_commit,
                    Lock::Checkpoint => no_commit || copies,
                };
                hold_on && same
            });
            let mut held = before.copied().unwrap_or_else(|| {
                let gap = self.last.map(|last| now.saturating_duration_since(last));
                let error = gap.unwrap_or_default() / 2;
                Held { hold: *hold, since: now - error, error, at_least: gap.is_none(), mark, behind: None }
            });
            held.hold = *hold;
            let is_behind = moment.index.is_some_and(|index| index.is_behind(hold.lock));
            held.behind = is_behind.then(|| held.behind.unwrap_or(now));
            held
        });
        let held: Vec<Held> = held.collect();
        self.held = held;
        self.last = Some(now);
        (self.counter, self.steady, self.index) = (counter, moment.steady || moment.index.is_none(), moment.index);
    }
}

/// What every commit changes, and where it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// In the wal-index.
    Index(u32),
    /// In the header of the file, in rollback mode.
    File(u32),
}

impl Counter {
    pub(crate) fn of(moment: &Moment) -> Option<Self> {
        let file = || moment.header.map(|header| Self::File(header.change_counter));
        moment.index.map(|index| Self::Index(index.change_counter)).or_else(file)
    }

    /// Commits since an earlier value; `None` if that was counted elsewhere.
    pub(crate) fn since(self, before: Self) -> Option<u32> {
        match (before, self) {
            (Self::Index(before), Self::Index(now)) | (Self::File(before), Self::File(now)) => {
                Some(now.wrapping_sub(before))
            }
            _ => None,
        }
    }
}
