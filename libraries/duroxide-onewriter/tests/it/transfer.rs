//! Conversion of files from and to duroxide's own SQLite provider, on a file that it wrote.
//!
//! `built_in.sql` has the rows of that file: running orchestrations, a continued one, a sub-orchestration, timers, queued
//! messages and activities, leases of a process that was killed, values and custom statuses. How to write another one
//! stands in it. That the orchestrations continue on either provider is tested with both of them in litelab's
//! `runners/duroxide`, because a program can link only one SQLite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::*;
use duroxide::providers::{ExecutionMetadata, Provider, SessionFetchConfig, TagFilter, WorkItem};
use duroxide::{Event, EventKind};
use duroxide_onewriter::transfer::{TransferError, Transferred, from_built_in, to_built_in};
use duroxide_onewriter::{OneWriter, Options};
use rusqlite::Connection;
use tempfile::TempDir;

/// Tables of the built-in provider that are kept, with the columns that are. Leases are not, nor are the times of
/// insertion into a history or a queue, which the provider does not read.
const THEIRS: &[(&str, &[&str])] = &[
    (
        "instances",
        &[
            "instance_id",
            "orchestration_name",
            "orchestration_version",
            "current_execution_id",
            "created_at",
            "updated_at",
            "parent_instance_id",
            "custom_status",
            "custom_status_version",
        ],
    ),
    (
        "executions",
        &[
            "instance_id",
            "execution_id",
            "status",
            "output",
            "started_at",
            "completed_at",
            "duroxide_version_major",
            "duroxide_version_minor",
            "duroxide_version_patch",
        ],
    ),
    ("history", &["instance_id", "execution_id", "event_id", "event_type", "event_data"]),
    ("orchestrator_queue", &["id", "instance_id", "work_item", "visible_at", "attempt_count"]),
    (
        "worker_queue",
        &[
            "id",
            "work_item",
            "attempt_count",
            "visible_at",
            "instance_id",
            "execution_id",
            "activity_id",
            "session_id",
            "tag",
        ],
    ),
    ("kv_store", &["instance_id", "key", "value", "last_updated_at_ms"]),
    ("kv_delta", &["instance_id", "key", "value", "last_updated_at_ms"]),
    ("_sqlx_migrations", &["version", "description", "success", "checksum"]),
];

/// Tables of this crate.
const OURS: &[(&str, &[&str])] = &[
    (
        "instance",
        &["id", "name", "orchestration", "version", "parent", "current", "created", "custom_status", "custom_version"],
    ),
    ("execution", &["instance", "execution", "status", "output", "pinned", "started", "completed"]),
    ("history", &["instance", "execution", "event", "data"]),
    ("message", &["id", "visible", "attempts", "item"]),
    ("work", &["id", "visible", "attempts", "item"]),
    ("settled_value", &["instance", "key", "value", "updated"]),
    ("pending_value", &["instance", "key", "value", "updated"]),
];

/// A folder with a file of the built-in provider.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let file = Connection::open(folder.built_in()).unwrap();
        file.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        file.execute_batch(include_str!("../../src/transfer/built_in.sql")).unwrap();
        file.execute_batch("DELETE FROM _sqlx_migrations").unwrap();
        file.execute_batch(include_str!("built_in.sql")).unwrap();
        file.close().unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn built_in(&self) -> PathBuf {
        self.path("built-in.db")
    }

    /// Names of all files.
    fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path()).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Content of all files.
    fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        self.files().into_iter().map(|name| (name.clone(), std::fs::read(self.path(&name)).unwrap())).collect()
    }
}

fn open(path: &Path) -> OneWriter {
    Options::default().open(path).unwrap()
}

fn execute(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    connection.execute_batch(sql).unwrap();
}

/// All rows of the tables, as text.
fn rows(path: &Path, tables: &[(&str, &[&str])]) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut rows = Vec::new();
    for (table, columns) in tables {
        let columns = columns.iter().map(|column| format!("quote({column})")).collect::<Vec<_>>().join(" || ', ' || ");
        let mut statement = connection.prepare(&format!("SELECT '{table}: ' || {columns} FROM {table}")).unwrap();
        rows.extend(statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
    }
    rows.sort();
    rows
}

/// Rows that one of the two has and the other has not.
fn differences(one: &[String], other: &[String]) -> Vec<String> {
    let missing = |from: &[String], among: &[String]| -> Vec<String> {
        from.iter().filter(|row| !among.contains(row)).cloned().collect()
    };
    [missing(one, other), missing(other, one)].concat()
}

/// Number of rows of a table.
fn count(path: &Path, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table}");
    Connection::open(path).unwrap().query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
}

#[test]
fn the_file_has_something_of_every_kind() {
    let folder = Folder::new();
    for (table, _) in THEIRS.iter().chain(&[("sessions", &[][..])]) {
        assert!(count(&folder.built_in(), table) > 0, "{table}");
    }
    let file = Connection::open(folder.built_in()).unwrap();
    for condition in [
        "instances WHERE parent_instance_id IS NOT NULL",
        "instances WHERE current_execution_id > 1",
        "executions WHERE status = 'ContinuedAsNew'",
        "executions WHERE status = 'Failed'",
        "executions WHERE status = 'Running'",
        "orchestrator_queue WHERE visible_at > (SELECT 60000 + max(event_data ->> '$.timestamp_ms') FROM history)",
        "orchestrator_queue WHERE attempt_count > 0",
        "worker_queue WHERE lock_token IS NOT NULL AND session_id IS NOT NULL AND attempt_count = 1",
        "worker_queue WHERE tag IS NOT NULL",
        "kv_delta WHERE value IS NULL",
    ] {
        let found: i64 = file.query_row(&format!("SELECT count(*) FROM {condition}"), [], |row| row.get(0)).unwrap();
        assert!(found > 0, "{condition}");
    }
}

#[test]
fn there_and_back_everything_is_the_same() {
    let folder = Folder::new();
    let (ours, back) = (folder.path("ours.db"), folder.path("back.db"));
    let there = from_built_in(folder.built_in(), &ours).unwrap();
    assert_eq!(to_built_in(&ours, &back).unwrap(), there);
    assert_eq!((there.instances, there.executions), (count(&back, "instances"), count(&back, "executions")));
    assert_eq!((there.messages, there.activities), (count(&back, "orchestrator_queue"), count(&back, "worker_queue")));
    assert_eq!(
        (there.events, there.values),
        (count(&back, "history"), count(&back, "kv_store") + count(&back, "kv_delta"))
    );
    let before = rows(&folder.built_in(), THEIRS);
    assert_eq!(differences(&before, &rows(&back, THEIRS)), Vec::<String>::new());

    // A missing row and a changed value of any table and column would have been found.
    for (table, columns) in THEIRS {
        let columns: &[_] = columns;
        let first = format!("WHERE rowid = (SELECT max(rowid) FROM {table})");
        let changes = columns.iter().map(|column| format!("UPDATE {table} SET {column} = 99 {first}"));
        for sql in changes.chain([format!("DELETE FROM {table} {first}")]) {
            let spoilt = folder.path("spoilt.db");
            std::fs::copy(&back, &spoilt).unwrap();
            execute(&spoilt, &sql);
            let found = differences(&before, &rows(&spoilt, THEIRS));
            assert!(found.iter().any(|row| row.starts_with(table)), "{sql}: {found:?}");
        }
    }
}

#[tokio::test]
async fn the_provider_reads_all_of_it() {
    let folder = Folder::new();
    let path = folder.path("ours.db");
    from_built_in(folder.built_in(), &path).unwrap();
    let file = Connection::open(folder.built_in()).unwrap();
    let provider = open(&path);
    assert_eq!(provider.quarantined(), 0);
    let admin = provider.as_management_capability().unwrap();
    let mut statement = file.prepare("SELECT instance_id, execution_id FROM executions").unwrap();
    let executions = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap);
    let mut events = 0;
    for (instance, execution) in executions.collect::<Vec<(String, i64)>>() {
        let sql = "SELECT event_data FROM history WHERE (instance_id, execution_id) = (?1, ?2) ORDER BY event_id";
        let mut statement = file.prepare(sql).unwrap();
        let stored = statement.query_map((&instance, execution), |row| row.get::<_, String>(0)).unwrap();
        let stored: Vec<Event> = stored.map(|data| serde_json::from_str(&data.unwrap()).unwrap()).collect();
        assert_eq!(provider.read_with_execution(&instance, execution.unsigned_abs()).await.unwrap(), stored);
        events += stored.len();
    }
    assert_eq!(events as u64, count(&folder.built_in(), "history"));
    assert_eq!(admin.list_instances().await.unwrap().len() as u64, count(&folder.built_in(), "instances"));
    assert_eq!(admin.list_children("parent").await.unwrap(), ["child"]);
    assert_eq!(admin.latest_execution_id("counter").await.unwrap(), 2);
    let custom = provider.get_custom_status("counter", 0).await.unwrap();
    assert_eq!(custom, Some((Some("round 2".into()), 2)));
    assert_eq!(provider.get_kv_value("counter", "round").await.unwrap().as_deref(), Some("2"));
    assert_eq!(provider.get_kv_value("counter", "of round 1").await.unwrap(), None, "the current execution cleared it");
    assert_eq!(provider.get_kv_value("failing", "tried").await.unwrap().as_deref(), Some("once"));

    // The activity that the killed process was executing: available at once, with its attempt counted.
    let session = SessionFetchConfig { owner_id: "me".into(), lock_timeout: LOCK };
    let (item, token, attempts) =
        provider.fetch_work_item(LOCK, NOW, Some(&session), &TagFilter::Any).await.unwrap().unwrap();
    let WorkItem::ActivityExecute { instance, name, session_id, .. } = item else { panic!("{item:?}") };
    assert_eq!((instance.as_str(), name.as_str(), session_id.as_deref()), ("held", "hold", Some("session")));
    assert_eq!(attempts, 2);
    provider.ack_work_item(&token, None).await.unwrap();
    let (item, ..) = provider.fetch_work_item(LOCK, NOW, None, &TagFilter::tags(["special"])).await.unwrap().unwrap();
    assert!(matches!(&item, WorkItem::ActivityExecute { instance, .. } if instance == "tagged"), "{item:?}");
}

#[tokio::test]
async fn back_and_there_everything_is_the_same() {
    let folder = Folder::new();
    let [ours, built_in, again] = ["ours.db", "theirs.db", "again.db"].map(|name| folder.path(name));
    let provider = open(&ours);
    create(&provider, "one", vec![activity_of("one", 2, Some("session"), Some("special"))]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, token, _) = turn(&provider).await.unwrap();
    let metadata = ExecutionMetadata { pinned_duroxide_version: Some("1.22.333-rc.4".parse().unwrap()), ..named() };
    let set = |id, key: &str| {
        event("one", id, EventKind::KeyValueSet { key: key.into(), value: "value".into(), last_updated_at_ms: 7 })
    };
    ack(&provider, &token, vec![set(4, "a"), set(5, "b")], vec![], metadata).await.unwrap();
    provider.enqueue_for_orchestrator(raised("one", "later"), Some(LOCK)).await.unwrap();
    // A name that has received events, and no orchestration.
    provider.enqueue_for_orchestrator(raised("two", "early"), None).await.unwrap();
    provider.close_async().await.unwrap();
    execute(
        &ours,
        "UPDATE instance SET created = 1700000000123; UPDATE execution SET started = 1700000000999, completed = 5;
         INSERT INTO instance(id, name, current, created) VALUES (7, 'three', 2, 0);
         INSERT INTO execution VALUES (7, 2, 'Running', NULL, NULL, 0, NULL);
         INSERT INTO history VALUES (7, 2, 1, 'no JSON');
         INSERT INTO settled_value VALUES (1, 'b', 'of an ended execution', 3);
         INSERT INTO pending_value VALUES (1, 'c', NULL, 4);",
    );
    let there = to_built_in(&ours, &built_in).unwrap();
    assert_eq!((there.instances, there.messages, there.activities), (2, 2, 1));
    assert_eq!(from_built_in(&built_in, &again).unwrap(), there);
    // The built-in provider has no pre-releases of versions, and no row for a name without an orchestration.
    execute(
        &ours,
        "UPDATE execution SET pinned = '1.22.333' WHERE instance = 1; UPDATE instance SET id = 2 WHERE id = 7",
    );
    for table in ["execution", "history"] {
        execute(&ours, &format!("UPDATE {table} SET instance = 2 WHERE instance = 7"));
    }
    assert_eq!(differences(&rows(&ours, OURS), &rows(&again, OURS)), Vec::<String>::new());
    assert_eq!(open(&again).read("one").await.unwrap().len(), 3);
}

#[test]
fn the_source_is_not_written_and_nothing_is_left_beside_it() {
    let folder = Folder::new();
    let before = folder.bytes();
    assert_eq!(folder.files(), ["built-in.db"]);
    from_built_in(folder.built_in(), folder.path("ours.db")).unwrap();
    assert_eq!(folder.files(), ["built-in.db", "ours.db"]);
    let ours = std::fs::read(folder.path("ours.db")).unwrap();
    to_built_in(folder.path("ours.db"), folder.path("back.db")).unwrap();
    assert_eq!(folder.files(), ["back.db", "built-in.db", "ours.db"]);
    assert_eq!((&folder.bytes()["built-in.db"], &folder.bytes()["ours.db"]), (&before["built-in.db"], &ours));
}

#[test]
fn the_log_of_a_killed_process_is_read() {
    let folder = Folder::new();
    let running = Connection::open(folder.built_in()).unwrap();
    running.execute_batch("PRAGMA wal_autocheckpoint = 0; DELETE FROM kv_store").unwrap();
    // What a kill leaves: the file and its log.
    for suffix in ["", "-wal"] {
        let [from, to] = ["built-in.db", "killed.db"].map(|name| folder.path(&format!("{name}{suffix}")));
        std::fs::copy(from, to).unwrap();
    }
    drop(running);
    let before = folder.bytes();
    let of_the_file = rows(&folder.built_in(), THEIRS);
    from_built_in(folder.path("killed.db"), folder.path("ours.db")).unwrap();
    assert_eq!(count(&folder.path("ours.db"), "settled_value"), 0, "the log is read");
    let after = folder.bytes();
    for name in ["killed.db", "killed.db-wal"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    assert!(!folder.path("killed.db-shm").exists());
    assert_eq!(rows(&folder.path("killed.db"), THEIRS), of_the_file);
}

/// A refused transfer leaves the files as they were.
fn refused(
    folder: &Folder,
    transfer: fn(PathBuf, PathBuf) -> Result<Transferred, TransferError>,
    source: &str,
    target: &str,
) -> TransferError {
    let before = folder.bytes();
    let error = transfer(folder.path(source), folder.path(target)).unwrap_err();
    let line = error.to_string();
    assert!(!line.contains('\n') && !line.is_empty(), "{line}");
    assert_eq!(folder.bytes(), before, "{line}");
    error
}

#[test]
fn a_file_in_use_is_refused() {
    let folder = Folder::new();
    let running = Connection::open(folder.built_in()).unwrap();
    running.query_row("SELECT count(*) FROM instances", [], |_| Ok(())).unwrap();
    let error = refused(&folder, from_built_in, "built-in.db", "ours.db");
    assert!(matches!(error, TransferError::InUse { .. }), "{error}");
    drop(running);
    from_built_in(folder.built_in(), folder.path("ours.db")).unwrap();
    let provider = open(&folder.path("ours.db"));
    let error = refused(&folder, to_built_in, "ours.db", "back.db");
    assert!(matches!(error, TransferError::InUse { .. }), "{error}");
    provider.close().unwrap();
    to_built_in(folder.path("ours.db"), folder.path("back.db")).unwrap();
}

#[test]
fn a_target_that_exists_is_refused() {
    let folder = Folder::new();
    for name in ["ours.db", "ours.db-wal", "ours.db-journal", "ours.db-transfer"] {
        std::fs::write(folder.path(name), "somebody's").unwrap();
        let error = refused(&folder, from_built_in, "built-in.db", "ours.db");
        assert!(matches!(&error, TransferError::Exists { path } if *path == folder.path(name)), "{error}");
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    let error = refused(&folder, from_built_in, "built-in.db", "no folder/ours.db");
    assert!(matches!(error, TransferError::Io { .. }), "{error}");
    let error = refused(&folder, from_built_in, "built-in.db", "built-in.db");
    assert!(matches!(error, TransferError::Exists { .. }), "{error}");
}

#[test]
fn unknown_tables_are_refused() {
    let folder = Folder::new();
    let newest = "WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
    for sql in [
        format!("DELETE FROM _sqlx_migrations {newest}"),
        format!("UPDATE _sqlx_migrations SET success = FALSE {newest}"),
        "INSERT INTO _sqlx_migrations SELECT version + 1, 'of tomorrow', installed_on, success, checksum, 0
         FROM _sqlx_migrations ORDER BY version DESC LIMIT 1"
            .into(),
    ] {
        std::fs::copy(folder.built_in(), folder.path("other.db")).unwrap();
        execute(&folder.path("other.db"), &sql);
        let error = refused(&folder, from_built_in, "other.db", "ours.db");
        assert!(matches!(error, TransferError::Version { found, known, .. } if found != known), "{sql}: {error}");
    }
    std::fs::copy(folder.built_in(), folder.path("other.db")).unwrap();
    execute(&folder.path("other.db"), &format!("UPDATE _sqlx_migrations SET checksum = x'00' {newest}"));
    std::fs::write(folder.path("text"), "this is not a database, and long enough to show it ".repeat(99)).unwrap();
    execute(&folder.path("foreign.db"), "CREATE TABLE t(a)");
    std::fs::write(folder.path("empty.db"), "").unwrap();
    for name in ["other.db", "text", "foreign.db", "empty.db"] {
        for transfer in [from_built_in, to_built_in] {
            let error = refused(&folder, transfer, name, "new.db");
            assert!(matches!(error, TransferError::Foreign { .. }), "{name}: {error}");
        }
    }
    for transfer in [from_built_in, to_built_in] {
        let error = refused(&folder, transfer, "no such file", "new.db");
        assert!(matches!(error, TransferError::Missing { .. }), "{error}");
    }
    from_built_in(folder.built_in(), folder.path("ours.db")).unwrap();
    execute(&folder.path("ours.db"), "PRAGMA user_version = 99");
    let error = refused(&folder, to_built_in, "ours.db", "new.db");
    assert!(matches!(error, TransferError::Version { found: 99, .. }), "{error}");
    assert!(matches!(refused(&folder, from_built_in, "ours.db", "new.db"), TransferError::Foreign { .. }));
}

#[test]
fn rows_that_would_be_lost_are_refused() {
    let folder = Folder::new();
    for (sql, lost) in [
        ("INSERT INTO message VALUES (1000, 0, 0, '{\"KindOfTomorrow\":{}}')", "row 1000 of table `message`"),
        ("INSERT INTO work VALUES (1000, 0, 0, 'no JSON')", "row 1000 of table `work`"),
        ("INSERT INTO work SELECT 1000, visible, attempts, item FROM message LIMIT 1", "row 1000 of table `work`"),
        ("INSERT INTO history VALUES (1000, 1, 1, '{}')", " events were converted"),
        ("INSERT INTO execution SELECT 1000, 1, 'Running', NULL, NULL, 0, NULL", " executions were converted"),
        ("INSERT INTO pending_value VALUES (1000, 'key', NULL, 0)", " values were converted"),
    ] {
        from_built_in(folder.built_in(), folder.path("ours.db")).unwrap();
        execute(&folder.path("ours.db"), sql);
        let error = refused(&folder, to_built_in, "ours.db", "new.db").to_string();
        assert!(error.contains(lost), "{error}");
        std::fs::remove_file(folder.path("ours.db")).unwrap();
    }
    // The other way, the provider keeps them in quarantine.
    execute(
        &folder.built_in(),
        "UPDATE orchestrator_queue SET work_item = 'no JSON' WHERE id = (SELECT max(id) FROM orchestrator_queue)",
    );
    from_built_in(folder.built_in(), folder.path("ours.db")).unwrap();
    assert_eq!(open(&folder.path("ours.db")).quarantined(), 1);
}
