//! Makes a database: one thread draws and hashes, this one inserts.

use crate::insert::Insert;
use crate::producer::{self, Buffers, Layout};
use crate::progress::{Pace, Phase, Progress, rate};
use crate::row::Row;
use crate::settings::{self, Setting};
use crate::target::Target;
use crate::{BulkError, Schema};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What to make. [`GenerateOptions::new`] gives the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateOptions {
    /// The file. Its folder must exist.
    pub path: PathBuf,
    /// Rows in all, at least 1.
    pub rows: u64,
    /// Rows committed together, at least 1. Up to 2,048 they are one INSERT that commits itself; above, several
    /// between BEGIN and COMMIT.
    pub batch: u64,
    /// The form of the table.
    pub schema: Schema,
    /// `false`: the statement is parsed anew for each batch.
    pub prepare: bool,
    /// Whether to VACUUM at the end.
    pub vacuum: bool,
    /// Seed of the generator.
    pub seed: u64,
    /// PRAGMAs in the order in which they are set, before the table is made.
    pub settings: Vec<Setting>,
    /// Whether an earlier generated database may be replaced. Nothing else ever is.
    pub replace: bool,
    /// Time between two reports of progress.
    pub report_every: Duration,
}

impl GenerateOptions {
    /// `rows` rows in batches of 2,000, prepared, WAL with `synchronous = NORMAL`, seed 1.
    pub fn new(path: impl AsRef<Path>, rows: u64) -> Self {
        Self {
            path: path.as_ref().into(),
            rows,
            batch: 2000,
            schema: Schema::default(),
            prepare: true,
            vacuum: false,
            seed: 1,
            settings: settings::default_settings(),
            replace: false,
            report_every: Duration::from_secs(2),
        }
    }

    fn check(&self) -> Result<(), BulkError> {
        if self.rows == 0 || self.batch == 0 {
            return Err(BulkError::Options("rows and batch must be at least 1".into()));
        }
        if i64::try_from(self.rows).is_err() {
            return Err(BulkError::Options("SQLite counts rows up to 2^63 - 1".into()));
        }
        Ok(())
    }
}

/// What was made.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GenerateReport {
    /// Rows in the table.
    pub rows: u64,
    /// Batches committed.
    pub batches: u64,
    /// Seconds from the first row to the last commit; neither the VACUUM nor the closing is in them.
    pub seconds: f64,
    /// `rows / seconds`.
    pub rows_per_second: f64,
    /// Seconds of the VACUUM, where one was asked for.
    pub vacuum_seconds: Option<f64>,
    /// Seconds of closing the database: in WAL mode the last checkpoint.
    pub close_seconds: f64,
    /// Size of the closed database with what remains of its log.
    pub bytes: u64,
    /// The PRAGMAs as SQLite reported them, before the first row.
    pub settings: Vec<Setting>,
}

/// Makes the database that `options` describe.
///
/// `progress` is called about every [`GenerateOptions::report_every`], from this thread. `cancel` is looked at
/// before every statement and during the VACUUM.
///
/// # Errors
///
/// Before the table exists, nothing is left behind. Afterwards [`BulkError::Cancelled`] and [`BulkError::Stopped`]
/// say how many rows the database holds; it is valid and ends with a complete batch (unless the settings gave that
/// up: `journal_mode = OFF`). Only a failed or cancelled VACUUM leaves all the rows.
pub fn generate(
    options: &GenerateOptions,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<GenerateReport, BulkError> {
    options.check()?;
    let mut target = Target::claim(&options.path, options.replace)?;
    let conn = target.open()?;
    let settings = settings::apply(&conn, &options.settings)?;
    conn.execute_batch(options.schema.sql()).map_err(BulkError::doing("create the table"))?;
    target.keep();

    let mut run = Run { conn: &conn, options, progress, cancel, pace: Pace::new(options.report_every), rows: 0 };
    let seconds = run.insert_all().map_err(|cause| stopped(&conn, cause))?;
    let vacuum_seconds = if options.vacuum { Some(run.vacuum()?) } else { None };

    let closing = Instant::now();
    conn.close().map_err(|(_, error)| BulkError::sqlite("close the database", &error))?;
    Ok(GenerateReport {
        rows: options.rows,
        batches: options.rows.div_ceil(options.batch),
        seconds: seconds.as_secs_f64(),
        rows_per_second: rate(options.rows, seconds),
        vacuum_seconds,
        close_seconds: closing.elapsed().as_secs_f64(),
        bytes: target.bytes(),
        settings,
    })
}

struct Run<'a> {
    conn: &'a Connection,
    options: &'a GenerateOptions,
    progress: &'a mut dyn FnMut(Progress),
    cancel: &'a AtomicBool,
    pace: Pace,
    /// Rows committed.
    rows: u64,
}

impl<'a> Run<'a> {
    fn insert_all(&mut self) -> Result<Duration, BulkError> {
        let layout = Layout::new(self.options.rows, self.options.batch);
        let (producer, buffers) = producer::ends(layout, self.options.seed);
        self.pace = Pace::new(self.options.report_every);
        thread::scope(|scope| {
            scope.spawn(move || producer.run());
            // Moved in: when this ends early, the channel closes and the producer ends too.
            self.insert_buffers(layout, buffers)
        })?;
        Ok(self.pace.start.elapsed())
    }

    fn insert_buffers(&mut self, layout: Layout, buffers: Buffers) -> Result<(), BulkError> {
        let mut statements = Statements::new(self.conn);
        let mut next = 0;
        while let Some(buffer) = buffers.next() {
            for rows in buffer.chunks(layout.statement as usize) {
                if self.cancel.load(Ordering::Relaxed) {
                    return Err(BulkError::Cancelled { rows: self.rows });
                }
                let batch_begins = next % layout.batch == 0;
                if batch_begins && !self.options.prepare {
                    statements.forget();
                }
                if batch_begins && !layout.statement_is_batch() {
                    self.conn.execute_batch("BEGIN").map_err(BulkError::doing("begin a batch"))?;
                }
                statements.run(next, rows).map_err(BulkError::doing("insert rows"))?;
                next += rows.len() as u64;
                let batch_ends = next % layout.batch == 0 || next == self.options.rows;
                if batch_ends && !layout.statement_is_batch() {
                    self.conn.execute_batch("COMMIT").map_err(BulkError::doing("commit a batch"))?;
                }
                if batch_ends {
                    self.rows = next;
                }
                if let Some(elapsed) = self.pace.due() {
                    (self.progress)(Progress::new(Phase::Insert, self.rows, self.options.rows, elapsed));
                }
            }
            buffers.recycle(buffer);
        }
        Ok(())
    }

    fn vacuum(&mut self) -> Result<f64, BulkError> {
        (self.progress)(Progress::new(Phase::Vacuum, self.rows, self.rows, self.pace.start.elapsed()));
        let begun = Instant::now();
        let interrupt = self.conn.get_interrupt_handle();
        let (cancel, done) = (self.cancel, AtomicBool::new(false));
        // VACUUM is one long statement: a second thread looks at the flag meanwhile.
        let result = thread::scope(|scope| {
            let watch = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if cancel.load(Ordering::Relaxed) {
                        interrupt.interrupt();
                    }
                    thread::park_timeout(Duration::from_millis(50));
                }
            });
            let result = self.conn.execute_batch("VACUUM");
            done.store(true, Ordering::Relaxed);
            watch.thread().unpark();
            result
        });
        match result {
            Ok(()) => Ok(begun.elapsed().as_secs_f64()),
            Err(_) if cancel.load(Ordering::Relaxed) => Err(BulkError::Cancelled { rows: self.rows }),
            Err(error) => {
                let cause = Box::new(BulkError::sqlite("vacuum the database", &error));
                Err(BulkError::Stopped { rows: self.rows, cause })
            }
        }
    }
}

/// Prepared INSERTs by their number of rows. A run needs at most four: of a batch or its even part, of what remains
/// of a batch, of what remains in the last one.
struct Statements<'conn> {
    conn: &'conn Connection,
    prepared: Vec<Insert<'conn>>,
}

impl<'conn> Statements<'conn> {
    fn new(conn: &'conn Connection) -> Self {
        Self { conn, prepared: Vec::new() }
    }

    fn run(&mut self, first: u64, rows: &[Row]) -> rusqlite::Result<()> {
        let found = self.prepared.iter().position(|insert| insert.rows() == rows.len());
        let at = match found {
            Some(at) => at,
            None => {
                self.prepared.push(Insert::prepare(self.conn, rows.len())?);
                self.prepared.len() - 1
            }
        };
        // IDs stay below the number of rows, which fits an i64.
        self.prepared[at].run(first as i64, rows)
    }

    fn forget(&mut self) {
        self.prepared.clear();
    }
}

/// Undoes the batch under way and asks the database itself how many rows it holds.
fn stopped(conn: &Connection, cause: BulkError) -> BulkError {
    if !conn.is_autocommit() {
        // SQLite has rolled back by itself after some errors; then this one says so, and that is no news.
        let _ = conn.execute_batch("ROLLBACK");
    }
    let last = conn.query_row("SELECT max(ID) FROM bench", [], |row| row.get::<_, Option<i64>>(0));
    match (last, cause) {
        (Ok(last), BulkError::Cancelled { .. }) => BulkError::Cancelled { rows: rows_up_to(last) },
        (Ok(last), cause) => BulkError::Stopped { rows: rows_up_to(last), cause: Box::new(cause) },
        // A database that cannot be read any more is worth its own message, not a count.
        (Err(_), cause) => cause,
    }
}

fn rows_up_to(last: Option<i64>) -> u64 {
    last.map_or(0, |id| id as u64 + 1)
}
