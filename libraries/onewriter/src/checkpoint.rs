//! WAL checkpoints and the bound on the size of the write-ahead log.
//!
//! A background thread runs passive checkpoints while other connections write. Frames appended during such a checkpoint
//! remain in the log, so the writer checkpoints them itself between two commits. SQLite reuses the log file from its
//! beginning only after all of its frames have been checkpointed, and overwriting allocated blocks is twice as fast as
//! extending the file.
//!
//! When nothing has been written for a second, the background thread carries over what is left, and truncates a log
//! file above its limit.
//!
//! A reader can prevent that reset. Above a size limit the writer therefore also truncates the log: new readers no
//! longer need it, and the writer waits a short time for readers that still do.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::connection;
use crate::counters::Live;
use crate::options::Checkpoints;
use crate::readers::Readers;
use crate::sync::lock;
use crate::watch::Watch;

/// Longest wait of the writer for readers that still need the log.
const PATIENCE: Duration = Duration::from_millis(10);
/// Delays before a truncation that a reader prevented is tried again: the first, and the upper bound of the doubling
/// delay.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// Time without a commit after which the background thread checkpoints what is left of the log.
const IDLE: Duration = Duration::from_secs(1);
/// Age from which a reader that prevents truncation causes a warning without waiting for further growth.
const OLD: Duration = Duration::from_secs(1);

/// The first I/O error of a commit or a checkpoint, after which nothing is written if the application wants it so.
#[derive(Default)]
pub struct Stop {
    is_wanted: bool,
    cause: OnceLock<Arc<rusqlite::Error>>,
}

impl Stop {
    pub fn new(is_wanted: bool) -> Self {
        Self { is_wanted, cause: OnceLock::new() }
    }

    /// Keeps the error if it is one of the disk.
    pub fn note(&self, error: &Arc<rusqlite::Error>) {
        if self.is_wanted && error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) {
            // A later error adds nothing.
            let _known = self.cause.set(error.clone());
        }
    }

    pub fn cause(&self) -> Option<&Arc<rusqlite::Error>> {
        self.cause.get()
    }
}

/// Checkpointing by the writer thread.
pub struct Checkpointing {
    stop: Arc<Stop>,
    rules: Checkpoints,
    /// Requests a background checkpoint; at most one request is queued.
    background: SyncSender<()>,
    /// Whether the background thread must not checkpoint, because of a defect of SQLite.
    alone: bool,
    readers: Arc<Readers>,
    /// WAL frames at the last request for a background checkpoint.
    asked_at: u64,
    /// Set by the background thread after a completed checkpoint.
    carried: Arc<AtomicBool>,
    /// Held during a checkpoint by the writer or by the background thread.
    turn: Arc<Mutex<()>>,
    not_before: Option<Instant>,
    pause: Duration,
    /// Frame count from which the next warning is due.
    warn_at: u64,
}

impl Checkpointing {
    /// Returns the writer's part and the part that runs in the background thread.
    pub fn new(rules: Checkpoints, readers: Arc<Readers>, stop: Arc<Stop>) -> (Self, Background) {
        let (background, asked) = sync_channel(1);
        let (carried, turn) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(())));
        let alone = connection::has_wal_reset_bug(rusqlite::version_number());
        if alone {
            tracing::warn!(
                sqlite = rusqlite::version(),
                "this SQLite can corrupt a database when two connections checkpoint: only the writer does"
            );
        }
        let (watched, is_idle_checked) = (readers.clone(), !alone && !rules.is_external());
        let beside = Background {
            rules,
            asked,
            carried: carried.clone(),
            turn: turn.clone(),
            stop: stop.clone(),
            readers: watched,
            is_idle_checked,
        };
        let warn_at = u64::from(rules.truncate_after);
        let (asked_at, not_before, pause) = (0, None, PAUSES.0);
        let own = Self { stop, rules, background, alone, readers, asked_at, carried, turn, not_before, pause, warn_at };
        (own, beside)
    }

    /// Must be called after each commit, with no transaction open.
    pub fn after_commit(&mut self, connection: &Connection, counters: &Live) {
        if self.stop.cause().is_some() {
            return;
        }
        let frames = counters.wal_frames.load(Relaxed);
        if frames < self.asked_at {
            // SQLite has restarted the log from its beginning.
            self.asked_at = 0;
        }
        let longest = counters.longest_log.fetch_max(frames, Relaxed).max(frames);
        let carried = self.carried.swap(false, Relaxed);
        if passes(self.rules.truncate_after, longest) && self.not_before.is_none_or(|at| at <= Instant::now()) {
            self.truncate(connection, counters, frames);
        } else if carried {
            self.last_stretch(connection);
        } else if passes(self.rules.passive_after, frames.saturating_sub(self.asked_at)) {
            self.asked_at = frames;
            if self.alone {
                self.last_stretch(connection);
            } else {
                // A request that is already queued covers these frames as well.
                let _asked = self.background.try_send(());
            }
        }
    }

    /// Frames in the log if they reach `most` and cannot be truncated.
    pub fn full(&mut self, connection: &Connection, counters: &Live, most: u64) -> Option<u64> {
        let frames = || counters.wal_frames.load(Relaxed);
        if frames() >= most && self.not_before.is_none_or(|at| at <= Instant::now()) {
            if self.rules.is_external() {
                // Only a commit tells that another program has carried the log over.
                self.leave_alone();
                return None;
            }
            self.truncate(connection, counters, frames());
        }
        Some(frames()).filter(|frames| *frames >= most)
    }

    /// Waits for a running background checkpoint first, which leaves less to checkpoint here. This wait is the only
    /// bound on a log that grows faster than checkpoints can follow.
    fn truncate(&mut self, connection: &Connection, counters: &Live, frames: u64) {
        let turn = lock(&self.turn);
        let cut = truncate(connection);
        // A subscriber to the warnings below may panic.
        drop(turn);
        match cut {
            Ok(Cut::Done) => {
                counters.cut();
                (self.asked_at, self.warn_at) = (0, u64::from(self.rules.truncate_after));
                (self.not_before, self.pause) = (None, PAUSES.0);
            }
            // A checkpoint of another process, which ends soon.
            Ok(Cut::Checkpoint) => {}
            Ok(Cut::Reader) => {
                counters.blocked.fetch_add(1, Relaxed);
                self.leave_alone();
                self.warn(connection, frames);
            }
            Err(error) => {
                self.leave_alone();
                tracing::warn!(%error, wal_frames = frames, "the write-ahead log could not be cut");
                self.stop.note(&Arc::new(error));
            }
        }
    }

    /// Checkpoints the frames written during the background checkpoint, except those that a reader still needs.
    fn last_stretch(&self, connection: &Connection) {
        if let Err(error) = passive(connection) {
            tracing::warn!(%error, "a checkpoint failed");
            self.stop.note(&Arc::new(error));
        }
    }

    fn leave_alone(&mut self) {
        self.not_before = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// The first warning is due at the limit if a reader is old, otherwise at twice the limit; later ones each time the
    /// log doubles.
    fn warn(&mut self, connection: &Connection, frames: u64) {
        let oldest = self.readers.oldest();
        let is_old = oldest.is_some_and(|age| age >= OLD);
        let due = if is_old { self.warn_at } else { self.warn_at.saturating_mul(2) };
        if frames < due {
            return;
        }
        self.warn_at = frames.saturating_mul(2);
        let database = connection.path().unwrap_or_default();
        match oldest {
            Some(age) => tracing::warn!(
                database,
                wal_frames = frames,
                oldest_reader_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
                "the write-ahead log grows because a reader still needs it"
            ),
            None => tracing::warn!(
                database,
                wal_frames = frames,
                "the write-ahead log grows, and no reader of this process needs it: another one's does, or a checkpoint"
            ),
        }
    }
}

/// Result of an attempt to truncate the log.
enum Cut {
    Done,
    /// A reader still needs frames of the log.
    Reader,
    /// Another checkpoint is running.
    Checkpoint,
}

/// Checkpoints the whole log and truncates its file.
fn truncate(connection: &Connection) -> rusqlite::Result<Cut> {
    let patience = connection::busy_timeout(connection)?;
    connection.busy_timeout(PATIENCE)?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], row);
    connection.busy_timeout(patience)?;
    // The second column is -1 if the checkpoint could not start (https://sqlite.org/pragma.html#pragma_wal_checkpoint).
    Ok(match done? {
        (0, _) => Cut::Done,
        (_, -1) => Cut::Checkpoint,
        _ => Cut::Reader,
    })
}

/// Checkpoints the whole log and truncates its file. Returns whether that was possible.
pub fn truncate_now(connection: &Connection) -> rusqlite::Result<bool> {
    truncate(connection).map(|cut| matches!(cut, Cut::Done))
}

/// Result of a passive checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carried {
    /// Every frame is in the database file.
    All,
    /// A reader needs the frames that are left.
    Part,
    /// Another checkpoint is running.
    Busy,
}

fn passive(connection: &Connection) -> rusqlite::Result<Carried> {
    let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    // The columns: 1 if another checkpoint is running; frames in the log; frames in the database file.
    Ok(match statement.query_row([], row)? {
        (0, log, carried) if log == carried => Carried::All,
        (0, ..) => Carried::Part,
        _ => Carried::Busy,
    })
}

const fn passes(bound: u32, frames: u64) -> bool {
    bound > 0 && frames >= bound as u64
}

/// Longest times of closures.
pub struct Limits {
    pub read: Option<Duration>,
    pub write: Option<(Duration, Arc<Watch>)>,
}

/// Checkpointing in the background thread.
pub struct Background {
    rules: Checkpoints,
    asked: Receiver<()>,
    carried: Arc<AtomicBool>,
    turn: Arc<Mutex<()>>,
    stop: Arc<Stop>,
    readers: Arc<Readers>,
    /// Whether to checkpoint when there are no writes.
    is_idle_checked: bool,
}

/// Length of the log file in frames, which a crash may have left.
fn left(connection: &Connection) -> Option<u64> {
    let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).ok()?;
    let mut log = std::ffi::OsString::from(connection.path()?);
    log.push("-wal");
    Some(std::fs::metadata(log).ok()?.len() / (u64::try_from(page).ok()? + 24))
}

impl Background {
    /// Runs a checkpoint for each request of the writer, and one when nothing has been written for [`IDLE`]. Returns
    /// when the writer is dropped.
    ///
    /// Interrupts reads and the write on `writer` that are older than their limits.
    pub fn run(&self, connection: &Connection, counters: &Live, limits: &Limits) {
        let shorter = limits.read.into_iter().chain(limits.write.as_ref().map(|(limit, _)| *limit)).min();
        let tick = shorter.map_or(IDLE, |limit| (limit / 4).clamp(Duration::from_millis(1), IDLE));
        if let Some(frames) = left(connection) {
            counters.longest_log.fetch_max(frames, Relaxed);
        }
        // Commits at the last look and its time, and commits at the last checkpoint. A crash may have left a log.
        let (mut seen, mut since, mut done) = (0, Instant::now(), u64::MAX);
        loop {
            let asked = self.asked.recv_timeout(tick);
            if let Some(limit) = limits.read {
                self.readers.interrupt(limit);
            }
            if let Some((limit, writer)) = &limits.write {
                writer.interrupt_after(*limit);
            }
            match asked {
                Ok(()) => {
                    self.checkpoint(connection, counters, false);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let commits = counters.logged.load(Relaxed);
                    if commits != seen {
                        (seen, since) = (commits, Instant::now());
                    }
                    let is_due = self.is_idle_checked && commits != done && since.elapsed() >= IDLE;
                    if is_due && self.checkpoint(connection, counters, true) {
                        done = commits;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    if self.stop.cause().is_some() {
                        // The last connection carries the log over when it is closed.
                        let _kept = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
                    }
                    return;
                }
            }
        }
    }

    /// Runs a passive checkpoint. If there are no writes, it truncates a log file above its limit as well. Returns whether
    /// nothing is left to do until the next commit.
    fn checkpoint(&self, connection: &Connection, counters: &Live, idle: bool) -> bool {
        if self.stop.cause().is_some() {
            return true;
        }
        let turn = lock(&self.turn);
        let passive = passive(connection);
        let cut = match passive {
            Ok(Carried::All) if idle && passes(self.rules.truncate_after, counters.longest_log.load(Relaxed)) => {
                Some(truncate(connection))
            }
            _ => None,
        };
        drop(turn);
        // A `tracing` subscriber may write to this database, for which the writer may wait for its turn.
        match (passive, cut) {
            (Err(error), _) | (_, Some(Err(error))) => {
                tracing::warn!(%error, "a checkpoint failed");
                self.stop.note(&Arc::new(error));
                false
            }
            (Ok(carried), cut) => {
                if carried != Carried::Busy {
                    counters.passive.fetch_add(1, Relaxed);
                    self.carried.store(true, Relaxed);
                }
                if matches!(cut, Some(Ok(Cut::Done))) {
                    counters.cut();
                }
                carried == Carried::All && !matches!(cut, Some(Ok(Cut::Reader | Cut::Checkpoint)))
            }
        }
    }
}
