//! A recording of databases in use: views and events of `litelab watch`, in a file like that of a run, without a study.

mod event;
mod view;

use std::path::Path;

use flate2::Compression;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::RecordError;
use crate::read::{RunFile, unpacked};
use crate::write::{BUSY_MS, Recorder, is_new, json, packed};

pub use event::{Event, Phase};
pub use view::{DatabaseView, Limit, LockView, Own, ProcessView, Rates, ReaderView, Totals, View};

/// Attempts to commit the end of a recording while somebody reads it.
const ATTEMPTS: u32 = 5;

const SCHEMA: &str = "
CREATE TABLE run(
  key   TEXT PRIMARY KEY,  -- kind (`recording`), litelab, created, finished
  value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE moment(
  id   INTEGER PRIMARY KEY,
  at   REAL NOT NULL,  -- seconds since 1970, UTC
  view BLOB NOT NULL   -- View, compressed by zlib
);
CREATE TABLE event(
  id    INTEGER PRIMARY KEY,
  at    REAL NOT NULL,  -- when it was stored; an end has the time of its end
  event TEXT NOT NULL   -- Event
);
";

/// A recording that is being written. What is not committed is lost if the program is killed.
#[derive(Debug)]
pub struct RecordingWriter {
    recorder: Recorder,
    /// Whether a transaction is open.
    open: bool,
}

impl RecordingWriter {
    /// Creates a recording.
    ///
    /// # Errors
    /// If the file exists, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        if is_new(path).is_err() {
            let what = format!("{}: this file exists; choose another name for the recording", path.display());
            return Err(RecordError::BadInput(what));
        }
        let draft = Recorder::draft(path, SCHEMA)?;
        draft.set("kind", "recording")?;
        let recorder = draft.publish()?;
        // So a commit syncs little: the recording may be on the disk of the watched database. Nor does it wait for a
        // reader of the recording: the observation would pause.
        recorder.execute("create", |c| c.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0"))?;
        Ok(Self { recorder, open: false })
    }

    /// Adds a view.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn moment(&mut self, view: &View) -> Result<(), RecordError> {
        let packed = packed(&json(view)?, Compression::fast())?;
        self.execute(|c| c.execute("INSERT INTO moment(at, view) VALUES (?1, ?2)", params![view.at, packed]))
    }

    /// Adds an event that was observed at `at`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn event(&mut self, at: f64, event: &Event) -> Result<(), RecordError> {
        let text = json(event)?;
        self.execute(|c| c.execute("INSERT INTO event(at, event) VALUES (?1, ?2)", params![at, text]))
    }

    /// Stores what was added.
    ///
    /// # Errors
    /// If the file cannot be written; [`RecordError::Busy`] at once while another process reads it.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        if self.open {
            self.recorder.execute("write", |c| c.execute_batch("COMMIT"))?;
            self.open = false;
        }
        Ok(())
    }

    /// Stores what was added, and marks the recording as complete.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), RecordError> {
        let patient = format!("PRAGMA busy_timeout = {BUSY_MS}");
        self.recorder.execute("write", |c| c.execute_batch(&patient))?;
        self.recorder.finished()?;
        for _ in 1..ATTEMPTS {
            match self.commit() {
                // Somebody reads it.
                Err(RecordError::Busy(_)) => {}
                done => return done,
            }
        }
        self.commit()
    }

    fn execute(&mut self, f: impl FnOnce(&Connection) -> rusqlite::Result<usize>) -> Result<(), RecordError> {
        self.recorder.execute("write", |c| {
            if !self.open {
                c.execute_batch("BEGIN IMMEDIATE")?;
            }
            f(c)
        })?;
        self.open = true;
        Ok(())
    }
}

/// A recording, opened read-only.
#[derive(Debug)]
pub struct Recording {
    file: RunFile,
}

impl Recording {
    /// Opens a recording; `None` if the file is a run.
    ///
    /// # Errors
    /// Those of [`RunFile::open`].
    pub fn open(path: &Path) -> Result<Option<Self>, RecordError> {
        let file = RunFile::open(path)?;
        Ok(file.is_recording()?.then_some(Self { file }))
    }

    /// Start of the recording in UTC.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn created(&self) -> Result<String, RecordError> {
        Ok(self.file.get("created")?.unwrap_or_default())
    }

    /// Name of the file, without its path, which may contain the name of a person.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.file.file_name()
    }

    /// All events in order.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn events(&self) -> Result<Vec<Event>, RecordError> {
        let texts = self.file.texts("SELECT event FROM event ORDER BY id")?;
        texts.iter().map(|text| self.file.parse("event", text)).collect()
    }

    /// Number of views.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn moments(&self) -> Result<u64, RecordError> {
        let count = self.file.connection().query_row("SELECT count(*) FROM moment", [], |row| row.get::<_, i64>(0));
        Ok(count.map_err(self.file.fail("read"))?.unsigned_abs())
    }

    /// The view with this number, from 0; `None` beyond the last.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn view(&self, number: u64) -> Result<Option<View>, RecordError> {
        let id = i64::try_from(number).unwrap_or(i64::MAX).saturating_add(1);
        let packed = self.file.connection().query_row("SELECT view FROM moment WHERE id = ?1", [id], |row| row.get(0));
        let packed: Option<Vec<u8>> = packed.optional().map_err(self.file.fail("read"))?;
        let Some(packed) = packed else { return Ok(None) };
        let text = unpacked(&packed).map_err(|e| self.file.damaged("view", e))?;
        self.file.parse("view", &text).map(Some)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn what_was_committed_is_read_again_and_a_run_is_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("incident.db");
        let mut writer = RecordingWriter::create(&path).unwrap();
        let database = DatabaseView { path: "app.db".into(), frames: Some(7), ..DatabaseView::default() };
        let view = View { at: 1.5e9, databases: vec![database], ..View::default() };
        let event = Event { number: 1, message: "m".into(), phase: Phase::Begin, ..Event::default() };
        writer.moment(&view).unwrap();
        writer.event(1.5e9, &event).unwrap();
        writer.commit().unwrap();
        writer.moment(&View { at: 1.6e9, ..View::default() }).unwrap();
        drop(writer);
        let read = |path: &Path| {
            let recording = Recording::open(path).unwrap().expect("a recording");
            let views = (0..recording.moments()?).filter_map(|number| recording.view(number).transpose());
            Ok::<_, RecordError>((views.collect::<Result<Vec<_>, _>>()?, recording.events()?))
        };
        assert_eq!(read(&path).unwrap(), (vec![view], vec![event]), "without what was not committed");
        assert!(RecordingWriter::create(&path).is_err_and(|error| error.is_bad_input()));
        let error = crate::RunFile::open(&path).and_then(|run| run.info()).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("litelab watch"), "{error}");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("UPDATE moment SET view = x'00'").unwrap();
        assert!(read(&path).is_err_and(|error| error.to_string().contains("damaged")));
        connection.execute_batch("UPDATE run SET key = 'sort' WHERE key = 'kind'").unwrap();
        assert!(Recording::open(&path).unwrap().is_none());
        connection.execute_batch("PRAGMA application_id = 5").unwrap();
        assert!(Recording::open(&path).is_err_and(|error| error.is_bad_input()));
    }
}
