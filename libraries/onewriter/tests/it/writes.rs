//! The guarantees of a write to its caller and to the others in its commit.

use std::thread;
use std::time::Duration;

use crate::common::{Closure, Scratch, add, boxed, mixed, notes, together};
use onewriter::{Durability, Error, Tx};
use rusqlite::Connection;

#[test]
fn what_is_answered_is_committed() {
    let scratch = Scratch::new();
    let db = scratch.open();
    assert_eq!(db.write_with(add("one")).expect("written"), 1);
    assert_eq!(notes(&scratch.path()), ["one"]);
    db.close().expect("closed");
    assert!(!scratch.path().with_extension("db-wal").exists(), "the log was carried over");
}

#[test]
fn one_commit_is_shared_and_in_order() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let before = db.counters();
    let texts: Vec<String> = (0..20).map(|i| i.to_string()).collect();
    let all = together(&db, texts.iter().map(|text| boxed(add(text))).collect());
    assert_eq!(all.iter().flatten().count(), 20);
    let after = db.counters();
    assert_eq!((after.writes - before.writes, after.commits - before.commits), (21, 2));
    assert_eq!(after.largest, 20);
    assert_eq!(notes(&scratch.path()), texts);
}

#[test]
fn each_of_many_threads_that_sleep_is_told_its_own_answer() {
    let scratch = Scratch::new();
    let db = scratch.open();
    // A slow write: from here on callers sleep instead of polling for an answer.
    db.write_with(|_| {
        thread::sleep(Duration::from_millis(5));
        Ok::<_, Error>(())
    })
    .expect("written");
    let fails = |at: &usize| at % 10 == 9;
    let write = |at: usize| {
        let text = at.to_string();
        boxed(move |c| match fails(&at) {
            true => Err(Error::Panicked(text.clone())),
            false => add(&text)(c).map(|_| text.clone()),
        })
    };
    let all = together(&db, (0..100).map(write).collect());
    for (at, answer) in all.into_iter().enumerate() {
        match answer {
            Ok(text) => assert!(!fails(&at) && text == at.to_string(), "{at} was told {text}"),
            Err(Error::Panicked(text)) => assert!(fails(&at) && text == at.to_string(), "{at} was told {text} failed"),
            Err(error) => panic!("{at}: {error}"),
        }
    }
    assert_eq!(db.counters().largest, 90, "one commit for those that are kept");
    assert_eq!(notes(&scratch.path()).len(), 90);
}

#[test]
fn one_that_fails_or_panics_takes_back_its_own_only() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let spoilt = |c: &mut Tx<'_>| {
        add("spoilt")(c)?;
        add("one")(c)
    };
    let panics = |c: &mut Tx<'_>| -> Result<i64, Error> {
        add("lost")(c)?;
        panic!("on purpose")
    };
    let all = together(
        &db,
        vec![boxed(panics), boxed(add("one")), boxed(spoilt), boxed(add("two")), boxed(panics), boxed(add("three"))],
    );
    let good: Vec<bool> = all.iter().map(Result::is_ok).collect();
    assert_eq!(good, [false, true, false, true, false, true]);
    assert!(matches!(&all[0], Err(Error::Panicked(text)) if text == "on purpose"));
    assert_eq!(all[2].as_ref().err().and_then(Error::code), Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE));
    assert_eq!(notes(&scratch.path()), ["one", "two", "three"]);
    assert_eq!(db.counters().failed, 3);
    // The same for a single caller, without a hand-over.
    assert!(matches!(db.write_with(panics), Err(Error::Panicked(_))));
    assert!(db.write_with(spoilt).is_err());
    assert_eq!(notes(&scratch.path()), ["one", "two", "three"]);
    db.write_with(add("four")).expect("the writer goes on");
}

#[test]
fn a_deferred_reference_fails_the_one_that_left_it() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().on_writer(|c| c.execute_batch("PRAGMA foreign_keys = ON")));
    let table = "CREATE TABLE part(note INTEGER REFERENCES note DEFERRABLE INITIALLY DEFERRED)";
    db.write_with(|c| Ok::<_, Error>(c.execute_batch(table)?)).expect("made");
    let dangling = |c: &mut Tx<'_>| Ok(c.execute("INSERT INTO part VALUES (77)", [])? as i64);
    let all = together(&db, vec![boxed(add("one")), boxed(dangling), boxed(add("two"))]);
    assert!(matches!(all[1], Err(Error::ForeignKey)), "{all:?}");
    assert_eq!(notes(&scratch.path()), ["one", "two"]);
    assert!(matches!(db.write_with(dangling), Err(Error::ForeignKey)));
    let parts = db.read_with(|c| Ok::<i64, Error>(c.query_row("SELECT count(*) FROM part", [], |row| row.get(0))?));
    assert_eq!(parts.expect("read"), 0);
}

#[test]
fn a_closure_cannot_end_what_it_shares() {
    let scratch = Scratch::new();
    let db = scratch.open();
    for sql in ["COMMIT", "ROLLBACK", "END", "BEGIN", "PRAGMA journal_mode = DELETE", "PRAGMA wal_autocheckpoint = 5"] {
        let all = together(&db, vec![boxed(add(sql)), boxed(move |c| Ok(c.execute_batch(sql).map(|()| 0)?))]);
        assert!(all[0].is_ok() && all[1].is_err(), "{sql}: {all:?}");
    }
    assert_eq!(notes(&scratch.path()).len(), 6);
    // Savepoints inside a closure are allowed.
    let own = |c: &mut Tx<'_>| {
        Ok::<_, Error>(c.execute_batch("SAVEPOINT a; INSERT INTO note(text) VALUES ('x'); ROLLBACK TO a")?)
    };
    db.write_with(own).expect("allowed");
    assert_eq!(notes(&scratch.path()).len(), 6);
}

#[test]
fn what_sqlite_rolls_back_whole_is_told_to_all() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let gone = |c: &mut Tx<'_>| Ok(c.execute("INSERT OR ROLLBACK INTO note(text) VALUES ('one')", [])? as i64);
    let all = together(&db, vec![boxed(add("one")), boxed(add("two")), boxed(gone), boxed(add("three"))]);
    assert!(matches!(all[0], Err(Error::RolledBack(_))), "{all:?}");
    assert!(matches!(all[1], Err(Error::RolledBack(_))));
    assert!(all[2].is_err() && all[3].is_ok());
    assert_eq!(notes(&scratch.path()), ["three"]);
}

#[test]
fn a_repeatable_statement_that_fails_takes_back_itself_only() {
    let scratch = Scratch::new();
    let db = scratch.open();
    // Two rows, the second of which violates the constraint: the first is not inserted either.
    let refused = |c: &mut Tx<'_>| Ok(c.execute("INSERT INTO note(text) VALUES ('lost'), ('one')", [])? as i64);
    let empty = |_: &mut Tx<'_>| Err(rusqlite::Error::QueryReturnedNoRows.into());
    let all = mixed(
        &db,
        vec![
            (true, boxed(add("one"))),
            (true, boxed(refused)),
            (false, boxed(add("two"))),
            (true, boxed(empty)),
            (true, boxed(|_| panic!("on purpose"))),
            (true, boxed(add("three"))),
            (true, boxed(refused)),
        ],
    );
    let good: Vec<bool> = all.iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, false, true, false, false, true, false], "{all:?}");
    assert_eq!(all[1].as_ref().err().and_then(Error::code), Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE));
    assert_eq!(notes(&scratch.path()), ["one", "two", "three"]);
    // The same for a single caller, without a hand-over.
    assert!(db.write_repeatable(refused).is_err());
    assert_eq!(db.write_repeatable(add("four")).expect("written"), 4);
    assert_eq!(notes(&scratch.path()), ["one", "two", "three", "four"]);
}

/// Closures that change something and then fail.
fn halves() -> Vec<Closure<i64>> {
    let sql = |sql: &'static str| {
        boxed(move |c| {
            c.execute_batch(sql)?;
            add("one")(c)
        })
    };
    vec![
        sql("INSERT INTO note(text) VALUES ('half')"),
        sql("CREATE TABLE half(x); CREATE TEMP TABLE short(x); PRAGMA user_version = 7"),
        sql("SAVEPOINT a; INSERT INTO note(text) VALUES ('half'); RELEASE a; SAVEPOINT b"),
        // `OR FAIL` keeps the rows before the rejected one.
        sql("INSERT OR FAIL INTO note(text) VALUES ('half'), ('one')"),
        // The statement succeeds, and the mapping of its row does not.
        boxed(|c| {
            Ok(c.query_row("INSERT INTO note(text) VALUES ('half') RETURNING text", [], |row| row.get::<_, i64>(0))?)
        }),
        boxed(|c| {
            c.blob_open("main", "note", "text", 1, false)?.write_all_at(b"two", 0)?;
            Err(rusqlite::Error::QueryReturnedNoRows.into())
        }),
        boxed(|c| Ok(c.execute("INSERT INTO part VALUES (77)", [])? as i64)),
        boxed(|c| {
            add("half")(c)?;
            panic!("on purpose")
        }),
    ]
}

#[test]
fn a_repeatable_write_that_fails_half_way_takes_nobody_with_it() {
    for (at, _) in halves().iter().enumerate() {
        for before in [[true, true], [false, true], [false, false], [true, false]] {
            let scratch = Scratch::new();
            let db = scratch.open();
            let table = "CREATE TABLE part(note INTEGER REFERENCES note DEFERRABLE INITIALLY DEFERRED)";
            db.write(|tx| tx.execute_batch(table)).expect("made");
            let half = halves().swap_remove(at);
            let all = vec![
                (before[0], boxed(add("one"))),
                (before[1], boxed(add("two"))),
                (true, boxed(add("three"))),
                (true, half),
                (true, boxed(add("four"))),
                (false, boxed(add("five"))),
                (true, boxed(add("six"))),
            ];
            let answers = mixed(&db, all);
            for (of, answer) in answers.iter().enumerate() {
                assert_eq!(answer.is_ok(), of != 3, "{at} {before:?} {of}: {answer:?}");
            }
            let there = notes(&scratch.path());
            assert_eq!(there, ["one", "two", "three", "four", "five", "six"], "{at} {before:?}");
            assert!(db.counters().repeated > 1, "{at} {before:?}: {:?}", db.counters());
            let rest = "SELECT (SELECT count(*) FROM sqlite_schema WHERE type = 'table') + (SELECT count(*) FROM
                        temp.sqlite_schema) + (SELECT user_version FROM pragma_user_version)";
            let rest = db.write(|tx| tx.query_row(rest, [], |row| row.get::<_, i64>(0)));
            assert_eq!(rest.expect("read"), 2, "{at} {before:?}: the two tables, and nothing else");
        }
    }
}

#[test]
fn after_a_failure_repeatable_writes_are_careful_for_a_while() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let fails = || boxed(|c| add("one")(c));
    let all = vec![(true, boxed(add("one"))), (true, fails()), (true, fails()), (true, fails()), (true, fails())];
    let answers = mixed(&db, all);
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, false, false]);
    assert_eq!(db.counters().repeated, 2, "the first one that fails, and the one before it");
    let answers = mixed(&db, (0..300).map(|at| (true, boxed(add(&at.to_string())))).collect());
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(db.counters().repeated, 2);
}

#[test]
fn a_write_inside_a_write_is_refused() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let inner = db.clone();
    let nested = db.write_with(move |_| inner.write_with(add("never")));
    assert!(matches!(nested, Err(Error::Nested)));
    // Another database is allowed.
    let (other, elsewhere) = (Scratch::new(), Scratch::new());
    let (db, inner) = (other.open(), elsewhere.open());
    db.write_with(move |_| inner.write_with(add("there"))).expect("written");
    assert_eq!(notes(&elsewhere.path()), ["there"]);
}

#[test]
fn another_process_that_writes_is_waited_for_and_then_told() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().on_writer(|c| c.busy_timeout(Duration::from_millis(30))));
    let other = Connection::open(scratch.path()).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("begun");
    assert!(matches!(db.write_with(add("one")), Err(Error::Begin(_))));
    assert_eq!(db.counters().busy, 1);
    other.execute_batch("ROLLBACK").expect("ended");
    db.write_with(add("one")).expect("written");
}

#[test]
fn closing_answers_everyone_and_refuses_later_ones() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let clone = db.clone();
    db.close().expect("closed");
    assert!(matches!(clone.write_with(add("late")), Err(Error::Closed)));
    assert!(matches!(clone.read_with(|_| Ok::<_, Error>(())), Err(Error::Closed)));
    clone.close().expect("closed twice");
}

#[test]
fn what_was_set_is_checked() {
    let scratch = Scratch::new();
    let normal = scratch.open_with(scratch.options().durability(Durability::Normal));
    let level = normal.write_with(|c| Ok::<i64, Error>(c.query_row("PRAGMA synchronous", [], |row| row.get(0))?));
    assert_eq!(level.expect("read"), 1);
    let Err(error) = onewriter::Options::new(":memory:").open() else { panic!("no log in memory") };
    assert_eq!(
        error.to_string(),
        ":memory:: its journal mode is memory and cannot be WAL, which one writer beside readers needs"
    );
    let Err(error) = onewriter::Options::new("/nowhere/at/all.db").open() else { panic!("no such folder") };
    assert!(error.to_string().starts_with("/nowhere/at/all.db: "), "{error}");
}

#[test]
fn readers_cannot_write_and_see_one_moment() {
    let scratch = Scratch::new();
    let db = scratch.open();
    db.write_with(add("one")).expect("written");
    let denied = db.read_with(|c| Ok::<_, Error>(c.execute("DELETE FROM note", [])?));
    assert_eq!(denied.err().and_then(|e| e.code()), Some(rusqlite::ffi::SQLITE_READONLY));
    let writer = db.clone();
    let counts = db.read_with(move |c| {
        let count = || c.query_row("SELECT count(*) FROM note", [], |row| row.get::<_, i64>(0));
        let before = count()?;
        let written = thread::spawn(move || writer.write_with(add("two"))).join().expect("no panic");
        written.expect("a reader keeps no writer");
        Ok::<_, Error>((before, count()?))
    });
    assert_eq!(counts.expect("read"), (1, 1));
    assert_eq!(notes(&scratch.path()), ["one", "two"]);
}

#[test]
fn a_thread_that_waits_lends_what_it_has() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let texts: Vec<String> = (0..400).map(|i| i.to_string()).collect();
    thread::scope(|scope| {
        for part in texts.chunks(50) {
            let db = &db;
            scope.spawn(move || {
                for text in part {
                    let len = db.write_with(|c| {
                        c.execute("INSERT INTO note(text) VALUES (?1)", [text])?;
                        Ok::<_, Error>(text)
                    });
                    assert_eq!(len.expect("written"), text);
                }
            });
        }
    });
    let mut there = notes(&scratch.path());
    there.sort_by_key(|text| text.parse::<u32>().expect("a number"));
    assert_eq!(there, texts);
    assert!(db.counters().inline < 401, "some were handed over");
}
