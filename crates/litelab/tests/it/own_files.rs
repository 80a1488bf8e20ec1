//! litelab never writes a user's own files and leaves no files next to them.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::common::{self, ends, run};

/// A folder with a database `app.db`.
fn app(sql: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    Connection::open(folder.path().join("app.db")).unwrap().execute_batch(sql).unwrap();
    folder
}

/// A study `s.toml` whose only role runs transaction `t` of this workload.
fn study(folder: &Path, workload: &str) {
    common::study(folder, "rounds = 1\nrole.w = { run = \"t\", count = 20 }", workload);
}

/// Names and bytes of all files of a folder.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// Runs a command that must end with code 2 and change no file; returns its only line of standard error.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let before = files(folder);
    let line = common::refused(folder, arguments);
    assert!(files(folder) == before, "{arguments:?} changed a file");
    line
}

#[test]
fn sql_of_a_study_reaches_no_file_of_the_user() {
    let folder = app("CREATE TABLE c(v); INSERT INTO c VALUES (1), (2), (3)");
    let transaction = "[transaction.t]\nsql = \"INSERT INTO t VALUES (1)\"";
    for (sql, words) in [
        ("ATTACH 'app.db' AS o; DELETE FROM o.c", "ATTACH"),
        ("ATTACH 'new.db' AS o; CREATE TABLE o.z(a)", "ATTACH"),
        ("VACUUM INTO 'new.db'", "VACUUM INTO"),
    ] {
        study(folder.path(), &format!("schema.sql = \"CREATE TABLE t(a); {sql}\"\n{transaction}"));
        for arguments in [&["run", "s.toml", "--dry-run"][..], &["run", "s.toml", "-o", "r.db"]] {
            let line = refused(folder.path(), arguments);
            assert!(line.contains("schema: ") && line.contains(words), "{line}");
        }
    }
}

#[test]
fn a_database_is_measured_on_copies_with_its_virtual_tables_and_stays_as_it_was() {
    let folder = app(
        "PRAGMA journal_mode = WAL; CREATE TABLE note(id INTEGER PRIMARY KEY, text); CREATE VIRTUAL TABLE search USING fts5(text);
         CREATE VIRTUAL TABLE place USING rtree(id, x0, x1);
         CREATE TRIGGER added AFTER INSERT ON note BEGIN INSERT INTO search(rowid, text) VALUES (new.id, new.text); END;
         INSERT INTO note(text) VALUES ('one'), ('two'); INSERT INTO place VALUES (1, 2, 3)",
    );
    let dir = folder.path();
    std::fs::create_dir(dir.join("ours")).unwrap();
    let scenario = "rounds = 2\nrole.w = { run = \"t\", count = 50 }\nvary.profile = [\"wal-normal\", \"delete-full\"]";
    let workload = "[data]\nfrom = \"../app.db\"\n[transaction.t]\nsql = \"INSERT INTO note(text) VALUES (:t)\"\nparam.t = { text = 10 }\n\
        [[invariant]]\nsql = \"SELECT count(*) FROM search\"\nequals = \"2 + committed.t\"";
    common::study(&dir.join("ours"), scenario, workload);
    let before = files(dir);
    let table = ends(&run(dir, &["run", "ours/s.toml", "--rounds", "2", "-o", "r.db", "--all"]), 0);
    assert!(table.contains("4 trials measured") && table.contains("delete-full"), "{table}");
    assert_eq!(common::names(dir), ["app.db", "litelab-runs", "ours", "r.db"], "no -wal, no -shm beside it");
    std::fs::remove_file(dir.join("r.db")).unwrap();
    assert!(files(dir) == before);
}

#[test]
fn verify_and_a_refused_generate_leave_nothing_beside_a_database() {
    let folder = tempfile::tempdir().unwrap();
    ends(&run(folder.path(), &["generate", "sqlite3perf", "app.db", "--rows", "50000"]), 0);
    let before = files(folder.path());
    assert_eq!(before.len(), 1);
    for threads in ["1", "2"] {
        ends(&run(folder.path(), &["verify", "app.db", "--threads", threads]), 0);
        assert!(files(folder.path()) == before, "{threads} threads");
    }
    Connection::open(folder.path().join("app.db")).unwrap().execute_batch("CREATE TABLE mine(a)").unwrap();
    assert!(
        refused(folder.path(), &["generate", "sqlite3perf", "app.db", "--rows", "10", "--force"])
            .contains("it holds the table `mine`")
    );
    assert!(refused(folder.path(), &["generate", "sqlite3perf", "app.db", "--rows", "10"]).contains("exists already"));
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn what_cannot_be_read_without_writing_is_named_with_its_remedy() {
    let folder = app("CREATE TABLE bench(ID, rand, hash); INSERT INTO bench VALUES (1, zeroblob(50000), 2)");
    let theirs = Connection::open(folder.path().join("app.db")).unwrap();
    theirs.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE bench SET rand = zeroblob(60000)").unwrap();
    theirs.cache_flush().unwrap();
    // A crash leaves these two files behind.
    let hot = tempfile::tempdir().unwrap();
    for name in ["app.db", "app.db-journal"] {
        std::fs::copy(folder.path().join(name), hot.path().join(name)).unwrap();
    }
    drop(theirs);
    let transaction = "[data]\nfrom = \"app.db\"\n[transaction.t]\nsql = \"SELECT * FROM bench\"";
    study(hot.path(), transaction);
    for arguments in
        [&["pragma", "app.db"][..], &["verify", "app.db"], &["run", "s.toml", "--dry-run"], &["run", "s.toml"]]
    {
        let line = refused(hot.path(), arguments);
        assert!(line.contains("app.db-journal has to be played back") && line.contains("open it once"), "{line}");
    }
    // The first bytes of an encrypted database are random.
    let encrypted = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..8192u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(encrypted.path().join("app.db"), bytes).unwrap();
    study(encrypted.path(), transaction);
    for arguments in [&["pragma", "app.db"][..], &["run", "s.toml", "--dry-run"], &["show", "app.db"]] {
        let line = refused(encrypted.path(), arguments);
        assert!(line.contains("encrypted") && line.contains("decrypt a copy"), "{line}");
    }
}
