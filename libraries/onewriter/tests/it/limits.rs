//! Limits of the log and of reads, other programs that checkpoint or write, and several handles of one file.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Scratch, add, notes};
use onewriter::{Checkpoints, Error};
use rusqlite::Connection;

#[test]
fn another_program_may_run_all_checkpoints() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().checkpoints(Checkpoints::external()));
    db.write_with(add("one")).expect("written");
    thread::sleep(Duration::from_millis(2_500));
    db.close().expect("closed");
    let log = scratch.path().with_extension("db-wal");
    assert!(log.metadata().expect("the log is there").len() > 4096, "and it has the frames");
    assert_eq!(notes(&scratch.path()), ["one"]);
}

#[test]
fn a_configuration_that_fails_carries_over_nothing_for_another_program() {
    let scratch = Scratch::new();
    let options = || scratch.options().checkpoints(Checkpoints::external());
    let db = scratch.open_with(options());
    db.write_with(add("one")).expect("written");
    db.close().expect("closed");
    let fails = options().on_writer(|c| {
        c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?;
        Err(rusqlite::Error::InvalidQuery)
    });
    assert!(fails.open().is_err());
    let log = scratch.path().with_extension("db-wal");
    assert!(log.metadata().is_ok_and(|log| log.len() > 4096), "the log is there");
}

#[test]
fn a_log_that_a_reader_keeps_has_a_limit() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().max_log(50));
    let (here, arrived) = channel();
    let (go, gone) = channel::<()>();
    let reader = db.clone();
    let reader = thread::spawn(move || {
        reader.read_with(move |c| {
            c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?;
            here.send(()).expect("the test waits");
            Ok::<_, Error>(gone.recv().is_ok())
        })
    });
    arrived.recv().expect("it reads");
    let mut written = 0;
    let refused = loop {
        match db.write_with(add(&written.to_string())) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "no write is refused");
    };
    assert!(matches!(refused, Error::LogFull { frames } if (50..60).contains(&frames)), "{refused:?}");
    go.send(()).expect("the reader waits");
    reader.join().expect("no panic").expect("read");
    thread::sleep(Duration::from_millis(600));
    db.write_with(add("goes on")).expect("written");
    assert_eq!(notes(&scratch.path()).len(), written + 1);
}

#[test]
fn a_log_that_another_program_has_carried_over_is_no_longer_full() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().checkpoints(Checkpoints::external()).max_log(50));
    let mut written = 0;
    while db.write_with(add(&written.to_string())).is_ok() {
        written += 1;
        assert!(written < 1_000, "no write is refused");
    }
    let other = Connection::open(scratch.path()).expect("opens");
    let done: i64 = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).expect("a checkpoint");
    assert_eq!(done, 0);
    thread::sleep(Duration::from_millis(600));
    for at in 0..5 {
        db.write_with(add(&format!("goes on {at}"))).expect("written");
    }
    assert_eq!(notes(&scratch.path()).len(), written + 5);
}

#[test]
fn a_read_that_takes_too_long_is_interrupted() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().max_read(Duration::from_millis(200)));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let started = Instant::now();
    let read = db.read_with(|c| Ok::<i64, Error>(c.query_row(endless, [], |row| row.get(0))?));
    assert_eq!(read.err().and_then(|error| error.code()), Some(rusqlite::ffi::SQLITE_INTERRUPT));
    assert!(started.elapsed() >= Duration::from_millis(200));
    db.read_with(|c| Ok::<_, Error>(c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?)).expect("others go on");
}

#[test]
fn the_time_of_a_read_begins_with_its_closure() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().readers(4).max_read(Duration::from_secs(2)));
    db.write_with(add("one")).expect("written");
    db.write_with(add("two")).expect("written");
    // Together they take longer than one may.
    let slow = |c: &Connection| {
        let mut notes = c.prepare("SELECT id FROM note")?;
        let mut rows = notes.query([])?;
        rows.next()?;
        thread::sleep(Duration::from_millis(700));
        rows.next()?;
        Ok::<_, Error>(())
    };
    assert_eq!(db.each_reader(slow).expect("none is too long").len(), 4);
}

#[test]
fn each_reading_connection_is_reached_once() {
    let scratch = Scratch::new();
    let opened = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let number = opened.clone();
    let options = scratch.options().readers(3).on_reader(move |c| {
        let number = number.fetch_add(1, Relaxed);
        c.execute_batch(&format!("PRAGMA cache_size = {}", 1_000 + number))
    });
    let db = scratch.open_with(options);
    let size = |c: &Connection| Ok::<i64, Error>(c.query_row("PRAGMA cache_size", [], |row| row.get(0))?);
    let mut sizes = db.each_reader(size).expect("read");
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!((sizes.len(), opened.load(Relaxed)), (3, 3), "{sizes:?}");
    assert_eq!(db.each_reader(size).expect("read again").len(), 3);
    let mut calls = 0;
    let fails = |_: &Connection| {
        calls += 1;
        Err::<(), _>(Error::Closed)
    };
    assert!(db.each_reader(fails).is_err());
    assert_eq!(calls, 1, "the first error ends it");
}

#[test]
fn one_file_has_one_writer_in_a_process() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let link = scratch.path().with_file_name("link.db");
    std::os::unix::fs::symlink(scratch.path(), &link).expect("a link");
    let again = onewriter::Options::new(link).open().expect("opened");
    again.write_with(add("one")).expect("written");
    assert_eq!((db.counters().writes, again.counters().writes), (2, 2), "both are the same database");
    let uri = format!("file:{}?cache=private", scratch.path().display());
    let by_uri = onewriter::Options::new(uri).open().expect("opened");
    assert_eq!(by_uri.counters().writes, 2, "a URI names the same database");
    db.close().expect("closed");
    assert!(matches!(again.write_with(add("two")), Err(Error::Closed)));
    let anew = scratch.options().open().expect("a closed one is opened anew");
    anew.write_with(add("three")).expect("written");
    assert_eq!(notes(&scratch.path()), ["one", "three"]);
}

#[test]
fn a_close_does_not_keep_other_processes_out_while_a_reader_prevents_its_checkpoint() {
    let scratch = Scratch::new();
    let db = scratch.open();
    db.write_with(add("one")).expect("written");
    let reader = Connection::open(scratch.path()).expect("it opens");
    reader.execute_batch("BEGIN; SELECT count(*) FROM note").expect("begun");
    db.write_with(add("two")).expect("written");
    let other = Connection::open(scratch.path()).expect("it opens");
    other.busy_timeout(Duration::ZERO).expect("set");
    // SQLite's busy handler would wait five seconds with the write lock held.
    let closed = thread::spawn(move || db.close());
    let mut refused = 0;
    while !closed.is_finished() {
        refused += u64::from(other.execute("UPDATE note SET text = text", []).is_err());
        thread::sleep(Duration::from_millis(10));
        assert!(refused < 200, "the write lock is held");
    }
    closed.join().expect("no panic").expect("closed");
    drop(reader);
    assert_eq!(notes(&scratch.path()), ["one", "two"]);
}

#[test]
fn foreign_keys_hold_whatever_sqlite_was_compiled_with() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options());
    let on = db.write_with(|c| Ok::<i64, Error>(c.query_row("PRAGMA foreign_keys", [], |row| row.get(0))?));
    assert_eq!(on.expect("read"), 1);
    let elsewhere = Scratch::new();
    let off = elsewhere.open_with(elsewhere.options().on_writer(|c| c.execute_batch("PRAGMA foreign_keys = OFF")));
    let on = off.write_with(|c| Ok::<i64, Error>(c.query_row("PRAGMA foreign_keys", [], |row| row.get(0))?));
    assert_eq!(on.expect("read"), 0, "an application may decide otherwise");
}

#[test]
fn a_process_that_writes_without_a_pause_does_not_keep_the_writer_out() {
    let scratch = Scratch::new();
    // As long as the other process waits: on a loaded machine a step of the wait takes many times as long.
    let patient = |c: &mut Connection| c.busy_timeout(Duration::from_secs(30));
    let db = scratch.open_with(scratch.options().on_writer(patient));
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let path = scratch.path();
    thread::scope(|scope| {
        scope.spawn(|| {
            let other = Connection::open(&path).expect("it opens");
            other.busy_timeout(Duration::from_secs(30)).expect("set");
            other.execute_batch("PRAGMA synchronous = OFF; CREATE TABLE other(x)").expect("made");
            while !stop.load(Relaxed) {
                other.execute_batch("BEGIN IMMEDIATE").expect("begun");
                thread::sleep(Duration::from_millis(2));
                other.execute_batch("INSERT INTO other VALUES (1); COMMIT").expect("committed");
                commits.fetch_add(1, Relaxed);
            }
        });
        while commits.load(Relaxed) == 0 {
            thread::yield_now();
        }
        let written = (0..50).map(|i| db.write_with(add(&i.to_string()))).filter(Result::is_ok).count();
        stop.store(true, Relaxed);
        assert_eq!((written, db.counters().busy), (50, 0));
    });
}
