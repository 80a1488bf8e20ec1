//! Thresholds of events. The table in docs/guides/watch.md has them.

use std::time::Duration;

/// The write lock is held for long.
pub(crate) const LONG_WRITE: Duration = Duration::from_secs(1);
/// A checkpoint takes long.
pub(crate) const LONG_CHECKPOINT: Duration = Duration::from_secs(5);
/// A writer in rollback mode waits for readers for long.
pub(crate) const PENDING: Duration = Duration::from_secs(1);
/// No frame was copied for this long, with at least this backlog: twice the default of `wal_autocheckpoint`.
pub(crate) const STARVED: Duration = Duration::from_secs(10);
pub(crate) const STARVED_FRAMES: u32 = 2000;
/// The log has this length without a reset for this long, and in this share of looks a process reads it.
pub(crate) const NO_GAP: Duration = Duration::from_secs(30);
pub(crate) const NO_GAP_FRAMES: u32 = 4000;
pub(crate) const NO_GAP_SHARE: f64 = 0.99;
/// The write lock is held in this share of looks over this time and this number of looks, with at least this number of
/// processes.
pub(crate) const STORM: Duration = Duration::from_secs(10);
pub(crate) const STORM_LOOKS: u64 = 20;
pub(crate) const STORM_SHARE: f64 = 0.95;
pub(crate) const STORM_PROCESSES: usize = 3;
/// Size of the log file that is the first event of growth; each doubling is the next.
pub(crate) const GROWTH: u64 = 64 << 20;
/// Least size of a log file whose truncation is an event.
pub(crate) const TRUNCATED: u64 = 16 << 20;
/// The database lost this share of its pages, and at least this number.
pub(crate) const SHRUNK: f64 = 0.1;
pub(crate) const SHRUNK_PAGES: u32 = 16;
/// The file system is full within this time.
pub(crate) const FULL_SOON: f64 = 3600.0;
/// Free space below which the file system counts as full.
pub(crate) const FULL: u64 = 1 << 20;
/// Least time between two events about resets, and about processes that come and go.
pub(crate) const TALLY: Duration = Duration::from_secs(10);
