//! Requests that `generate` refuses, and the files that remain when it is stopped.

use crate::common::{alter, check, count, flag, make, options, rows, scratch, settings, word};
use litelab_bulk::{BulkError, GenerateOptions, LoadError, Phase, generate};
use litelab_model::Scalar;
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn replacing(path: &Path, rows: u64) -> GenerateOptions {
    GenerateOptions { replace: true, ..options(path, rows) }
}

#[test]
fn a_file_that_exists_is_left_alone() {
    let (_folder, path) = scratch();
    fs::write(&path, "a letter").expect("written");
    for options in [options(&path, 10), replacing(&path, 10)] {
        let error = make(&options).expect_err("refused");
        assert!(error.to_string().contains("choose another name"), "{error}");
        assert_eq!(fs::read(&path).expect("is there"), b"a letter");
    }
    assert!(matches!(make(&options(&path, 10)), Err(BulkError::Exists { .. })));
    assert!(matches!(make(&replacing(&path, 10)), Err(BulkError::NotOurs { .. })));
}

#[test]
fn only_a_generated_database_is_replaced() {
    let (_folder, path) = scratch();
    make(&options(&path, 5000)).expect("made");
    assert!(matches!(make(&options(&path, 10)), Err(BulkError::Exists { .. })));
    make(&replacing(&path, 100)).expect("replaced");
    assert_eq!(count(&path), 100);
    for (add, remove) in [
        ("CREATE TABLE other(x)", "DROP TABLE other"),
        ("CREATE INDEX by_hash ON bench(hash)", "DROP INDEX by_hash"),
        ("CREATE VIEW v AS SELECT 1", "DROP VIEW v"),
        ("ALTER TABLE bench ADD COLUMN note", "ALTER TABLE bench DROP COLUMN note"),
    ] {
        alter(&path, add);
        let error = make(&replacing(&path, 10)).expect_err(add);
        assert!(matches!(error, BulkError::NotOurs { .. }), "{add}: {error}");
        assert_eq!(count(&path), 100);
        alter(&path, remove);
    }
    make(&replacing(&path, 50)).expect("replaced again");
    assert_eq!(count(&path), 50);
}

#[test]
fn the_database_to_start_from_is_not_replaced() {
    let (folder, path) = scratch();
    make(&options(&path, 500)).expect("made");
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    for target in [&path, &link] {
        let mut options = replacing(target, 10);
        options.data.from = Some(path.display().to_string());
        let error = make(&options).expect_err("refused");
        assert!(error.to_string().contains("starts from"), "{error}");
        assert_eq!(count(&path), 500);
    }
}

#[test]
fn a_database_in_use_is_not_replaced() {
    for mode in ["WAL", "DELETE"] {
        let (_folder, path) = scratch();
        let settings = settings(&[("journal_mode", word(mode))]);
        make(&GenerateOptions { settings, ..options(&path, 500) }).expect("made");
        let user = Connection::open(&path).expect("opens");
        user.execute_batch("BEGIN; SELECT * FROM bench").expect("reads");
        let error = make(&replacing(&path, 10)).expect_err(mode);
        assert!(error.to_string().contains("in use"), "{error}");
        drop(user);
        assert_eq!(count(&path), 500);
        make(&replacing(&path, 10)).expect("free now");
    }
}

#[test]
fn a_database_that_an_idle_program_has_open_is_not_replaced() {
    let (_folder, path) = scratch();
    let settings = settings(&[("journal_mode", word("DELETE"))]);
    make(&GenerateOptions { settings, ..options(&path, 500) }).expect("made");
    let open = fs::File::open(&path).expect("opens");
    let mut program = Command::new("sleep").arg("60").stdin(open).spawn().expect("runs");
    let error = make(&replacing(&path, 10)).expect_err("refused");
    program.kill().and_then(|()| program.wait()).expect("ended");
    assert!(error.to_string().contains(&format!("process {} has it open", program.id())), "{error}");
    make(&replacing(&path, 10)).expect("free now");
}

#[test]
fn what_a_link_leads_to_is_replaced() {
    let (folder, path) = scratch();
    make(&options(&path, 500)).expect("made");
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    make(&replacing(&link, 10)).expect("replaced");
    assert_eq!((count(&path), link.is_symlink()), (10, true));
}

#[test]
fn a_copy_that_is_cancelled_leaves_nothing() {
    let (folder, from) = scratch();
    make(&options(&from, 200_000)).expect("made");
    let path = folder.path().join("out.db");
    let mut options = options(&path, 10);
    options.data.from = Some(from.display().to_string());
    let cancel = flag();
    cancel.store(true, Ordering::Relaxed);
    let error = generate(&options, &mut |_| {}, cancel).expect_err("cancelled");
    assert!(matches!(error, BulkError::Cancelled { rows: 0 }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 1);
}

#[test]
fn the_log_of_another_database_is_left_alone() {
    let (folder, path) = scratch();
    let log = folder.path().join("bench.db-wal");
    fs::write(&log, "frames").expect("written");
    assert!(matches!(make(&options(&path, 10)), Err(BulkError::NotOurs { .. })));
    assert_eq!(fs::read(&log).expect("is there"), b"frames");
    assert!(!path.exists());

    // A read-only connection leaves files without content: an empty log and its index.
    fs::write(&log, "").expect("written");
    fs::write(folder.path().join("bench.db-shm"), [0; 32_768]).expect("written");
    make(&options(&path, 10)).expect("free");
    assert_eq!(count(&path), 10);
}

#[test]
fn settings_that_do_not_hold_are_refused_and_leave_nothing() {
    let (folder, path) = scratch();
    // `auto_vacuum` cannot change after `journal_mode = WAL` has written the file.
    let late = || settings(&[("journal_mode", word("WAL")), ("auto_vacuum", word("FULL"))]);
    let error = make(&GenerateOptions { settings: late(), ..options(&path, 10) }).expect_err("refused");
    assert_eq!(error.to_string(), "PRAGMA auto_vacuum = full did not take effect: SQLite reports 0");
    assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 0);

    // The empty file existed before, so it remains.
    fs::write(&path, "").expect("written");
    make(&GenerateOptions { settings: late(), ..options(&path, 10) }).expect_err("refused");
    assert_eq!(fs::metadata(&path).expect("is there").len(), 0);
    let schema = "CREATE TABLE t(a); CREATE TABLE t(a)".to_owned();
    let error = make(&GenerateOptions { schema, ..options(&path, 10) }).expect_err("refused");
    assert!(error.is_bad_input() && error.to_string().starts_with("schema: table t already exists"), "{error}");
    assert_eq!(fs::metadata(&path).expect("is there").len(), 0);
    make(&options(&path, 10)).expect("an empty file is free");
}

#[test]
fn a_database_that_is_replaced_stays_until_the_new_one_has_its_schema() {
    let (folder, path) = scratch();
    make(&options(&path, 10)).expect("made");
    let before = rows(&path);
    // The check compiles the schema without its rows.
    let mut fails = replacing(&path, 20);
    fails.schema.push_str("; INSERT INTO bench(ID) VALUES (1), (1)");
    let refused = make(&fails).unwrap_err();
    assert!(refused.is_bad_input(), "{refused}");
    assert_eq!(rows(&path), before);
    let mode = |path: &Path| {
        let open = Connection::open(path).expect("opens");
        open.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0)).expect("a mode")
    };
    assert_eq!(mode(&path), "wal");
    // A journal that was kept is its own.
    fs::write(path.with_extension("db-journal"), [0; 512]).expect("written");
    make(&replacing(&path, 20)).expect("replaced");
    assert_eq!(rows(&path).len(), 20);
    let left = std::fs::read_dir(folder.path()).expect("read").map(|file| file.expect("a file").file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["bench.db"]);
}

#[test]
fn options_out_of_range_are_refused() {
    let (_folder, path) = scratch();
    for options in [GenerateOptions { batch: 0, ..options(&path, 10) }, options(":memory:", 10)] {
        assert!(matches!(make(&options), Err(BulkError::Options(_))), "{options:?}");
    }
    let nowhere = path.join("no/folder.db");
    let refused = make(&options(nowhere, 10)).unwrap_err();
    let text = refused.to_string();
    assert!(refused.is_bad_input() && text.contains("no/folder.db cannot be made"), "{text}");
    assert!(!path.exists());
}

#[test]
fn cancelling_leaves_whole_batches() {
    // Batches of one statement, and batches of several.
    for batch in [1000, 5000] {
        let (_folder, path) = scratch();
        let cancel = flag();
        let options = GenerateOptions { batch, report_every: Duration::from_millis(1), ..options(&path, 5_000_000) };
        let mut stop = |progress: litelab_bulk::Progress| {
            if progress.rows >= 20_000 {
                cancel.store(true, Ordering::Relaxed);
            }
        };
        let Err(BulkError::Cancelled { rows: done }) = generate(&options, &mut stop, cancel) else {
            panic!("not cancelled")
        };
        assert!((20_000..5_000_000).contains(&done) && done % batch == 0, "{done}");
        assert_eq!(count(&path), done);
        assert_eq!(check(&path, 1).expect("verifies").mismatch_count, 0);
    }
}

#[test]
fn cancelling_a_vacuum_leaves_all_rows() {
    let (_folder, path) = scratch();
    let cancel = flag();
    let options = GenerateOptions { vacuum: true, ..options(&path, 100_000) };
    let mut stop = |progress: litelab_bulk::Progress| cancel.store(progress.phase == Phase::Vacuum, Ordering::Relaxed);
    let result = generate(&options, &mut stop, cancel);
    assert!(matches!(result, Err(BulkError::Cancelled { rows: 100_000 })), "{result:?}");
    assert_eq!(count(&path), 100_000);
}

#[test]
fn progress_grows_and_knows_its_end() {
    let (_folder, path) = scratch();
    let mut seen = Vec::new();
    let options = GenerateOptions { report_every: Duration::from_millis(5), ..options(&path, 100_000) };
    generate(&options, &mut |progress| seen.push(progress), flag()).expect("made");
    assert!(!seen.is_empty());
    assert!(seen.is_sorted_by(|a, b| a.rows <= b.rows && a.elapsed < b.elapsed));
    assert!(seen.iter().all(|progress| progress.total == 100_000 && progress.phase == Phase::Insert));
}

#[test]
fn a_full_database_keeps_its_batches_and_says_so() {
    for batch in [1000, 5000] {
        let (_folder, path) = scratch();
        let wal =
            [("journal_mode", word("WAL")), ("synchronous", word("NORMAL")), ("max_page_count", Scalar::Integer(500))];
        let settings = settings(&wal);
        let error = make(&GenerateOptions { batch, settings, ..options(&path, 1_000_000) }).expect_err("full");
        assert!(error.to_string().contains("SQLITE_FULL") && !error.is_bad_input(), "{error}");
        let BulkError::Stopped { rows: kept, .. } = error else { panic!("{error}") };
        assert!(kept > 0 && kept % batch == 0, "{kept}");
        assert_eq!(count(&path), kept);
        assert_eq!(rows(&path).len() as u64, kept);
    }
}

#[test]
fn a_row_that_is_refused_is_named_and_the_batches_before_stay() {
    for batch in [1000, 5000] {
        let (_folder, path) = scratch();
        let schema = "CREATE TABLE bench(ID int PRIMARY KEY CHECK (ID <> 7777), rand TEXT, hash TEXT)".to_owned();
        let error = make(&GenerateOptions { batch, schema, ..options(&path, 10_000) }).expect_err("refused");
        let words = "data: transaction `generate` cannot insert row 7777: CHECK constraint failed: ID <> 7777 \
            (SQLITE_CONSTRAINT_CHECK) (:id = 7777, :rand = ";
        assert!(error.is_bad_input() && error.to_string().starts_with(words), "{error}");
        let BulkError::Stopped { rows: kept, cause } = error else { panic!("{error}") };
        assert!(matches!(*cause, BulkError::Load { error: LoadError::Row { row: 7777, .. } }), "{cause}");
        assert_eq!((kept, count(&path)), (7777 / batch * batch, kept));
    }
}

/// A disk that is really full: a small tmpfs, if the user may mount one.
#[test]
fn a_full_disk_keeps_its_batches_and_says_so() {
    let (folder, _) = scratch();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("made");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no right to mount");
        return;
    }
    let path = disk.join("bench.db");
    let error = make(&options(&path, 1_000_000)).map_err(|error| (error.to_string(), error));
    let kept = count(&path);
    Command::new("umount").arg(&disk).output().expect("unmounts");
    let (message, error) = error.expect_err("full");
    assert!(message.contains("SQLITE_FULL") && message.contains("free space"), "{message}");
    assert!(
        matches!(error, BulkError::Stopped { rows, .. } if rows == kept && kept > 0 && kept.is_multiple_of(2000)),
        "{message}"
    );
}
