//! Facts about the application's connections: what it asked for, and what its driver made of it.
//!
//! The driver opens the connections exactly as the application does, but on a stand-in: an empty database with the
//! journal mode and the page size of the application's, in a temporary folder. So no connection to the application's
//! database is opened, and what the driver writes there is seen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use litelab_model::advisory::Version;
use litelab_model::pragma;
use litelab_observe::temporary::Temporary;
use litelab_protocol::{ConnectionSettings, Inspect, Inspection, Value};
use rusqlite::Connection;
use tempfile::TempDir;
use thiserror::Error;

use crate::bundle;
use crate::defect;
use crate::dsn::{self, Dsn};
use crate::facts::{App, File, Key};
use crate::setting;

/// PRAGMAs that are read back on every connection.
const READ_BACK: [&str; 26] = [
    "journal_mode",
    "synchronous",
    "busy_timeout",
    "foreign_keys",
    "cache_size",
    "mmap_size",
    "temp_store",
    "wal_autocheckpoint",
    "journal_size_limit",
    "locking_mode",
    "query_only",
    "read_uncommitted",
    "secure_delete",
    "recursive_triggers",
    "ignore_check_constraints",
    "defer_foreign_keys",
    "trusted_schema",
    "cell_size_check",
    "fullfsync",
    "checkpoint_fullfsync",
    "legacy_alter_table",
    "writable_schema",
    "automatic_index",
    "reverse_unordered_selects",
    "page_size",
    "auto_vacuum",
];

/// How the application opens its database.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Driver, `runner:driver`, or its name alone where both are the same.
    pub driver: String,
    /// Version of the driver.
    pub driver_version: String,
    /// Language of the runner.
    pub language: String,
    /// Version of SQLite in the driver.
    pub sqlite: Option<String>,
    /// Data source name as the application writes it.
    pub dsn: String,
    /// Options of the driver's constructor.
    pub options: BTreeMap<String, serde_json::Value>,
    /// PRAGMAs that the application sets on every connection after it opens, in order.
    pub pragmas: Vec<(String, String)>,
    /// Number of connections that the application opens.
    pub connections: u32,
}

/// The stand-in could not be made.
#[derive(Debug, Error)]
pub enum StandInError {
    /// Error of the file system.
    #[error("cannot make a stand-in for the database: {0}")]
    Io(#[from] std::io::Error),
    /// Error of SQLite.
    #[error("cannot make a stand-in for the database: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// An empty database in a folder of its own.
#[derive(Debug)]
pub struct StandIn {
    folder: Temporary<TempDir>,
    path: PathBuf,
}

impl StandIn {
    /// Creates a stand-in for a database.
    ///
    /// # Errors
    /// If the folder or the database cannot be created.
    pub fn new(file: &File) -> Result<Self, StandInError> {
        let folder = Temporary::folder()?;
        // A name with a question mark would be another DSN.
        let name: String = file.name.chars().filter(|c| c.is_alphanumeric() || "._-".contains(*c)).collect();
        let path = folder.path().join(if name.is_empty() { "app.db" } else { &name });
        let connection = Connection::open(&path)?;
        if let Some(page_size) = file.page_size {
            connection.pragma_update(None, "page_size", page_size)?;
        }
        let mode = if file.wal == Some(true) { "wal" } else { "delete" };
        connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
        connection.execute_batch("VACUUM")?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(Self { folder, path })
    }

    /// Path of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The application's DSN with the path of the stand-in. A path in memory stays.
    #[must_use]
    pub fn dsn(&self, dsn: &str) -> String {
        let dsn = Dsn::parse(dsn);
        if dsn.is_memory() { dsn.with_path(&dsn.path) } else { dsn.with_path(&self.path.display().to_string()) }
    }

    /// A request for connections to the stand-in, opened by this DSN without options and settings.
    #[must_use]
    pub fn request(&self, driver: &str, connections: u32, dsn: String) -> Inspect {
        Inspect {
            protocol: litelab_protocol::VERSION,
            driver: driver.to_owned(),
            database: self.path.display().to_string(),
            connections,
            options: BTreeMap::new(),
            settings: Vec::new(),
            read_back: READ_BACK.map(str::to_owned).to_vec(),
            dsn: Some(dsn),
        }
    }

    /// Names of the files that the driver created beside the stand-in.
    #[must_use]
    pub fn created(&self) -> Vec<String> {
        let own = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = std::fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| *name != own && !["-wal", "-shm", "-journal"].iter().any(|suffix| name.ends_with(suffix)))
            .collect();
        names.sort();
        names
    }

    /// The facts, from what the runner reported or the driver's error.
    #[must_use]
    pub fn facts(&self, opening: &Opening, opened: Result<Inspection, String>) -> App {
        let mut app = App {
            driver: opening.driver.clone(),
            driver_version: opening.driver_version.clone(),
            language: opening.language.clone(),
            sqlite: opening.sqlite.clone(),
            sqlite_defects: opening.sqlite.as_deref().map(defect::of_sqlite).unwrap_or_default(),
            driver_defects: defect::of_driver(&opening.driver, &opening.driver_version),
            dsn: opening.dsn.clone(),
            connections: opening.connections,
            settings: READ_BACK.map(|name| (name.to_owned(), Value::Null)).into(),
            created: self.created(),
            cure: opening.sqlite.as_ref().and_then(|sqlite| bundle::cure(&opening.driver, sqlite)),
            ..App::default()
        };
        match opened {
            Ok(opened) => {
                reported(&mut app, opened);
                // The application sets these on the new connection too.
                app.lost.retain(|lost| !opening.pragmas.iter().any(|(name, _)| name.eq_ignore_ascii_case(lost)));
            }
            Err(error) => app.refused = Some(error),
        }
        let dsn = Dsn::parse(&opening.dsn);
        app.in_memory = dsn.is_memory()
            || (app.settings["journal_mode"] == Value::Text("memory".into())
                && dsn.keys().any(|(name, value)| name == "mode" && value == "memory"));
        app.opened_file = app.created.is_empty() && !app.in_memory;
        app.keys = keys(opening, &dsn, &app.settings);
        app.read_only = app.settings["query_only"] == Value::Integer(1) || app.keys.iter().any(forbids_writes);
        app
    }
}

fn reported(app: &mut App, opened: Inspection) {
    let Some(first) = opened.connections.first() else { return };
    for (name, value) in &first.settings {
        // Some drivers report numbers as text.
        let value = match (value.integer(), value) {
            (Some(number), _) => Value::Integer(number),
            (None, Value::Text(text)) => Value::Text(text.to_lowercase()),
            (None, other) => other.clone(),
        };
        app.settings.insert(name.clone(), value);
    }
    let differ = |other: &ConnectionSettings| -> Vec<String> {
        first
            .settings
            .iter()
            .filter(|(name, value)| other.settings.get(*name) != Some(value))
            .map(|(n, _)| n.clone())
            .collect()
    };
    app.differing = opened.connections.iter().flat_map(differ).collect();
    app.differing.sort();
    app.differing.dedup();
    app.lost = opened.replaced.as_ref().map(differ).unwrap_or_default();
    app.upgrade = opened.upgrade;
}

/// Keys of the DSN and of the options, with the value asked for and the value in effect.
fn keys(opening: &Opening, dsn: &Dsn, settings: &BTreeMap<String, Value>) -> Vec<Key> {
    let query = dsn.keys().map(|(name, value)| (name, value, "query"));
    let options = opening.options.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), text, "option")
    });
    let keys = query.chain(options).map(|(name, value, place)| key(opening, dsn, settings, name, value, place));
    keys.chain(opening.pragmas.iter().map(|(name, value)| of_pragma(dsn, settings, name, value))).collect()
}

/// A PRAGMA that the application sets itself.
fn of_pragma(dsn: &Dsn, settings: &BTreeMap<String, Value>, name: &str, value: &str) -> Key {
    let mut key = Key {
        name: format!("PRAGMA {name}"),
        value: value.to_owned(),
        place: "pragma",
        known: Some(true),
        file_prefix: dsn.prefix == "file:",
        ..Key::default()
    };
    compare(&mut key, settings, name.to_lowercase(), value.to_owned());
    key
}

fn key(
    opening: &Opening,
    dsn: &Dsn,
    settings: &BTreeMap<String, Value>,
    name: String,
    value: String,
    place: &'static str,
) -> Key {
    let entries: Vec<_> = dsn::find(&name, place).collect();
    let honours = |entry: &dsn::KnownKey| {
        let since = entry.since.get(&opening.driver).zip(Version::of_driver(&opening.driver_version));
        entry.drivers.contains(&opening.driver) && since.is_none_or(|(since, version)| version.reaches(since, 1))
    };
    let own = entries.iter().find(|entry| honours(entry) || entry.uri);
    // A key of another driver still tells what the user meant.
    let meant = own.or_else(|| entries.first());
    let pragma = meant.filter(|entry| entry.pragma).and_then(|_| dsn::pragma(&value));
    let (meaning, text) = match (pragma, meant) {
        (Some((name, value)), _) => (Some(name), value),
        (None, Some(entry)) => {
            let seconds = entry.unit.as_deref() == Some("s");
            let milliseconds = value.parse::<f64>().ok().filter(|_| seconds).map(|s| format!("{:.0}", s * 1000.0));
            (entry.setting.clone(), milliseconds.unwrap_or_else(|| value.clone()))
        }
        (None, None) => (None, value.clone()),
    };
    let mut key = Key {
        place,
        known: Some(own.is_some()),
        drivers: entries.iter().flat_map(|entry| entry.drivers.iter().cloned()).collect(),
        uri: own.is_some_and(|entry| entry.uri),
        file_prefix: dsn.prefix == "file:",
        ..Key::default()
    };
    if let Some(setting) = meaning {
        compare(&mut key, settings, setting, text);
    }
    key.drivers.sort();
    key.drivers.dedup();
    (key.name, key.value) = (name, value);
    key
}

/// Whether a key that the driver reads opens the database for reading only.
fn forbids_writes(key: &Key) -> bool {
    let read = key.known == Some(true) && (key.file_prefix || !key.uri);
    let on = ["1", "true", "yes", "on"].contains(&key.value.to_lowercase().as_str());
    read && match key.name.as_str() {
        "mode" => key.value == "ro",
        "immutable" | "readonly" | "readOnly" => on,
        _ => false,
    }
}

/// Adds the value that a key asks for, and the value in effect.
fn compare(key: &mut Key, settings: &BTreeMap<String, Value>, setting_name: String, text: String) {
    let reported = settings.get(&setting_name).filter(|value| **value != Value::Null);
    let in_words =
        |value: &Value| pragma::find(&setting_name).map_or_else(|| value.to_string(), |known| known.in_words(value));
    key.effective = reported.map(in_words);
    match setting::parse(&setting_name, &text) {
        Ok(parsed) => {
            key.applied = reported.map(|value| parsed.matches(value));
            key.requested = Some(parsed.value);
        }
        Err(wrong) => {
            key.requested = Some(text);
            key.wrong = Some(wrong);
        }
    }
    key.setting = Some(setting_name);
}

#[cfg(test)]
mod tests {
    use litelab_protocol::Upgrade;

    use super::*;

    fn settings(changed: &[(&str, Value)]) -> ConnectionSettings {
        let mut settings: BTreeMap<String, Value> = READ_BACK.map(|name| (name.to_owned(), Value::Integer(0))).into();
        settings.extend(changed.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let settings = settings.into_iter().collect();
        ConnectionSettings { database: 0, label: "connection".into(), settings }
    }

    #[test]
    fn the_stand_in_has_the_mode_of_the_file_and_shows_what_a_driver_creates() {
        let file = File { name: "my app?.db".into(), wal: Some(true), page_size: Some(8192), ..File::default() };
        let stand_in = StandIn::new(&file).unwrap();
        let look = crate::file::look(stand_in.path());
        assert_eq!((look.wal, look.page_size), (Some(true), Some(8192)));
        assert!(stand_in.path().ends_with("myapp.db"));
        let dsn = stand_in.dsn("file:my.db?mode=ro");
        assert_eq!(dsn, format!("file:{}?mode=ro", stand_in.path().display()));
        assert_eq!(stand_in.dsn(":memory:"), ":memory:");
        std::fs::write(stand_in.folder.path().join("myapp.db?mode=ro"), "").unwrap();
        let app = stand_in.facts(
            &Opening { dsn: "my.db?mode=ro".into(), ..Opening::default() },
            Ok(Inspection { connections: vec![], upgrade: None, replaced: None }),
        );
        assert_eq!((app.created, app.opened_file), (vec!["myapp.db?mode=ro".to_owned()], false));
    }

    #[test]
    fn connections_that_cannot_write_are_known_by_their_keys() {
        let stand_in = StandIn::new(&File { name: "app.db".into(), ..File::default() }).unwrap();
        let read_only = |driver: &str, dsn: &str, options: &[(&str, bool)], query_only: i64| {
            let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            let opening = Opening { driver: driver.into(), dsn: dsn.into(), options, ..Opening::default() };
            let connections = vec![settings(&[("query_only", Value::Integer(query_only))])];
            stand_in.facts(&opening, Ok(Inspection { connections, upgrade: None, replaced: None })).read_only
        };
        assert!(read_only("python:sqlite3", "file:app.db?mode=ro", &[("uri", true)], 0));
        assert!(read_only("node:better-sqlite3", "app.db", &[("readonly", true)], 0));
        assert!(read_only("go:mattn", "app.db?_query_only=1", &[], 1));
        // The driver drops the query, does not know the option, or the option is off.
        assert!(!read_only("go:mattn", "app.db?mode=ro", &[], 0));
        assert!(!read_only("node:node:sqlite", "app.db", &[("readonly", true)], 0));
        assert!(!read_only("node:better-sqlite3", "app.db", &[("readonly", false)], 0));
    }

    #[test]
    fn settings_that_differ_are_named() {
        let stand_in = StandIn::new(&File { name: "app.db".into(), ..File::default() }).unwrap();
        let first = settings(&[("journal_mode", "WAL".into()), ("busy_timeout", Value::Text("5000".into()))]);
        let other = settings(&[("journal_mode", "WAL".into())]);
        let opened = Inspection {
            connections: vec![first, other.clone()],
            replaced: Some(other),
            upgrade: Some(Upgrade::Fails),
        };
        let app = stand_in.facts(&Opening { dsn: "app.db".into(), ..Opening::default() }, Ok(opened));
        assert_eq!((app.differing, app.lost), (vec!["busy_timeout".to_owned()], vec!["busy_timeout".to_owned()]));
        assert_eq!(app.settings["busy_timeout"], Value::Integer(5000));
        assert_eq!(app.settings["journal_mode"], Value::Text("wal".into()));
        assert_eq!((app.opened_file, app.upgrade), (true, Some(Upgrade::Fails)));
    }
}
