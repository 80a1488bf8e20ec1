//! Connections with a second database attached (`on_writer`), each with a log of its own.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use onewriter::{Database, Error, Options};
use rusqlite::Connection;

use crate::common::{Scratch, add, boxed, together};

/// A database in WAL mode beside the scratch database.
fn other(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().with_extension("other");
    let made = Connection::open(&path).expect("it opens");
    made.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE other(text)").expect("a table");
    path
}

fn attaching(scratch: &Scratch, path: &Path) -> Options {
    let attach = format!("ATTACH '{}' AS other", path.display());
    scratch.options().on_writer(move |c| c.execute_batch(&attach))
}

fn frames(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).expect("a log").len() / (4096 + 24)
}

#[test]
fn frames_are_those_of_the_main_log() {
    let scratch = Scratch::new();
    let path = other(&scratch);
    let db: Database = scratch.open_with(attaching(&scratch, &path));
    for at in 0..5 {
        db.write_with(add(&at.to_string())).expect("written");
    }
    let before = db.counters().wal_frames;
    assert_eq!(before, frames(&scratch.path()));
    // One write to each file; the attached log is the last of which SQLite tells.
    let both = |c: &mut onewriter::Tx<'_>| {
        c.execute_batch("INSERT INTO note(text) VALUES ('both'); INSERT INTO other VALUES (zeroblob(400000))")?;
        Ok::<_, Error>(())
    };
    db.write_with(both).expect("written");
    assert!(frames(&path) > 90, "{}", frames(&path));
    assert_eq!(db.counters().wal_frames, frames(&scratch.path()));
}

#[test]
fn a_wait_for_the_attached_database_takes_back_no_write() {
    let scratch = Scratch::new();
    let path = other(&scratch);
    let db = scratch.open_with(attaching(&scratch, &path));
    let busy = Connection::open(&path).expect("it opens");
    busy.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let writer = thread::spawn({
        let db = db.clone();
        move || together(&db, vec![boxed(add("first")), boxed(add("second"))])
    });
    thread::sleep(Duration::from_millis(300));
    busy.execute_batch("COMMIT").expect("the lock is free");
    let answers = writer.join().expect("no panic");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}
