//! A scratch database for the tests.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};

use onewriter::{Database, Error, Options};
use rusqlite::Connection;

/// A database in a temporary directory, which is removed on drop.
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("test.db")
    }

    pub fn options(&self) -> Options {
        Options::new(self.path())
    }

    /// Opens the database with an empty table `note(id INTEGER PRIMARY KEY, text TEXT UNIQUE)`.
    pub fn open(&self) -> Database {
        self.open_with(self.options())
    }

    pub fn open_with(&self, options: Options) -> Database {
        let db = options.open().expect("it opens");
        let made = db.write(|c| {
            c.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT UNIQUE)").map_err(Error::from)
        });
        made.expect("the table");
        db
    }
}

/// The rows of `note`, read through a new connection.
pub fn notes(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("it opens");
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(check, "ok");
    let mut select = connection.prepare("SELECT text FROM note ORDER BY id").expect("prepared");
    let rows = select.query_map([], |row| row.get(0)).expect("run");
    rows.map(|row| row.expect("a text")).collect()
}

/// Returns a closure that inserts a note.
pub fn add(text: &str) -> impl FnOnce(&Connection) -> Result<i64, Error> + Send + use<> {
    let text = text.to_owned();
    move |c| {
        c.prepare_cached("INSERT INTO note(text) VALUES (?1)")?.execute([text])?;
        Ok(c.last_insert_rowid())
    }
}
