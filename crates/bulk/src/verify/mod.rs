//! Reads the table of workload `sqlite3perf` and recomputes every hash.

mod check;
pub(crate) mod hash;
mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use litelab_database::{Source, SourceError};
use rusqlite::{Connection, ErrorCode};

use crate::BulkError;
use crate::progress::{Pace, Phase, Progress, rate};
use table::{Part, Table};

pub use check::Mismatch;

/// Number of rows between two checks of the cancel flag, and between two additions to the shared count.
const STRIDE: u64 = 4096;

/// Largest number of attempts to read a snapshot while other connections commit.
const SNAPSHOT_ATTEMPTS: u32 = 5;

/// Number of mismatches in a report; all are counted.
const SHOWN: usize = 10;

/// Pause before the second attempt; each later pause is longer by this time.
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(10);

/// Options of a verification. [`VerifyOptions::new`] sets the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Path of the database, which is opened read-only.
    pub path: PathBuf,
    /// Number of threads, each with a separate connection.
    pub threads: NonZeroUsize,
    /// Time between two calls of `progress`.
    pub report_every: Duration,
}

impl VerifyOptions {
    /// Creates the options for one thread.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().into(), threads: NonZeroUsize::MIN, report_every: Duration::from_secs(2) }
    }
}

/// Result of a verification.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyReport {
    /// Number of rows read.
    pub rows: u64,
    /// Number of rows whose hash is not that of their `rand`, or whose columns are not text.
    pub mismatch_count: u64,
    /// The first 10 mismatches in the order of the table.
    pub mismatches: Vec<Mismatch>,
    /// Time from the first row to the last, over all threads.
    pub elapsed: Duration,
    /// Number of threads that read.
    pub threads: usize,
}

impl VerifyReport {
    /// Rate of verifying rows, of all threads together.
    #[must_use]
    pub fn rows_per_second(&self) -> f64 {
        rate(self.rows, self.elapsed)
    }
}

/// Verifies that each row's `hash` is the SHA-256 of its `rand`, in the table `bench` of workload `sqlite3perf`.
///
/// All threads read the same snapshot. The table is divided into parts of about equal ranges of the rowid (of `ID` in a
/// table without one), which are assigned one at a time, so that a slow thread or an uneven table costs little.
/// `progress` is called about every [`VerifyOptions::report_every`], from this thread.
///
/// The database is opened read-only, and no file is left next to it. A database at rest in WAL mode is read again if
/// another process writes to it meanwhile ([`litelab_database::source`]).
///
/// A wrong row is a mismatch in the report, not an error. An index is not compared with its table: that is done by
/// `PRAGMA integrity_check`.
///
/// # Errors
///
/// If the database cannot be read completely: no such file, another format, no such table, damage, or `cancel`.
pub fn verify(
    options: &VerifyOptions,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<VerifyReport, BulkError> {
    for _ in 0..SNAPSHOT_ATTEMPTS {
        let source = Source::find(&options.path)?;
        let report = read(&source, options, progress, cancel);
        if source.unchanged() {
            return report;
        }
    }
    Err(SourceError::Changing(options.path.clone()).into())
}

/// Reads the database once.
fn read(
    source: &Source,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<VerifyReport, BulkError> {
    let (table, connections) = snapshot(source, options)?;
    let parts = table.parts(connections.len());
    let shared = Shared { table: &table, parts: &parts, next: AtomicUsize::new(0), rows: AtomicU64::new(0), cancel };
    let mut pace = Pace::new(options.report_every);
    let shares = thread::scope(|scope| {
        // Every worker holds a sender; the channel closes when the last worker has ended, also by a panic.
        let (alive, ended) = mpsc::channel::<()>();
        let workers: Vec<_> = connections
            .into_iter()
            .map(|conn| {
                let (shared, alive) = (&shared, alive.clone());
                scope.spawn(move || {
                    let share = shared.work(&conn);
                    drop(alive);
                    share
                })
            })
            .collect();
        drop(alive);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pace.until_due()) {
            if let Some(elapsed) = pace.due() {
                progress(Progress::new(Phase::Verify, shared.rows.load(Ordering::Relaxed), table.estimate(), elapsed));
            }
        }
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|share| share.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect::<Vec<_>>()
    });
    let elapsed = pace.start.elapsed();
    let shares = shares.into_iter().collect::<Result<Vec<_>, _>>()?;
    if shares.iter().any(|share| share.cancelled) {
        return Err(BulkError::Cancelled { rows: shares.iter().map(|share| share.rows).sum() });
    }
    Ok(merge(shares, elapsed))
}

/// Result of one thread.
#[derive(Default)]
struct Share {
    rows: u64,
    mismatch_count: u64,
    /// Mismatches with the number of their part, which gives their order.
    mismatches: Vec<(usize, Mismatch)>,
    cancelled: bool,
}

struct Shared<'a> {
    table: &'a Table,
    parts: &'a [Part],
    next: AtomicUsize,
    rows: AtomicU64,
    cancel: &'a AtomicBool,
}

impl Shared<'_> {
    fn work(&self, conn: &Connection) -> Result<Share, BulkError> {
        let mut share = Share::default();
        while !self.cancel.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = self.parts.get(number) else { return Ok(share) };
            if let Err(error) = self.part(conn, *part, number, &mut share) {
                // The other threads stop at their next part.
                self.next.store(self.parts.len(), Ordering::Relaxed);
                return Err(BulkError::Sqlite { doing: "read the rows", error });
            }
        }
        share.cancelled = true;
        Ok(share)
    }

    /// Reads a part of the table, or less of it if the work is cancelled.
    fn part(&self, conn: &Connection, part: Part, number: usize, share: &mut Share) -> rusqlite::Result<()> {
        let mut statement = conn.prepare_cached(&self.table.select(part))?;
        let mut rows = statement.query(rusqlite::params_from_iter(part.bounds()))?;
        let mut uncounted = 0;
        while let Some(row) = rows.next()? {
            // The SELECT has three columns, so these exist.
            let (rand, hash) = (row.get_ref(1)?, row.get_ref(2)?);
            if !check::is_right(rand, hash) {
                share.mismatch_count += 1;
                if share.mismatches.len() < SHOWN {
                    share.mismatches.push((number, Mismatch::new(row.get_ref(0)?, rand, hash)));
                }
            }
            uncounted += 1;
            if uncounted == STRIDE {
                share.rows += uncounted;
                self.rows.fetch_add(uncounted, Ordering::Relaxed);
                uncounted = 0;
                if self.cancel.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
        }
        share.rows += uncounted;
        self.rows.fetch_add(uncounted, Ordering::Relaxed);
        Ok(())
    }
}

/// One connection per thread, all in a read transaction on the same snapshot.
///
/// SQLite has no call for a common snapshot in its default build, but `data_version` shows whether another connection
/// has committed (<https://sqlite.org/pragma.html#pragma_data_version>): if it is the same before the first transaction
/// begins and after the last has begun, all have the same snapshot.
fn snapshot(source: &Source, options: &VerifyOptions) -> Result<(Table, Vec<Connection>), BulkError> {
    let watch = source.open()?;
    let version = || {
        watch
            .query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0))
            .map_err(|error| table::unreadable(&options.path, error))
    };
    let is_busy = |error: &BulkError| match error {
        BulkError::Source(SourceError::Locked { .. }) => true,
        BulkError::Sqlite { error, .. } => error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy),
        _ => false,
    };
    for attempt in 0..SNAPSHOT_ATTEMPTS {
        thread::sleep(SNAPSHOT_PAUSE * attempt);
        let before = version()?;
        let first = source.open()?;
        let table = Table::look(&first, &options.path)?;
        let threads = table.useful_threads(options.threads.get());
        let mut connections = vec![first];
        for _ in 1..threads {
            let opened = source.open().map_err(BulkError::from);
            match opened.and_then(|conn| table.begin(&conn).map(|()| conn)) {
                Ok(conn) => connections.push(conn),
                // In rollback mode a writer waits for the first connection, and keeps others out.
                Err(error) if is_busy(&error) => {
                    connections.truncate(1);
                    return Ok((table, connections));
                }
                Err(error) => return Err(error),
            }
        }
        if threads == 1 || version().is_ok_and(|now| now == before) {
            return Ok((table, connections));
        }
    }
    // It is written too often for several connections to begin between two commits.
    let first = source.open()?;
    let table = Table::look(&first, &options.path)?;
    Ok((table, vec![first]))
}

fn merge(shares: Vec<Share>, elapsed: Duration) -> VerifyReport {
    let rows = shares.iter().map(|share| share.rows).sum();
    let mismatch_count = shares.iter().map(|share| share.mismatch_count).sum();
    let threads = shares.len();
    // Parts are assigned in order, so each thread's first mismatches contain its part of the table's first.
    let mut mismatches: Vec<_> = shares.into_iter().flat_map(|share| share.mismatches).collect();
    mismatches.sort_by_key(|(part, _)| *part);
    mismatches.truncate(SHOWN);
    let mismatches = mismatches.into_iter().map(|(_, mismatch)| mismatch).collect();
    VerifyReport { rows, mismatch_count, mismatches, elapsed, threads }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// A writer commits a new number in bursts: connections that open one after the other would read different numbers,
    /// and the pauses between bursts allow a common snapshot.
    #[test]
    fn all_connections_see_the_same_state() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("bench.db");
        let sql = format!(
            "PRAGMA journal_mode = WAL; CREATE TABLE bench(ID int PRIMARY KEY, rand TEXT, hash TEXT);
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {}) INSERT INTO bench SELECT i, i, i FROM n",
            2 * table::SMALLEST_PART
        );
        Connection::open(&path).and_then(|conn| conn.execute_batch(&sql)).expect("made");
        let options = VerifyOptions { threads: NonZeroUsize::new(2).expect("not zero"), ..VerifyOptions::new(&path) };
        let number = |conn: &Connection| {
            conn.query_row("SELECT rand FROM bench WHERE ID = 0", [], |row| row.get::<_, String>(0)).expect("reads")
        };
        let done = AtomicBool::new(false);
        let seen: Vec<_> = thread::scope(|scope| {
            scope.spawn(|| {
                let conn = Connection::open(&path).expect("opens");
                conn.execute_batch("PRAGMA synchronous = OFF").expect("set");
                let mut number = 0;
                while !done.load(Ordering::Relaxed) {
                    let burst = Instant::now();
                    while burst.elapsed() < Duration::from_millis(20) {
                        conn.execute("UPDATE bench SET rand = ?1 WHERE ID = 0", [number.to_string()]).expect("writes");
                        number += 1;
                    }
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let seen = (0..60)
                .map(|_| {
                    let source = Source::find(&path).expect("found");
                    let seen = snapshot(&source, &options).map(|(_, all)| all.iter().map(number).collect::<Vec<_>>());
                    let changing = || Err(SourceError::Changing(path.clone()).into());
                    if source.unchanged() { seen } else { changing() }
                })
                .collect();
            done.store(true, Ordering::Relaxed);
            seen
        });
        let mut taken = 0;
        for result in seen {
            match result {
                Ok(numbers) => match &numbers[..] {
                    [one, other] => {
                        assert_eq!(one, other, "after {taken} common snapshots");
                        taken += 1;
                    }
                    // No two began between two commits.
                    _ => assert_eq!(numbers.len(), 1),
                },
                Err(error) => assert!(matches!(error, BulkError::Source(SourceError::Changing(_))), "{error}"),
            }
        }
        assert!(taken > 0);
    }
}
