//! A disk that fails: what is answered after a failed sync, and what is in the file.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::common::{Scratch, add, boxed, notes, patient, together};
use crate::vfs;
use onewriter::{Error, Options};
use rusqlite::ffi;

/// Whether syncs fail. The tests of this module hold [`TURN`].
static FAILS: AtomicBool = AtomicBool::new(false);
static TURN: Mutex<()> = Mutex::new(());

fn options(scratch: &Scratch) -> Options {
    vfs::register(|| if FAILS.load(Relaxed) { Err(ffi::SQLITE_IOERR_FSYNC) } else { Ok(()) });
    patient(Options::new(format!("file:{}?vfs={}", scratch.path().display(), vfs::NAME)))
}

/// The texts in a copy of the file and its log: what a new process finds after a crash.
fn after_a_crash(path: &Path) -> Vec<String> {
    let copy = path.with_file_name("crashed.db");
    std::fs::copy(path, &copy).expect("copied");
    std::fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).expect("copied");
    notes(&copy)
}

#[test]
fn a_failed_sync_is_answered_and_may_come_back_after_a_crash() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new();
    let db = scratch.open_with(options(&scratch));
    db.write_with(add("before")).expect("written");
    FAILS.store(true, Relaxed);
    let all = together(&db, vec![boxed(add("one")), boxed(add("two"))]);
    FAILS.store(false, Relaxed);
    for answer in &all {
        let Err(Error::Commit(cause)) = answer else { panic!("{answer:?}") };
        assert_eq!(cause.sqlite_extended_error_code(), Some(ffi::SQLITE_IOERR_FSYNC), "{cause:?}");
    }
    let seen = || db.query_map("SELECT text FROM note", (), |row| row.get::<_, String>(0)).expect("read");
    assert_eq!(seen(), ["before"], "no reader sees it");
    assert_eq!(after_a_crash(&scratch.path()), ["before", "one", "two"], "as the documentation of `Error` warns");
    db.write_with(add("after")).expect("the default is to go on");
    assert_eq!(seen(), ["before", "after"]);
    assert_eq!(after_a_crash(&scratch.path()), ["before", "after"]);
}

#[test]
fn nothing_is_written_after_a_failed_sync_if_the_application_wants_so() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for fails_at in ["a commit", "an idle checkpoint", "a checkpoint that was asked for"] {
        let scratch = Scratch::new();
        let db = scratch.open_with(options(&scratch).stop_after_failed_sync(true));
        db.write_with(add("before")).expect("written");
        db.execute("INSERT INTO note(text) VALUES ('before')", ()).expect_err("an error of a closure stops nothing");
        FAILS.store(true, Relaxed);
        if fails_at == "a checkpoint that was asked for" {
            db.checkpoint().expect_err("a sync fails");
        } else if fails_at == "an idle checkpoint" {
            // The background thread checkpoints an idle log.
            let started = std::time::Instant::now();
            while db.write(|_| Ok(())).is_ok() {
                assert!(started.elapsed().as_secs() < 60, "no checkpoint has failed");
                std::thread::sleep(std::time::Duration::from_millis(1_100));
            }
        } else {
            assert!(matches!(db.write_with(add("lost")), Err(Error::Commit(_))));
        }
        FAILS.store(false, Relaxed);
        assert!(matches!(db.write_with(add("never")), Err(Error::Stopped(_))));
        assert!(matches!(pollster::block_on(db.write_async(|_| Ok(()))), Err(Error::Stopped(_))));
        assert!(matches!(db.exclusive(|_| Ok::<_, Error>(())), Err(Error::Stopped(_))));
        let log = scratch.path().with_extension("db-wal");
        let before = log.metadata().expect("there").len();
        db.close().expect("closed");
        assert_eq!(log.metadata().expect("there").len(), before, "the log is left as it is");
    }
}
