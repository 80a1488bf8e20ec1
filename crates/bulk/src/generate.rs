//! Generation of a database: the schema of a workload, its rows, and its final statements.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_database::{Guard, Script, SourceError};

use crate::load::{Rows, load};
use crate::progress::{Pace, Phase, Progress, rate};
use crate::settings;
use crate::target::Target;
use crate::{BulkError, GenerateOptions, LIMIT};

/// Result of a generation.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateReport {
    /// Number of inserted rows.
    pub rows: u64,
    /// Number of committed batches.
    pub batches: u64,
    /// Time from the first row to the last commit, without `data.then`, the VACUUM and closing.
    pub elapsed: Duration,
    /// Duration of the VACUUM, if it was requested.
    pub vacuum: Option<Duration>,
    /// Size in bytes of the closed database and of a log that remains.
    pub bytes: u64,
    /// PRAGMAs as SQLite reported them before the first row.
    pub settings: Vec<(String, String)>,
}

impl GenerateReport {
    /// Rate of inserting rows, without `data.then`, the VACUUM and closing.
    #[must_use]
    pub fn rows_per_second(&self) -> f64 {
        rate(self.rows, self.elapsed)
    }
}

/// Generates the database that `options` describe.
///
/// `progress` is called about every [`GenerateOptions::report_every`], from this thread. `cancel` interrupts the
/// statement that is being executed.
///
/// # Errors
///
/// An error before the schema is created leaves what was there before. Later [`BulkError::Cancelled`] and
/// [`BulkError::Stopped`] have the number of rows in the database, which is valid and ends with a complete batch
/// (unless the settings disable that: `journal_mode = OFF`). If `data.then` or the VACUUM fails or is cancelled, all
/// rows stay.
pub fn generate(
    options: &GenerateOptions,
    progress: &mut dyn FnMut(Progress),
    cancel: &'static AtomicBool,
) -> Result<GenerateReport, BulkError> {
    if options.batch == 0 {
        return Err(BulkError::Options("a batch has at least one row".into()));
    }
    let mut target = Target::claim(options)?;
    if let Some(from) = &options.data.from {
        litelab_database::copy_until(Path::new(from), target.path(), cancel).map_err(|error| match error {
            SourceError::Stopped(_) => BulkError::Cancelled { rows: 0 },
            error => BulkError::Source(error),
        })?;
    }
    let connection = target.open()?;
    let settings = settings::apply(&connection, &options.settings)?;
    let guard = Guard::new(connection).map_err(BulkError::doing("open the database"))?;
    guard.stop_by(cancel);
    let script = |what: &'static str, sql: &str| {
        guard.within(LIMIT);
        guard.script(sql, Script::Whole).map_err(|error| match cancel.load(Ordering::Relaxed) {
            true => BulkError::Cancelled { rows: 0 },
            false => BulkError::Sql { what, error },
        })
    };
    script("schema", &options.schema)?;
    target.keep();

    let data = &options.data;
    let mut pace = Pace::new(options.report_every);
    let mut rows = 0;
    let mut work = || {
        if let Some(transaction) = &data.transaction {
            let wanted = Rows { transaction, count: data.rows, batch: options.batch, seed: options.seed };
            load(&guard, &wanted, LIMIT, &mut |committed| {
                rows = committed;
                if let Some(elapsed) = pace.due() {
                    progress(Progress::new(Phase::Insert, rows, data.rows, elapsed));
                }
                if cancel.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        let elapsed = pace.start.elapsed();
        if let Some(then) = &data.then {
            progress(Progress::new(Phase::Then, rows, rows, pace.start.elapsed()));
            script("data.then", then)?;
        }
        let begun = Instant::now();
        if options.vacuum {
            progress(Progress::new(Phase::Vacuum, rows, rows, pace.start.elapsed()));
            script("VACUUM", "VACUUM")?;
        }
        Ok((elapsed, options.vacuum.then(|| begun.elapsed())))
    };
    let done = work();
    let (elapsed, vacuum) = done.map_err(|cause: BulkError| match cause {
        _ if cancel.load(Ordering::Relaxed) => BulkError::Cancelled { rows },
        cause => BulkError::Stopped { rows, cause: Box::new(cause) },
    })?;
    let connection = guard.release().map_err(BulkError::doing("close the database"))?;
    connection.close().map_err(|(_, error)| BulkError::Sqlite { doing: "close the database", error })?;
    Ok(GenerateReport { rows, batches: rows.div_ceil(options.batch), elapsed, vacuum, bytes: target.bytes(), settings })
}
