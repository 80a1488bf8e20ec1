//! Statements that a closure leaves running, or keeps beyond its end.

use std::mem::forget;
use std::thread;
use std::time::Duration;

use crate::common::{Closure, Scratch, add, boxed, mixed, notes};
use onewriter::{Error, Tx};
use rusqlite::{Connection, Statement};

/// Closures that add a note and leave a statement at its first row.
fn leave(note: &str) -> Vec<Closure<i64>> {
    let inserts = format!("INSERT INTO note(text) VALUES ('{note}') RETURNING id");
    let adds = {
        let note = note.to_owned();
        move || note.clone()
    };
    let select = "SELECT id FROM note UNION ALL SELECT 2 UNION ALL SELECT 3";
    let (one, two, three) = (adds(), adds(), inserts.clone());
    vec![
        boxed(move |c| {
            add(&one)(c)?;
            let mut statement = c.prepare(select)?;
            let mut rows = statement.query([])?;
            assert!(rows.next()?.is_some());
            forget(rows);
            forget(statement);
            Ok(0)
        }),
        boxed(move |c| {
            add(&two)(c)?;
            // Returned to the cache while it runs.
            let mut statement = c.prepare_cached(select)?;
            let mut rows = statement.query([])?;
            assert!(rows.next()?.is_some());
            forget(rows);
            Ok(1)
        }),
        boxed(move |c| {
            let mut statement = c.prepare_cached(&inserts)?;
            let mut rows = statement.query([])?;
            assert!(rows.next()?.is_some());
            forget(rows);
            forget(statement);
            Ok(2)
        }),
        boxed(move |c| {
            let mut statement = c.prepare(&three)?;
            let mut rows = statement.query([])?;
            assert!(rows.next()?.is_some());
            forget(rows);
            forget(statement);
            Ok(3)
        }),
    ]
}

#[test]
fn a_statement_left_running_disturbs_no_neighbour() {
    for kind in 0..4 {
        for is_repeatable in [false, true] {
            let scratch = Scratch::new();
            let db = scratch.open();
            let leaves = leave("left").swap_remove(kind);
            let drops = boxed(|c: &mut Tx<'_>| {
                assert!(!c.is_busy(), "a statement of a neighbour runs");
                c.execute_batch("CREATE TABLE short(x); DROP TABLE short; CREATE INDEX by_text ON note(text)")?;
                add("last")(c)
            });
            let all = [(false, boxed(add("first"))), (is_repeatable, leaves), (false, drops)];
            let answers = mixed(&db, all.into());
            assert!(answers.iter().all(Result::is_ok), "{kind} {is_repeatable}: {answers:?}");
            // The same for a single caller, without a hand-over.
            db.write_with(leave("alone").swap_remove(kind)).expect("written");
            db.write_with(add("after")).expect("written");
            assert_eq!(notes(&scratch.path()), ["first", "left", "last", "alone", "after"], "{kind}");
            db.close().expect("no statement prevents the close");
        }
    }
}

#[test]
fn a_statement_left_running_pins_no_snapshot() {
    for kind in 0..4 {
        let scratch = Scratch::new();
        let db = scratch.open();
        db.write_with(leave("one").swap_remove(kind)).expect("written");
        // A writer that still reads the old snapshot could not begin (`SQLITE_BUSY_SNAPSHOT`).
        let other = Connection::open(scratch.path()).expect("it opens");
        other.execute_batch("INSERT INTO note(text) VALUES ('two')").expect("written");
        db.write_with(add("three")).expect("written");
        assert_eq!(notes(&scratch.path()), ["one", "two", "three"]);
    }
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().readers(1));
    let count = |c: &Connection| {
        let mut statement = c.prepare("SELECT count(*) FROM note UNION ALL SELECT 0")?;
        let mut rows = statement.query([])?;
        let count: i64 = rows.next()?.expect("a row").get(0)?;
        forget(rows);
        forget(statement);
        Ok::<_, Error>(count)
    };
    for expected in 0..3 {
        assert_eq!(db.read_with(count).expect("read"), expected, "a reader sees the newest commit");
        db.write_with(add(&expected.to_string())).expect("written");
    }
    db.close().expect("closed");
}

/// An error that cannot be made from an error of the layer.
#[derive(Debug)]
struct Picky;

impl From<Error> for Picky {
    fn from(_: Error) -> Self {
        panic!("converted on purpose")
    }
}

#[test]
fn a_statement_left_running_ends_if_the_call_panics() {
    for ends in ["", "INSERT OR ROLLBACK INTO note(text) VALUES ('0')"] {
        let scratch = Scratch::new();
        let db = scratch.open();
        db.write_with(add("0")).expect("written");
        let caller = db.clone();
        let panics = thread::spawn(move || {
            caller.write_with(|c| -> Result<(), Picky> {
                let _rolled_back = c.execute_batch(ends);
                let mut statement = c.prepare("SELECT 1 UNION ALL SELECT 2").map_err(|_| Picky)?;
                let mut rows = statement.query([]).map_err(|_| Picky)?;
                assert!(rows.next().is_ok_and(|row| row.is_some()));
                forget(rows);
                forget(statement);
                panic!("on purpose")
            })
        });
        assert!(panics.join().is_err());
        let busy = db.write_with(|c| Ok::<_, Error>(c.is_busy()));
        assert!(!busy.expect("the database goes on"), "{ends:?}");
        assert_eq!(notes(&scratch.path()), ["0"]);
    }
}

/// A statement kept beyond its closure by unsafe code, which runs when it is dropped.
struct Late(Option<Statement<'static>>);

// SAFETY: the tests below drop it in the thread that has the connection.
#[expect(unsafe_code, reason = "it stands for a program that does so")]
unsafe impl Send for Late {}

impl Drop for Late {
    fn drop(&mut self) {
        if let Some(mut statement) = self.0.take() {
            let _refused = statement.execute([]);
        }
    }
}

#[test]
fn a_statement_that_outlives_its_closure_writes_nothing_on_its_own() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let (begun, begins) = std::sync::mpsc::channel();
    let keeps = db.write_with_async(move |c| {
        begun.send(()).expect("the test waits");
        // Time to drop the future, so that the layer drops the result.
        thread::sleep(Duration::from_millis(50));
        let statement = c.prepare("INSERT INTO note(text) VALUES ('stray')")?;
        // SAFETY: the connection outlives the statement, which the writer thread drops after the commit.
        #[expect(unsafe_code, reason = "it stands for a program that does so")]
        let statement = unsafe { std::mem::transmute::<Statement<'_>, Statement<'static>>(statement) };
        Ok::<_, Error>(Late(Some(statement)))
    });
    let mut keeps = Box::pin(keeps);
    assert!(keeps.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending());
    begins.recv().expect("it runs");
    drop(keeps);
    db.write_with(add("one")).expect("the database goes on");
    assert_eq!(notes(&scratch.path()), ["one"]);
    db.close().expect("closed");
}

#[test]
fn a_statement_left_running_after_a_rollback_commits_nothing() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let goes_on = boxed(|c: &mut Tx<'_>| {
        c.execute("INSERT OR ROLLBACK INTO note(text) VALUES ('0')", []).expect_err("SQLite rolls back");
        // In a transaction of its own, which would be committed when the statement ends.
        let mut statement = c.prepare("INSERT INTO note(text) VALUES ('stray') RETURNING id")?;
        let mut rows = statement.query([])?;
        assert!(rows.next()?.is_some());
        forget(rows);
        forget(statement);
        Ok(1)
    });
    let answers = mixed(&db, vec![(false, boxed(add("0"))), (false, goes_on), (false, boxed(add("2")))]);
    assert!(matches!(answers[0], Err(Error::RolledBack(_))), "{answers:?}");
    assert!(answers[1].is_err() && answers[2].is_ok(), "{answers:?}");
    assert_eq!(notes(&scratch.path()), ["2"]);
}

/// Descriptors of this process that refer to the file or its log.
#[cfg(target_os = "linux")]
fn descriptors(path: &std::path::Path) -> usize {
    let name = path.to_str().expect("UTF-8");
    let open = std::fs::read_dir("/proc/self/fd").expect("read");
    let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.to_str().is_some_and(|target| target.starts_with(name))).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_database_has_no_open_file() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let leaves = |c: &Connection| {
        let mut statement = c.prepare("SELECT 1 UNION ALL SELECT 2")?;
        let mut rows = statement.query([])?;
        assert!(rows.next()?.is_some());
        forget(rows);
        forget(statement);
        Ok::<_, Error>(())
    };
    db.write_with(|c| leaves(c)).expect("written");
    db.each_reader(|c: &Connection| leaves(c)).expect("read");
    assert!(descriptors(&scratch.path()) > 0);
    let closed = db.close();
    assert_eq!(descriptors(&scratch.path()), 0, "{closed:?}");
    closed.expect("closed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_database_that_does_not_open_has_no_open_file() {
    let scratch = Scratch::new();
    let refuses = |_: &mut Connection| Err(rusqlite::Error::InvalidQuery);
    scratch.options().on_reader(refuses).open().expect_err("refused");
    assert_eq!(descriptors(&scratch.path()), 0);
}
