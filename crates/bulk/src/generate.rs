//! Makes a database: the schema of a workload, its rows, and what it does then.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_database::{Guard, Script};
use litelab_model::plan::DataPlan;
use litelab_model::setting::Setting;

use crate::load::{Rows, load};
use crate::progress::{Pace, Phase, Progress, rate};
use crate::settings;
use crate::target::Target;
use crate::{BulkError, LIMIT};

/// What to make. [`GenerateOptions::new`] gives the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateOptions {
    /// The file. Its folder must exist.
    pub path: PathBuf,
    /// Statements that make the empty database.
    pub schema: String,
    /// Its rows.
    pub data: DataPlan,
    /// Rows committed together, at least 1.
    pub batch: u64,
    /// Whether to VACUUM at the end.
    pub vacuum: bool,
    /// Seed of the values.
    pub seed: u64,
    /// Settings of the connection, applied in order before the schema is created.
    pub settings: Vec<Setting>,
    /// Whether an earlier database of this workload may be replaced. Nothing else ever is.
    pub replace: bool,
    /// Time between two reports of progress.
    pub report_every: Duration,
}

impl GenerateOptions {
    /// The schema and data of a workload in batches of 2,000 rows, seed 1.
    pub fn new(path: impl AsRef<Path>, (schema, data): (String, DataPlan), settings: Vec<Setting>) -> Self {
        Self {
            path: path.as_ref().into(),
            schema,
            data,
            batch: 2000,
            vacuum: false,
            seed: 1,
            settings,
            replace: false,
            report_every: Duration::from_secs(2),
        }
    }
}

/// What was made.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateReport {
    /// Rows of the data.
    pub rows: u64,
    /// Batches committed.
    pub batches: u64,
    /// From the first row to the last commit; `data.then`, the VACUUM and the closing are not in it.
    pub elapsed: Duration,
    /// Of the VACUUM, where one was asked for.
    pub vacuum: Option<Duration>,
    /// Size of the closed database with what remains of its log.
    pub bytes: u64,
    /// The PRAGMAs as SQLite reported them, before the first row.
    pub settings: Vec<(String, String)>,
}

impl GenerateReport {
    /// Of the data.
    #[must_use]
    pub fn rows_per_second(&self) -> f64 {
        rate(self.rows, self.elapsed)
    }
}

/// Makes the database that `options` describe.
///
/// `progress` is called about every [`GenerateOptions::report_every`], from this thread. `cancel` interrupts whatever
/// statement is executed.
///
/// # Errors
///
/// Before the schema is made, nothing is left behind. Afterwards [`BulkError::Cancelled`] and [`BulkError::Stopped`]
/// have the number of rows that the database holds; it is valid and ends with a complete batch (unless the settings gave that
/// up: `journal_mode = OFF`). Only a failed or cancelled `data.then` or VACUUM leaves all the rows.
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
        litelab_database::copy(Path::new(from), &options.path)?;
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
