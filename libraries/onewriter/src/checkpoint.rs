//! Keeping the write-ahead log short.
//!
//! In the background a checkpoint carries frames over while others write. What was written meanwhile is left, so the writer
//! carries over that last stretch itself, between two commits: only of a log that has been carried over whole does SQLite use
//! the file again from its beginning, and writing over blocks that a file has is twice as fast as making it grow.
//!
//! A reader can be in the way of that. Past a bound the writer cuts the log, too: those who begin to read meanwhile need it no
//! more, and those who do still need it are waited for, if only for a moment.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::connection;
use crate::counters::Live;
use crate::options::Checkpoints;
use crate::readers::Readers;
use crate::sync::lock;

/// How long writers wait for readers that need the log.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long to leave a log that a reader did not allow to be cut, before it is tried again: at first, and when it never does.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// A reader as old as this is worth a warning at once.
const OLD: Duration = Duration::from_secs(1);

/// The writer's side.
pub struct Checkpointing {
    rules: Checkpoints,
    /// Asks for a checkpoint in the background; one may wait.
    background: SyncSender<()>,
    readers: Arc<Readers>,
    /// Frames at which the background was last asked.
    asked_at: u64,
    /// The most frames since the log's file was last cut: it is that long, though the log may have begun anew in it.
    longest: u64,
    /// Set by the background when it has done what it was asked for.
    carried: Arc<AtomicBool>,
    /// Held by whichever of the two is at a checkpoint.
    turn: Arc<Mutex<()>>,
    not_before: Option<Instant>,
    pause: Duration,
    /// Frames from which on the next warning is due.
    warn_at: u64,
}

impl Checkpointing {
    /// The second is for a thread of its own.
    pub fn new(rules: Checkpoints, readers: Arc<Readers>) -> (Self, Background) {
        let (background, asked) = sync_channel(1);
        let (carried, turn) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(())));
        let beside = Background { asked, carried: carried.clone(), turn: turn.clone() };
        let warn_at = u64::from(rules.truncate_after);
        let (asked_at, longest, not_before, pause) = (0, 0, None, PAUSES.0);
        (Self { rules, background, readers, asked_at, longest, carried, turn, not_before, pause, warn_at }, beside)
    }

    /// After a commit, with no transaction open.
    pub fn after_commit(&mut self, connection: &Connection, counters: &Live) {
        let frames = counters.wal_frames.load(Relaxed);
        if frames < self.asked_at {
            // The log has begun anew.
            self.asked_at = 0;
        }
        self.longest = self.longest.max(frames);
        let passes = |bound: u32, frames: u64| bound > 0 && frames >= u64::from(bound);
        let carried = self.carried.swap(false, Relaxed);
        if passes(self.rules.truncate_after, self.longest) && self.not_before.is_none_or(|at| at <= Instant::now()) {
            self.truncate(connection, counters, frames);
        } else if carried {
            last_stretch(connection);
        } else if passes(self.rules.passive_after, frames.saturating_sub(self.asked_at)) {
            self.asked_at = frames;
            // Where one is asked for already, it will see these frames, too.
            let _asked = self.background.try_send(());
        }
    }

    /// Waits for the background, whose work makes this one's short: a log that grows faster than it can be carried over is
    /// bounded by nothing else.
    fn truncate(&mut self, connection: &Connection, counters: &Live, frames: u64) {
        let turn = self.turn.clone();
        let _turn = lock(&turn);
        match truncate(connection) {
            Ok(Cut::Done) => {
                counters.truncated.fetch_add(1, Relaxed);
                counters.wal_frames.store(0, Relaxed);
                (self.asked_at, self.longest, self.warn_at) = (0, 0, u64::from(self.rules.truncate_after));
                (self.not_before, self.pause) = (None, PAUSES.0);
            }
            // Another process's, and soon over.
            Ok(Cut::Checkpoint) => {}
            Ok(Cut::Reader) => {
                counters.blocked.fetch_add(1, Relaxed);
                self.leave_alone();
                self.warn(frames);
            }
            Err(error) => {
                self.leave_alone();
                tracing::warn!(%error, wal_frames = frames, "the write-ahead log could not be cut");
            }
        }
    }

    fn leave_alone(&mut self) {
        self.not_before = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// At the bound where a reader is old, else at twice the bound; then each time the log has doubled.
    fn warn(&mut self, frames: u64) {
        let oldest = self.readers.oldest();
        let is_old = oldest.is_some_and(|age| age >= OLD);
        let due = if is_old { self.warn_at } else { self.warn_at.saturating_mul(2) };
        if frames < due {
            return;
        }
        self.warn_at = frames.saturating_mul(2);
        match oldest {
            Some(age) => tracing::warn!(
                wal_frames = frames,
                oldest_reader_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
                "the write-ahead log grows because a reader still needs it"
            ),
            None => tracing::warn!(
                wal_frames = frames,
                "the write-ahead log grows, and no reader of this process needs it: another one's does, or a checkpoint"
            ),
        }
    }
}

/// What became of an attempt to cut the log.
enum Cut {
    Done,
    /// A reader needs it.
    Reader,
    /// Another checkpoint is at it.
    Checkpoint,
}

/// Carries the log over whole, and cuts its file.
fn truncate(connection: &Connection) -> rusqlite::Result<Cut> {
    let patience = connection::busy_timeout(connection)?;
    connection.busy_timeout(PATIENCE)?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], row);
    connection.busy_timeout(patience)?;
    // The second is -1 where it could not even begin (https://sqlite.org/pragma.html#pragma_wal_checkpoint).
    Ok(match done? {
        (0, _) => Cut::Done,
        (_, -1) => Cut::Checkpoint,
        _ => Cut::Reader,
    })
}

/// Carries over what was written while the background was at it. Where a reader is in the way, that much is left.
fn last_stretch(connection: &Connection) {
    if let Err(error) = passive(connection) {
        tracing::warn!(%error, "a checkpoint failed");
    }
}

fn passive(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    // 1 where another checkpoint is at it.
    Ok(statement.query_row([], |row| row.get::<_, i64>(0))? == 0)
}

/// The thread beside the writer.
pub struct Background {
    asked: Receiver<()>,
    carried: Arc<AtomicBool>,
    turn: Arc<Mutex<()>>,
}

impl Background {
    /// A checkpoint whenever the writer asks for one, until it is gone.
    pub fn run(&self, connection: &Connection, counters: &Live) {
        for () in &self.asked {
            let _turn = lock(&self.turn);
            match passive(connection) {
                Ok(true) => {
                    counters.passive.fetch_add(1, Relaxed);
                    self.carried.store(true, Relaxed);
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "a checkpoint failed"),
            }
        }
    }
}
