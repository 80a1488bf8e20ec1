//! Reading a run file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flate2::read::ZlibDecoder;
use litelab_database::{Source, immutable};
use litelab_model::{Plan, Server};
use litelab_observe::environment::{Environment, LoadWindow};
use litelab_observe::sidecar;
use litelab_protocol::{Description, DriverDescription, TrialResult};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{APPLICATION_ID, FORMAT, TABLES, upgrade};
use crate::calibration::StoredCalibration;
use crate::error::RecordError;
use crate::outcome::{Outcome, Series, TrialRecord};
use crate::stacks::Stacks;

/// Limit on the size in bytes of a compressed text; litelab stores far less.
const UNPACKED_AT_MOST: u64 = 16 << 20;

/// A run file, opened read-only.
#[derive(Debug)]
pub struct RunFile {
    connection: Connection,
    path: PathBuf,
    /// Whether its names are those of [`upgrade::FORMAT`].
    is_old: bool,
    progress: Progress,
}

/// Data of a run without its trials.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// Path of the run file.
    pub path: PathBuf,
    /// Version of litelab that created the file.
    pub litelab: String,
    /// Start time in UTC.
    pub created: String,
    /// End time of the last round; `None` if the run is incomplete.
    pub finished: Option<String>,
    /// Absolute directory of the trials' databases; `None` in run files of older versions.
    pub directory: Option<PathBuf>,
    /// Text of the study.
    pub study_toml: String,
    /// Resolved study.
    pub plan: Plan,
    /// Host environment.
    pub environment: Environment,
    /// Descriptions of the runners.
    pub runners: Vec<Description>,
    /// Fingerprints of the runners' programs, by runner; empty in run files of older versions.
    pub builds: BTreeMap<String, String>,
    /// Servers used by the run.
    pub servers: BTreeMap<Server, ServerRecord>,
    /// State of each database that data come from (`data.from`), by its path.
    pub sources: BTreeMap<String, String>,
    /// Number of complete rounds of each scenario in the plan.
    pub done: Vec<u32>,
    /// Machine load of each round.
    pub loads: Vec<LoadWindow>,
    /// Cost of the harness, one entry per no-op trial.
    pub calibrations: Vec<Calibration>,
    /// Calibration of the host, if it existed when the run began.
    pub host: Option<StoredCalibration>,
    /// Call stacks by variant (`--flame`).
    pub stacks: BTreeMap<usize, Stacks>,
}

/// Result of a no-op trial.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Index of the scenario.
    pub scenario: usize,
    /// Name of the runner.
    pub runner: String,
    /// Counts and times reported by the runner.
    pub result: TrialResult,
}

/// A server used by a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Name and version reported by the server.
    pub version: String,
    /// Url without the password.
    pub url: String,
    /// Whether the server belongs to the user; otherwise litelab started it.
    pub own: bool,
}

/// A trial and its row id in the file.
#[derive(Clone, Debug)]
pub struct StoredTrial {
    /// Row id.
    pub id: i64,
    /// The trial's data.
    pub record: TrialRecord,
}

impl RunInfo {
    /// Name of the run's file, without its path, which may contain the name of a person.
    #[must_use]
    pub fn file_name(&self) -> String {
        file_name(&self.path)
    }

    /// Finds a driver and its runner by `driver` or `runner:driver`. The name of a driver may contain a colon
    /// (`node:sqlite`), so it is compared first.
    #[must_use]
    pub fn driver(&self, name: &str) -> Option<(&Description, &DriverDescription)> {
        let all = || self.runners.iter().flat_map(|r| r.drivers.iter().map(move |d| (r, d)));
        all().find(|(_, driver)| driver.name == name).or_else(|| {
            let (runner, bare) = name.split_once(':')?;
            all().find(|(r, driver)| r.runner == runner && driver.name == bare)
        })
    }

    /// Largest number of complete rounds of any scenario.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.done.iter().copied().max().unwrap_or_default()
    }
}

impl RunFile {
    /// Opens a run file.
    ///
    /// # Errors
    /// If the file does not exist, is not a litelab run, or has another format version.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        roll_back(path);
        let mut connection = Source::find(path)?.open()?;
        if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
            return Err(RecordError::BadInput(format!(
                "{}: this file is empty: its run ended before it began; run the study again with `-o {}`",
                path.display(),
                path.display()
            )));
        }
        let progress = Progress::watch(&mut connection, PATIENCE).map_err(|e| RecordError::sqlite("read", path, &e))?;
        let pragma = |name: &str| -> Result<i32, RecordError> {
            connection
                .pragma_query_value(None, name, |row| row.get(0))
                .map_err(|e| RecordError::sqlite("read", path, &e))
        };
        if pragma("application_id")? != APPLICATION_ID {
            return Err(RecordError::BadInput(format!("{}: this database is no litelab run", path.display())));
        }
        let format = pragma("user_version")?;
        if ![FORMAT, upgrade::FORMAT].contains(&format) {
            return Err(RecordError::BadInput(format!(
                "{}: it has format {format}, this litelab reads formats {} and {FORMAT}: use the litelab that made it",
                path.display(),
                upgrade::FORMAT
            )));
        }
        let file = Self { connection, path: path.to_path_buf(), is_old: format != FORMAT, progress };
        file.has_tables()?;
        if file.is_old {
            file.connection.execute_batch(upgrade::VIEWS).map_err(file.fail("read"))?;
        }
        Ok(file)
    }

    /// Refuses a file with a view in place of a table.
    fn has_tables(&self) -> Result<(), RecordError> {
        let others = self.texts("SELECT name FROM sqlite_schema WHERE type <> 'table'")?;
        match TABLES.iter().find(|table| others.iter().any(|name| name.eq_ignore_ascii_case(table))) {
            Some(table) => Err(RecordError::BadInput(format!(
                "{}: this is no litelab run: its `{table}` is no table",
                self.path.display()
            ))),
            None => Ok(()),
        }
    }

    /// Absolute directory of the trials' databases; `None` in run files of older versions.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn directory(&self) -> Result<Option<PathBuf>, RecordError> {
        Ok(self.get("directory")?.map(PathBuf::from))
    }

    /// Name of the file, without its path.
    pub(crate) fn file_name(&self) -> String {
        file_name(&self.path)
    }

    /// The connection, for a read that begins now.
    pub(crate) fn connection(&self) -> &Connection {
        self.progress.made();
        &self.connection
    }

    /// Whether it is a recording of databases in use, and no run.
    pub(crate) fn is_recording(&self) -> Result<bool, RecordError> {
        Ok(self.get("kind")?.as_deref() == Some("recording"))
    }

    pub(crate) fn fail(&self, what: &str) -> impl Fn(rusqlite::Error) -> RecordError + '_ {
        let what = what.to_owned();
        move |e| RecordError::sqlite(&what, &self.path, &e)
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<String>, RecordError> {
        self.connection
            .query_row("SELECT value FROM run WHERE key = ?1", [key], |row| row.get(0))
            .optional()
            .map_err(self.fail("read"))
    }

    /// The rows of a query of one column.
    pub(crate) fn texts(&self, sql: &str) -> Result<Vec<String>, RecordError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection().prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(self.fail("read"))
    }

    fn need(&self, key: &str) -> Result<String, RecordError> {
        self.get(key)?.ok_or_else(|| RecordError::BadInput(format!("{}: its `{key}` is missing", self.path.display())))
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, what: &str, text: &str) -> Result<T, RecordError> {
        let mut text = Cow::Borrowed(text);
        if self.is_old {
            let old = serde_json::from_str(&text).map_err(|e| self.damaged(what, e))?;
            // As text again: a second kind of deserializer of all types would be a third of this crate's code.
            text = upgrade::convert(old).map_err(|e| self.damaged(what, e))?.to_string().into();
        }
        serde_json::from_str(&text).map_err(|e| self.damaged(what, e))
    }

    pub(crate) fn damaged(&self, what: &str, error: impl Display) -> RecordError {
        RecordError::BadInput(format!("{}: its {what} is damaged: {error}", self.path.display()))
    }

    /// Reads all data except the trials.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn info(&self) -> Result<RunInfo, RecordError> {
        self.progress.made();
        if self.is_recording()? {
            let what = "this is a recording: `litelab watch` plays it, and `litelab report` and `litelab show` show it";
            return Err(RecordError::BadInput(format!("{}: {what}", self.path.display())));
        }
        let runners = self.texts("SELECT description FROM runner ORDER BY name")?;
        let loads = self.texts("SELECT load FROM round ORDER BY started")?;
        let plan: Plan = self.parse("plan", &self.need("plan")?)?;
        let count = |scenario: usize| -> rusqlite::Result<u32> {
            let sql = "SELECT count(*) FROM round WHERE scenario = ?1";
            self.connection.query_row(sql, [scenario as i64], |row| row.get(0))
        };
        let done = (0..plan.scenarios.len()).map(count).collect::<Result<_, _>>().map_err(self.fail("read"))?;
        let calibrations = || -> rusqlite::Result<Vec<(i64, String, String)>> {
            self.connection
                .prepare("SELECT scenario, runner, result FROM calibration ORDER BY scenario, runner")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        };
        Ok(RunInfo {
            path: self.path.clone(),
            litelab: self.need("litelab")?,
            created: self.need("created")?,
            finished: self.get("finished")?,
            directory: self.directory()?,
            study_toml: self.need("study_toml")?,
            plan,
            environment: self.parse("environment", &self.need("environment")?)?,
            runners: runners.iter().map(|t| self.parse("runner", t)).collect::<Result<_, _>>()?,
            done,
            servers: self.get("servers")?.map_or(Ok(BTreeMap::new()), |t| self.parse("servers", &t))?,
            sources: self.get("sources")?.map_or(Ok(BTreeMap::new()), |t| self.parse("sources", &t))?,
            builds: self.get("builds")?.map_or(Ok(BTreeMap::new()), |t| self.parse("builds", &t))?,
            // Optional data: a format of another version must not prevent reading the run.
            host: self.get("host_calibration")?.and_then(|text| self.parse("host", &text).ok()),
            loads: loads.iter().map(|t| self.parse("load", t)).collect::<Result<_, _>>()?,
            calibrations: calibrations()
                .map_err(self.fail("read"))?
                .into_iter()
                .map(|(scenario, runner, text)| {
                    Ok(Calibration { scenario: scenario as usize, runner, result: self.parse("calibration", &text)? })
                })
                .collect::<Result<_, RecordError>>()?,
            stacks: self.stacks().map_err(self.fail("read"))?,
        })
    }

    /// Reads the call stacks. Damaged ones are skipped, because the run is complete without them.
    fn stacks(&self) -> rusqlite::Result<BTreeMap<usize, Stacks>> {
        if !self.connection.table_exists(Some("main"), "flame")? {
            return Ok(BTreeMap::new());
        }
        let mut statement = self.connection.prepare("SELECT variant, hertz, folded FROM flame ORDER BY variant")?;
        let rows = statement.query_map([], |row| {
            let (variant, hertz, folded): (i64, u32, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(unpacked(&folded).ok().map(|text| (variant as usize, Stacks::parse(&text, hertz))))
        })?;
        Ok(rows.filter_map(Result::ok).flatten().collect())
    }

    /// Passes all trials to `each`, in execution order and one at a time, because a long run does not fit in memory.
    ///
    /// # Errors
    /// If the file is damaged, or the first error of `each`.
    pub fn trials(&self, each: &mut dyn FnMut(StoredTrial) -> Result<(), RecordError>) -> Result<(), RecordError> {
        keep_freed_memory();
        let mut statement = self
            .connection
            .prepare(
                "SELECT id, round, variant, position, started, seconds, measurement, failure FROM trial ORDER BY id",
            )
            .map_err(self.fail("read"))?;
        let mut rows = statement.query([]).map_err(self.fail("read"))?;
        loop {
            self.progress.made();
            let Some(row) = rows.next().map_err(self.fail("read"))? else { break };
            let read = || -> rusqlite::Result<_> {
                let (measurement, failure): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
                let variant: i64 = row.get(2)?;
                Ok((row.get(0)?, row.get(1)?, variant, row.get(3)?, row.get(4)?, row.get(5)?, measurement, failure))
            };
            let (id, round, variant, position, started, seconds, measurement, failure) =
                read().map_err(self.fail("read"))?;
            let outcome = match (measurement, failure) {
                (Some(text), _) => Outcome::Measured(self.parse("measurement", &text)?),
                (None, Some(text)) => Outcome::Failed(self.parse("failure", &text)?),
                (None, None) => {
                    return Err(RecordError::BadInput(format!("{}: trial {id} is empty", self.path.display())));
                }
            };
            let record = TrialRecord { round, variant: variant as usize, position, started, seconds, outcome };
            each(StoredTrial { id, record })?;
        }
        Ok(())
    }

    /// Reads the time series of a trial: empty in a stored file, from which they were removed.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn series(&self, trial: i64) -> Result<Series, RecordError> {
        let text: Option<String> = self
            .connection()
            .query_row("SELECT data FROM series WHERE trial = ?1", [trial], |row| row.get(0))
            .optional()
            .map_err(self.fail("read the series of a trial from"))?;
        text.map_or_else(|| Ok(Series::default()), |text| self.parse("series", &text))
    }
}

/// The text that was compressed by zlib.
pub(crate) fn unpacked(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(packed).take(UNPACKED_AT_MOST).read_to_string(&mut text)?;
    Ok(text)
}

/// Name of a file, without its path, which may contain the name of a person.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned())
}

/// Time limit for SQLite to find the next row: a damaged file may contain a cycle.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time of the last successful read from a file.
#[derive(Debug)]
struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    /// Installs a handler that interrupts the connection if nothing has been read for `patience`.
    fn watch(connection: &mut Connection, patience: Duration) -> rusqlite::Result<Self> {
        let last = Arc::new(Mutex::new(Instant::now()));
        let seen = Arc::clone(&last);
        let is_stuck = move || seen.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > patience;
        connection.progress_handler(100_000, Some(is_stuck))?;
        Ok(Self(last))
    }

    fn made(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Keeps freed memory in the process. Histograms are a quarter of a megabyte each and are freed after each trial: glibc
/// would return that memory to the system and request it again page by page, which takes as long as all other work.
/// glibc returns no less than twice the largest mapping ever freed (mallopt(3), `M_TRIM_THRESHOLD`); the mapping made
/// here is never touched. Other allocators are unaffected.
fn keep_freed_memory() {
    const MAPPING: usize = 16 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(MAPPING)));
}

/// Rolls back the journal of a run killed during a commit, which a read-only connection cannot do; a writing connection
/// does it with its first read. Applies only to files marked as litelab runs, because no other file may be written.
pub(crate) fn roll_back(path: &Path) {
    if !sidecar(path, "-journal").exists() || !is_marked(path).unwrap_or(false) {
        return;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // On failure the next connection to the file reports the reason.
    let _done = Connection::open_with_flags(path, flags)
        .and_then(|c| c.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())));
}

/// Whether the file itself, regardless of its journal, has litelab's application id. Reads it through SQLite: closing
/// another descriptor would drop the locks that this process may hold on the file.
fn is_marked(path: &Path) -> rusqlite::Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let id: i32 =
        Connection::open_with_flags(immutable(path), flags)?
            .pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id == APPLICATION_ID)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_a_circle_is_given_up_and_what_makes_progress_is_not() {
        let mut connection = Connection::open_in_memory().unwrap();
        let progress = Progress::watch(&mut connection, Duration::from_millis(300)).unwrap();
        let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
        let begun = Instant::now();
        let mut statement = connection.prepare(endless).unwrap();
        let mut rows = statement.query([]).unwrap();
        // Reads rows for longer than the time limit of a single one.
        while begun.elapsed() < Duration::from_millis(900) {
            progress.made();
            assert!(rows.next().unwrap().is_some());
        }
        let circle = connection.query_row(&format!("SELECT 1 FROM ({endless}) WHERE x < 0"), [], |_| Ok(()));
        let code = circle.unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(rusqlite::ErrorCode::OperationInterrupted));
    }
}
