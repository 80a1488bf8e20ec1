//! Writing a run file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use litelab_model::{Plan, Server};
use litelab_observe::environment::{Environment, LoadWindow};
use litelab_observe::sidecar;
use litelab_protocol::{Description, TrialResult};
use rusqlite::{Connection, Params, params};
use serde::Serialize;

use super::{APPLICATION_ID, FLAME, FORMAT, SCHEMA};
use crate::calibration::StoredCalibration;
use crate::error::RecordError;
use crate::lock::Lock;
use crate::outcome::{Outcome, Series, TrialRecord};
use crate::read::ServerRecord;
use crate::stacks::Stacks;

/// Busy timeout of SQLite in milliseconds; after it a call fails with [`RecordError::Busy`].
pub(crate) const BUSY_MS: u32 = 2000;

/// An open run file, locked against other writers.
#[derive(Debug)]
pub struct Recorder {
    // Declared first, so that the connection is closed before the lock is released.
    connection: Connection,
    path: PathBuf,
    /// None as long as it is in memory.
    _lock: Option<Lock>,
}

impl Recorder {
    /// Creates a run file, with what `more` writes to it. An empty file counts as missing: a run killed during the
    /// creation of its file leaves one.
    ///
    /// # Errors
    /// If the file exists, or cannot be written, and the error of `more`.
    pub fn create(
        path: &Path,
        plan: &Plan,
        study_toml: &str,
        environment: &Environment,
        more: impl FnOnce(&Self) -> Result<(), RecordError>,
    ) -> Result<Self, RecordError> {
        let draft = Self::draft(path, SCHEMA)?;
        draft.set("study_toml", study_toml)?;
        draft.set_json("plan", plan)?;
        draft.set_json("environment", environment)?;
        more(&draft)?;
        draft.publish()
    }

    /// A file in memory, which [`Recorder::publish`] gives its name: a run that is killed before leaves no half of a
    /// file.
    pub(crate) fn draft(path: &Path, schema: &str) -> Result<Self, RecordError> {
        is_new(path)?;
        let connection = Connection::open_in_memory().map_err(|e| RecordError::sqlite("create", path, &e))?;
        let draft = Self { connection, path: path.to_path_buf(), _lock: None };
        draft.execute("create", |c| {
            c.pragma_update(None, "application_id", APPLICATION_ID)?;
            c.pragma_update(None, "user_version", FORMAT)?;
            c.execute_batch(schema)
        })?;
        draft.set("litelab", env!("CARGO_PKG_VERSION"))?;
        draft.set("created", &now())?;
        Ok(draft)
    }

    /// Stores a draft under its name, and opens it.
    pub(crate) fn publish(mut self) -> Result<Self, RecordError> {
        let path = &self.path;
        let whole = self.connection.serialize(rusqlite::MAIN_DB);
        let whole = whole.map_err(|e| RecordError::sqlite("create", path, &e))?;
        publish(&whole, path).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => RecordError::run_file("create", path, &e),
        })?;
        Self::open(path)
    }

    /// Opens a run file to append to it.
    ///
    /// # Errors
    /// If the file cannot be opened for writing, has another format, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let lock = lock(path)?;
        // SQLite takes a path that begins with `file:` for a URI.
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let connection = Connection::open(whole).map_err(|e| RecordError::sqlite("open", path, &e))?;
        let recorder = Self { connection, path: path.to_path_buf(), _lock: Some(lock) };
        let format: i32 = recorder.execute("open", |c| c.pragma_query_value(None, "user_version", |row| row.get(0)))?;
        if format != FORMAT {
            return Err(RecordError::BadInput(format!(
                "{}: it has format {format} of another version of litelab, and this one writes format {FORMAT} only: run \
                 its plan anew with `litelab repeat`",
                path.display()
            )));
        }
        recorder.execute("open", |c| {
            c.execute_batch(&format!(
                "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON; \
                 PRAGMA busy_timeout = {BUSY_MS}"
            ))
        })?;
        Ok(recorder)
    }

    /// Path of the run file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn execute<T>(
        &self,
        what: &str,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, RecordError> {
        f(&self.connection).map_err(|e| RecordError::sqlite(what, &self.path, &e))
    }

    /// Executes a statement that writes.
    fn write(&self, sql: &str, values: impl Params) -> Result<(), RecordError> {
        self.execute("write", |c| c.execute(sql, values).map(|_| ()))
    }

    pub(crate) fn set(&self, key: &str, value: &str) -> Result<(), RecordError> {
        self.write("INSERT OR REPLACE INTO run(key, value) VALUES (?1, ?2)", [key, value])
    }

    fn set_json(&self, key: &str, value: &impl Serialize) -> Result<(), RecordError> {
        self.set(key, &json(value)?)
    }

    /// Stores the description of a runner.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn runner(&self, description: &Description) -> Result<(), RecordError> {
        let values = [&description.runner, &json(description)?];
        self.write("INSERT OR REPLACE INTO runner(name, description) VALUES (?1, ?2)", values)
    }

    /// Stores the absolute directory of the trials' databases. A name that is not UTF-8 is not stored.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn directory(&self, directory: &Path) -> Result<(), RecordError> {
        directory.to_str().map_or(Ok(()), |text| self.set("directory", text))
    }

    /// Stores the fingerprints of the runners' programs, by runner.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn builds(&self, builds: &BTreeMap<String, String>) -> Result<(), RecordError> {
        self.set_json("builds", builds)
    }

    /// Stores the servers used by the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn servers(&self, servers: &BTreeMap<Server, ServerRecord>) -> Result<(), RecordError> {
        if servers.is_empty() { Ok(()) } else { self.set_json("servers", servers) }
    }

    /// Stores the state of each database that data come from.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn sources(&self, sources: &BTreeMap<String, String>) -> Result<(), RecordError> {
        if sources.is_empty() { Ok(()) } else { self.set_json("sources", sources) }
    }

    /// Stores the calibration of the host.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn host(&self, calibration: &StoredCalibration) -> Result<(), RecordError> {
        self.set_json("host_calibration", calibration)
    }

    /// Stores the result of a runner's no-op trial of a scenario.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn calibration(&self, scenario: usize, runner: &str, result: &TrialResult) -> Result<(), RecordError> {
        let sql = "INSERT OR REPLACE INTO calibration(scenario, runner, result) VALUES (?1, ?2, ?3)";
        self.write(sql, params![scenario as i64, runner, json(result)?])
    }

    /// Stores a completed round of a scenario in one transaction.
    ///
    /// # Errors
    /// If the file cannot be written; then it contains no part of the round.
    pub fn round(
        &mut self,
        (scenario, number): (usize, u32),
        started: &str,
        load: &LoadWindow,
        trials: &[(TrialRecord, Series)],
    ) -> Result<(), RecordError> {
        let load = json(load)?;
        let mut rows = Vec::new();
        for (record, series) in trials {
            let (measurement, failure) = match &record.outcome {
                Outcome::Measured(m) => (Some(json(m)?), None),
                Outcome::Failed(f) => (None, Some(json(f)?)),
            };
            rows.push((record, measurement, failure, json(series)?));
        }
        let write = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            transaction.execute(
                "INSERT INTO round(scenario, number, started, finished, load) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![scenario as i64, number, started, now(), load],
            )?;
            for (record, measurement, failure, series) in &rows {
                transaction.execute(
                    "INSERT INTO trial(scenario, round, variant, position, started, seconds, measurement, failure) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        scenario as i64,
                        record.round,
                        record.variant as i64,
                        record.position,
                        record.started,
                        record.seconds,
                        measurement,
                        failure
                    ],
                )?;
                let trial = transaction.last_insert_rowid();
                transaction.execute("INSERT INTO series(trial, data) VALUES (?1, ?2)", params![trial, series])?;
            }
            transaction.commit()
        };
        write(&mut self.connection).map_err(|e| RecordError::sqlite("write the round to it", &self.path, &e))
    }

    /// Marks the run as complete; a second call keeps the first time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finished(&self) -> Result<(), RecordError> {
        self.write("INSERT OR IGNORE INTO run(key, value) VALUES ('finished', ?1)", [now()])
    }

    /// Stores a variant's call stacks.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn stacks(&self, variant: usize, stacks: &Stacks) -> Result<(), RecordError> {
        let folded = packed(&stacks.folded(), Compression::best())?;
        self.execute("write", |c| c.execute_batch(FLAME))?;
        let sql = "INSERT OR REPLACE INTO flame(variant, hertz, folded) VALUES (?1, ?2, ?3)";
        self.write(sql, params![variant as i64, stacks.hertz, folded])
    }
}

/// Refuses a file that exists and is not empty.
pub(crate) fn is_new(path: &Path) -> Result<(), RecordError> {
    super::read::roll_back(path);
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() || about.len() > 0 => Err(exists(path)),
        _ => Ok(()),
    }
}

fn exists(path: &Path) -> RecordError {
    RecordError::BadInput(format!("{}: this file exists; choose another name, or --resume it", path.display()))
}

/// Creates a file with this content atomically: it has no name before its content is complete and on the disk. Replaces
/// an empty file of that name.
fn publish(content: &[u8], path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() == 0) {
        std::fs::remove_file(path)?;
    }
    if !publish_unnamed(content, folder, path)? {
        // Written under another name first, which a kill may leave behind.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.as_file().set_permissions(PermissionsExt::from_mode(0o644))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path)?;
    }
    File::open(folder)?.sync_all()
}

/// Writes a file without a name, and gives it one. Returns `false` where the file system has none.
#[cfg(target_os = "linux")]
fn publish_unnamed(content: &[u8], folder: &Path, path: &Path) -> io::Result<bool> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use rustix::io::Errno;
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o644)) {
        Ok(unnamed) => File::from(unnamed),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    file.write_all(content)?;
    file.sync_all()?;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, name, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn publish_unnamed(_: &[u8], _: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Longest wait for the lock of a litelab that was killed. A child that it was starting holds the lock until it has
/// executed its own program.
const HELD: Duration = Duration::from_secs(1);
/// Time between two tries to take it.
const AGAIN: Duration = Duration::from_millis(20);

/// Takes the lock of a run file, a separate file next to it; all names of a run file lead to the same lock.
fn lock(path: &Path) -> Result<Lock, RecordError> {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let begun = Instant::now();
    loop {
        match Lock::take(&sidecar(&whole, "-lock")) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) if begun.elapsed() < HELD => std::thread::sleep(AGAIN),
            Ok(None) => {
                return Err(RecordError::BadInput(format!(
                    "{}: another litelab is running this run: wait until it has ended, or end it",
                    path.display()
                )));
            }
            Err(e) => return Err(RecordError::run_file("make the lock of this run file", path, &e)),
        }
    }
}

/// The text, compressed by zlib.
pub(crate) fn packed(text: &str, level: Compression) -> Result<Vec<u8>, RecordError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), level);
    // Writing to memory cannot fail.
    let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    packed.map_err(|e| RecordError::Failed(format!("cannot be compressed: {e}")))
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, RecordError> {
    serde_json::to_string(value).map_err(|e| RecordError::Failed(format!("cannot be written as JSON: {e}")))
}

/// Current time in UTC, ISO 8601.
#[must_use]
pub fn now() -> String {
    match litelab_protocol::draw::now(litelab_protocol::NowUnit::Iso) {
        litelab_protocol::draw::Value::Text(text) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use litelab_model::{Options, library, resolve};

    use super::*;

    #[test]
    fn a_file_that_cannot_be_made_is_not_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.db");
        let (study, text) = library::study("smoke").unwrap();
        let plan = resolve::resolve(&study, &text, &Options::default()).unwrap();
        let environment = Environment::capture(folder.path());
        let full = |_: &Recorder| Err(RecordError::Failed("the disk is full".into()));
        assert!(Recorder::create(&path, &plan, &text.toml, &environment, full).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(Recorder::create(&path, &plan, &text.toml, &environment, |_| Ok(())).unwrap());
        assert!(std::fs::metadata(&path).unwrap().len() > 0);
    }

    #[test]
    fn a_lock_that_is_held_for_a_moment_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.db");
        let held = lock(&path).unwrap();
        assert!(lock(&path).unwrap_err().is_bad_input(), "held throughout");
        let moment = std::thread::spawn(move || {
            std::thread::sleep(AGAIN);
            drop(held);
        });
        drop(lock(&path).unwrap());
        moment.join().unwrap();
    }

    /// Needs root; otherwise prints a message and passes.
    #[test]
    fn a_disk_without_room_for_the_lock_is_no_bad_input_and_the_run_file_is_named() {
        let disk = tempfile::tempdir().unwrap();
        // Room for the folder and one file.
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "nr_inodes=2", "litelab-test"]).arg(disk.path());
        if !mount.output().is_ok_and(|mounted| mounted.status.success()) {
            println!("skipped: no tmpfs can be mounted here");
            return;
        }
        let path = disk.path().join("k.db");
        std::fs::write(&path, "").unwrap();
        let opened = Recorder::open(&path);
        let unmounted = std::process::Command::new("umount").arg(disk.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
        let error = opened.unwrap_err();
        let text = error.to_string();
        assert!(
            !error.is_bad_input() && text.contains("k.db") && text.contains("-o") && !text.contains("--dir"),
            "{text}"
        );
    }
}
