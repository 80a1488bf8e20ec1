//! Closures that misbehave: every caller is answered, and every answer is true in the file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Closure, Scratch, add, boxed, mixed, notes, patient, together};
use onewriter::{Database, Error, Tx};
use rusqlite::Connection;

/// Runs `test` in a thread of its own, so that a call that never returns fails the test instead of stopping it.
fn within<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    thread::spawn(move || {
        let _late = done.send(test());
    });
    ended.recv_timeout(Duration::from_secs(20)).expect("an answer")
}

/// Runs the closures in one commit and checks each answer against the file: closure `i` adds the note `i`.
fn true_answers(closures: Vec<Closure<i64>>) -> Vec<Result<i64, Error>> {
    let scratch = Scratch::new();
    let db = scratch.open();
    let answers = together(&db, closures);
    db.write_with(add("after")).expect("the database goes on");
    let there = notes(&scratch.path());
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_ok(), there.contains(&at.to_string()), "{at} is told {answer:?}, in the file: {there:?}");
    }
    let others: Vec<&String> = there.iter().filter(|text| text.parse::<usize>().is_err()).collect();
    assert_eq!(others, ["after"], "nothing else is in the file");
    answers
}

fn cached(sql: &'static str) -> impl Fn(&Connection) -> rusqlite::Result<usize> {
    move |c| c.prepare_cached(sql)?.execute([])
}

#[test]
fn a_cached_statement_of_the_layer_ends_no_transaction() {
    for sql in ["COMMIT", "ROLLBACK", "BEGIN IMMEDIATE"] {
        let ends = boxed(move |c: &mut Tx<'_>| {
            add("1")(c)?;
            cached(sql)(c)?;
            Ok(1)
        });
        let answers = true_answers(vec![boxed(add("0")), ends, boxed(add("2"))]);
        assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true], "{sql}: {answers:?}");
    }
    // Ends the transaction, begins another one, and fails.
    let anew = boxed(|c: &mut Tx<'_>| {
        add("half")(c)?;
        let _refused = (cached("COMMIT")(c), cached("BEGIN IMMEDIATE")(c));
        Err(rusqlite::Error::QueryReturnedNoRows.into())
    });
    true_answers(vec![boxed(add("0")), anew, boxed(add("2"))]);
}

#[test]
fn nothing_is_written_after_sqlite_has_rolled_back() {
    let goes_on = |ok: bool| {
        boxed(move |c: &mut Tx<'_>| {
            let _rolled_back = c.execute("INSERT OR ROLLBACK INTO note(text) VALUES ('0')", []);
            let _refused = add("stray")(c);
            if ok { Ok(1) } else { Err(rusqlite::Error::QueryReturnedNoRows.into()) }
        })
    };
    for ok in [true, false] {
        let answers = true_answers(vec![boxed(add("0")), goes_on(ok), boxed(add("2"))]);
        assert!(matches!(answers[0], Err(Error::RolledBack(_))), "{answers:?}");
    }
    // The same for a single caller, without a hand-over.
    let scratch = Scratch::new();
    let db = scratch.open();
    db.write_with(add("0")).expect("written");
    assert!(matches!(db.write_with(goes_on(true)), Err(Error::RolledBack(_))));
    assert_eq!(notes(&scratch.path()), ["0"]);
}

#[test]
fn a_savepoint_after_a_rollback_hides_nothing() {
    let conflict = "INSERT OR ROLLBACK INTO note(text) VALUES ('0')";
    let raise = "CREATE TRIGGER ends BEFORE INSERT ON note WHEN new.text = 'end'
                 BEGIN SELECT raise(ROLLBACK, 'ended'); END;
                 INSERT INTO note(text) VALUES ('end')";
    for ends in [conflict, raise] {
        for anew in ["SAVEPOINT a", "SAVEPOINT a; SAVEPOINT b", "SAVEPOINT a; RELEASE a; SAVEPOINT a"] {
            for (at, ok) in [(0, true), (1, true), (0, false), (1, false)] {
                let goes_on = || {
                    boxed(move |c: &mut Tx<'_>| {
                        add(&at.to_string())(c)?;
                        c.execute_batch(ends).expect_err("SQLite rolls back");
                        // Begins a transaction that looks like the one before.
                        let _begun = c.execute_batch(anew);
                        let _stray = add("stray")(c);
                        if ok { Ok(1) } else { Err(rusqlite::Error::QueryReturnedNoRows.into()) }
                    })
                };
                let mut closures = vec![boxed(add("0")), boxed(add("1")), boxed(add("2"))];
                closures[at] = goes_on();
                let answers = true_answers(closures);
                let lost: Vec<bool> = answers.iter().map(Result::is_err).collect();
                assert_eq!(lost, [true, at == 1, false], "{ends}; {anew}: {answers:?}");
                let causes = answers.iter().filter_map(|answer| match answer {
                    Err(Error::RolledBack(_)) => answer.as_ref().err().and_then(Error::code),
                    _ => None,
                });
                assert!(causes.into_iter().all(|code| code != 0), "a cause is given: {answers:?}");
                // The same for a single caller, without a hand-over.
                let scratch = Scratch::new();
                let db = scratch.open();
                db.write_with(add("0")).expect("written");
                assert!(db.write_with(goes_on()).is_err(), "{ends}; {anew}");
                assert_eq!(notes(&scratch.path()), ["0"]);
            }
        }
    }
}

/// A savepoint makes FTS5 write what it holds in memory; if the database is full then, SQLite rolls back.
#[test]
fn a_savepoint_that_rolls_back_loses_no_answer() {
    let scratch = Scratch::new();
    let words = "CREATE VIRTUAL TABLE IF NOT EXISTS word USING fts5(text, content=''); PRAGMA max_page_count = 60";
    let db = scratch.open_with(patient(scratch.options().on_writer(move |c| c.execute_batch(words))));
    let large = |c: &mut Tx<'_>| {
        add("0")(c)?;
        let words: String = (0..60_000).map(|n| format!("w{n} ")).collect();
        c.execute("INSERT INTO word(rowid, text) VALUES (1, ?1)", [words])?;
        Ok(0)
    };
    let answers = together(&db, vec![boxed(large), boxed(add("1")), boxed(add("2"))]);
    assert!(answers[0].is_err(), "it did not fit: {answers:?}");
    let kept = answers.iter().zip(["0", "1", "2"]).filter(|(answer, _)| answer.is_ok()).map(|(_, note)| note);
    assert_eq!(notes(&scratch.path()), kept.collect::<Vec<_>>(), "{answers:?}");
}

#[test]
fn a_savepoint_left_open_does_not_reach_a_neighbour() {
    for ends in ["ROLLBACK TO a", "RELEASE a"] {
        let open = |note: &'static str| {
            boxed(move |c: &mut Tx<'_>| {
                c.execute_batch("SAVEPOINT a")?;
                add(note)(c)
            })
        };
        let ends = boxed(move |c: &mut Tx<'_>| {
            add("3")(c)?;
            c.execute_batch(ends).expect_err("no such savepoint");
            Ok(3)
        });
        let answers = true_answers(vec![open("0"), open("1"), boxed(add("2")), ends, boxed(add("4"))]);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
}

#[test]
fn savepoints_of_a_closure_split_nothing() {
    for own in ["SAVEPOINT onewriter", "SAVEPOINT a", "RELEASE onewriter", "ROLLBACK TO onewriter"] {
        let splits = boxed(move |c: &mut Tx<'_>| {
            add("must not stay")(c)?;
            let _refused = c.execute_batch(own);
            add("nor this")(c)?;
            Err(rusqlite::Error::QueryReturnedNoRows.into())
        });
        let answers = true_answers(vec![boxed(add("0")), splits, boxed(add("2"))]);
        assert!(answers[0].is_ok() && answers[2].is_ok(), "{own}: {answers:?}");
    }
    // A savepoint that a neighbour left open.
    let open = boxed(|c: &mut Tx<'_>| {
        c.execute_batch("SAVEPOINT a")?;
        add("0")(c)
    });
    let back = boxed(|c: &mut Tx<'_>| {
        c.execute_batch("ROLLBACK TO a")?;
        add("1")(c)
    });
    true_answers(vec![open, back, boxed(add("2"))]);
}

#[test]
fn deferred_foreign_keys_concern_one_closure() {
    for is_repeatable in [false, true] {
        let scratch = Scratch::new();
        let db = scratch.open();
        let make = "CREATE TABLE child(note INTEGER REFERENCES note(id))";
        db.write_with(move |c| Ok::<_, Error>(c.execute_batch(make)?)).expect("made");
        let defers = boxed(|c: &mut Tx<'_>| {
            c.execute_batch("PRAGMA defer_foreign_keys = ON; INSERT INTO child VALUES (2)")?;
            add("two")(c)
        });
        let fails = boxed(|c: &mut Tx<'_>| Ok(c.execute("INSERT INTO child VALUES (7)", [])? as i64));
        let all = [(is_repeatable, boxed(add("one"))), (is_repeatable, defers), (is_repeatable, fails)];
        let answers = mixed(&db, all.into());
        assert!(answers[0].is_ok() && answers[1].is_ok(), "{answers:?}");
        assert!(matches!(&answers[2], Err(Error::Sqlite(_))), "the statement fails: {answers:?}");
        assert_eq!(notes(&scratch.path()), ["one", "two"]);
    }
}

#[test]
fn what_an_unguarded_closure_leaves_is_seen() {
    let temp = "CREATE TEMP TABLE half(x)";
    for half in ["PRAGMA user_version = 7", "PRAGMA application_id = 7", "SAVEPOINT a", temp] {
        let scratch = Scratch::new();
        let db = scratch.open();
        let fails = boxed(move |c: &mut Tx<'_>| {
            c.execute_batch(half)?;
            Ok(c.execute("INSERT INTO note(text) VALUES ('one')", [])? as i64)
        });
        let all = mixed(&db, vec![(true, boxed(add("one"))), (true, fails), (true, boxed(add("two")))]);
        assert!(all[0].is_ok() && all[1].is_err() && all[2].is_ok(), "{half}: {all:?}");
        let left = db.write_with(|c| {
            let number = |sql| c.query_row(sql, [], |row| row.get::<_, i64>(0));
            let temp = number("SELECT count(*) FROM temp.sqlite_schema")?;
            Ok::<_, Error>(temp + number("PRAGMA user_version")? + number("PRAGMA application_id")?)
        });
        assert_eq!((left.expect("read"), notes(&scratch.path()).len()), (0, 2), "{half}");
    }
}

#[test]
fn an_unguarded_closure_that_fails_early_takes_no_schema_with_it() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let unguarded = |sql: &'static str| (true, boxed(move |c: &mut Tx<'_>| Ok(c.execute_batch(sql).map(|()| 1)?)));
    let fails = || (true, boxed(|_: &mut Tx<'_>| Err(rusqlite::Error::QueryReturnedNoRows.into())));
    let closures = vec![
        (true, boxed(add("one"))),
        (true, boxed(add("two"))),
        unguarded("CREATE TABLE made(x)"),
        fails(),
        unguarded("CREATE INDEX by_x ON made(x)"),
        fails(),
        unguarded("ALTER TABLE made ADD COLUMN y"),
        fails(),
        unguarded("DROP TABLE made"),
        fails(),
        (true, boxed(add("three"))),
    ];
    let fail = [3, 5, 7, 9];
    for (at, answer) in mixed(&db, closures).iter().enumerate() {
        assert_eq!(answer.is_ok(), !fail.contains(&at), "{at}: {answer:?}");
    }
    assert_eq!(notes(&scratch.path()), ["one", "two", "three"]);
}

/// A value whose drop panics.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("dropped on purpose");
        }
    }
}

/// An error that cannot be made from an error of the layer.
#[derive(Debug)]
struct Picky;

impl From<Error> for Picky {
    fn from(_: Error) -> Self {
        panic!("converted on purpose")
    }
}

/// Writes, reads and closes with a deadline.
fn goes_on(db: Database, scratch: &Scratch) {
    let path = scratch.path();
    within(move || {
        db.write_with(add("goes on")).expect("written");
        pollster::block_on(db.write_with_async(add("goes on too"))).expect("written");
        db.close().expect("closed");
    });
    let there = notes(&path);
    assert!(there.ends_with(&["goes on".into(), "goes on too".into()]), "{there:?}");
}

/// Polls the future once while the writer is busy, drops it, and lets the writer go on. Returns a neighbour's answer.
fn dropped<F: Future>(db: &Database, future: F) -> Result<i64, Error> {
    let (here, arrived) = channel();
    let (go, gone) = channel::<()>();
    let holder = db.clone();
    let holder = thread::spawn(move || {
        holder.write_with(move |_| {
            here.send(()).expect("the test waits");
            Ok::<_, Error>(gone.recv().is_ok())
        })
    });
    arrived.recv().expect("the writer is kept");
    let mut future = Box::pin(future);
    assert!(future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending());
    let neighbour = db.clone();
    let neighbour = thread::spawn(move || neighbour.write_with(add("neighbour")));
    while db.counters().queued < 2 {
        thread::yield_now();
    }
    // The drop of a captured value may panic, in the thread of its owner.
    let _panicked = catch_unwind(AssertUnwindSafe(|| drop(future)));
    go.send(()).expect("the holder waits");
    holder.join().expect("no panic").expect("written");
    within(move || neighbour.join().expect("no panic"))
}

#[test]
fn a_panic_outside_a_closure_stops_nobody_else() {
    // The captured value of a closure that does not run.
    let scratch = Scratch::new();
    let db = scratch.open();
    let bomb = Bomb;
    let never = db.write_with_async(move |_| {
        let _captured = &bomb;
        Ok::<_, Error>(())
    });
    assert!(dropped(&db, never).is_ok());
    goes_on(db, &scratch);

    // The result of a closure whose caller has gone.
    let scratch = Scratch::new();
    let db = scratch.open();
    let (begun, begins) = channel();
    let result = db.write_with_async(move |_| {
        begun.send(()).expect("the test waits");
        thread::sleep(Duration::from_millis(50));
        Ok::<_, Error>(Bomb)
    });
    let mut result = Box::pin(result);
    assert!(result.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending());
    begins.recv().expect("it runs");
    drop(result);
    goes_on(db, &scratch);

    // The conversion of an error of the layer.
    let scratch = Scratch::new();
    let db = scratch.open();
    let (one, two) = (db.clone(), db.clone());
    let answers = within(move || {
        let fails = |c: &mut Tx<'_>| -> Result<i64, Picky> {
            c.execute("INSERT INTO note(text) VALUES ('x')", []).map_err(|_| Picky)?;
            panic!("on purpose")
        };
        let inline = thread::spawn(move || one.write_with(fails));
        let queued = thread::spawn(move || pollster::block_on(two.write_with_async(fails)));
        (inline.join().is_err(), queued.join().is_err())
    });
    assert_eq!(answers, (true, true), "each panics in its own caller");
    goes_on(db, &scratch);
}

#[test]
fn a_refused_write_is_dropped_quietly() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let again = db.clone();
    db.close().expect("closed");
    let closure = || {
        let bomb = Bomb;
        move |_: &mut Tx<'_>| {
            let _captured = &bomb;
            Ok::<_, Error>(())
        }
    };
    assert!(matches!(again.write_with(closure()), Err(Error::Closed)));
    assert!(matches!(again.write_repeatable(closure()), Err(Error::Closed)));
    assert!(matches!(pollster::block_on(again.write_with_async(closure())), Err(Error::Closed)));
}

#[test]
fn a_panic_in_a_reader_ends_its_transaction() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().readers(1));
    let reader = db.clone();
    let panics = thread::spawn(move || {
        reader.read_with(|c| -> Result<(), Picky> {
            c.query_row("SELECT count(*) FROM note", [], |_| Ok(())).map_err(|_| Picky)?;
            panic!("on purpose")
        })
    });
    assert!(panics.join().is_err());
    for _ in 0..2 {
        db.read_with(|c| Ok::<_, Error>(c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?)).expect("read");
    }
}

#[test]
fn a_call_that_would_wait_for_itself_is_refused() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().readers(1));
    let is_nested = |answer: Result<(), Error>| assert!(matches!(answer, Err(Error::Nested)), "{answer:?}");
    let nested = |outer: fn(&Database, Database) -> Result<(), Error>| {
        let (db, inner) = (db.clone(), db.clone());
        is_nested(within(move || outer(&db, inner)));
    };
    nested(|db, inner| db.write_with(move |_| pollster::block_on(inner.write_with_async(add("never"))).map(drop)));
    nested(|db, inner| pollster::block_on(db.write_with_async(move |_| inner.write_with(add("never")).map(drop))));
    nested(|db, inner| db.write_with(move |_| inner.close()));
    nested(|db, inner| db.read_with(move |_| inner.read_with(|_| Ok::<_, Error>(()))));
    nested(|db, inner| db.read_with(move |_| inner.close()));
    // Through another database, and through its writer thread.
    let elsewhere = Scratch::new();
    let other = elsewhere.open();
    let circle = |is_async: bool| {
        let (db, back, other) = (db.clone(), db.clone(), other.clone());
        let answer = within(move || {
            db.write_with(move |_| match is_async {
                false => other.write_with(move |_| back.write_with(add("never")).map(drop)),
                true => pollster::block_on(other.write_with_async(move |_| back.write_with(add("never")).map(drop))),
            })
        });
        is_nested(answer);
    };
    circle(false);
    circle(true);
    let (holder, back) = (db.clone(), db.clone());
    let through_a_read = within(move || {
        holder.write_with(move |_| {
            pollster::block_on(other.read_with_async(move |_| back.write_with(add("never")).map(drop)))
        })
    });
    is_nested(through_a_read);
    db.write_with(add("one")).expect("the database goes on");
    assert_eq!(notes(&scratch.path()), ["one"]);
}

#[test]
fn a_transaction_that_cannot_begin_is_answered_to_all_who_wait() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().max_log(50));
    let (here, arrived) = channel();
    let (go, gone) = channel::<()>();
    let holder = db.clone();
    let holder = thread::spawn(move || {
        holder.write(move |tx| {
            here.send(()).expect("the test waits");
            gone.recv().expect("the test waits");
            // More pages than the log may have.
            tx.execute("INSERT INTO note(text) VALUES (zeroblob(400000))", [])
        })
    });
    arrived.recv().expect("the writer is kept");
    let mut calls = Vec::new();
    for at in 0..4 {
        let caller = db.clone();
        calls.push(thread::spawn(move || match at {
            0 => pollster::block_on(caller.write_with_async(add("never"))),
            1 => caller.execute("INSERT INTO note(text) VALUES ('never')", ()).map(|_| 0),
            // Needs no transaction of the writer.
            2 => caller.exclusive(|c| Ok(c.query_row("SELECT count(*) FROM note", [], |row| row.get(0))?)),
            _ => caller.write_with(add("never")),
        }));
        while db.counters().queued < calls.len() as u64 {
            thread::yield_now();
        }
    }
    let answers = db.read_with(|c| {
        // A snapshot that needs the log.
        c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?;
        go.send(()).expect("the holder waits");
        Ok::<_, Error>(within(move || calls.into_iter().map(|call| call.join().expect("no panic")).collect::<Vec<_>>()))
    });
    holder.join().expect("no panic").expect("written");
    let answers = answers.expect("read");
    for at in [0, 1, 3] {
        assert!(matches!(answers[at], Err(Error::LogFull { .. })), "{answers:?}");
    }
    assert!(matches!(answers[2], Ok(1)), "{answers:?}");
}

#[test]
fn a_database_without_readers_is_refused() {
    let scratch = Scratch::new();
    let error = scratch.options().readers(0).open().expect_err("refused");
    assert!(error.to_string().contains("at least one reader"), "{error}");
}

#[test]
fn a_listener_that_writes_what_it_hears_is_refused() {
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

    struct Writes(Database, std::sync::mpsc::Sender<bool>);
    impl<S: tracing::Subscriber> Layer<S> for Writes {
        fn on_new_span(&self, span: &tracing::span::Attributes<'_>, _: &tracing::span::Id, _: Context<'_, S>) {
            if span.metadata().name() == "commit" {
                let _gone = self.1.send(matches!(self.0.write_with(add("heard")), Err(Error::Nested)));
            }
        }
    }

    let scratch = Scratch::new();
    let db = scratch.open();
    let (tell, told) = channel();
    let heard = db.clone();
    within(move || {
        let subscriber = tracing_subscriber::registry().with(Writes(heard.clone(), tell));
        tracing::subscriber::with_default(subscriber, || heard.write_with(add("one"))).expect("written");
    });
    assert_eq!(told.recv(), Ok(true));
    assert_eq!(notes(&scratch.path()), ["one"]);
}

#[test]
fn a_caller_is_answered_when_its_own_commit_is_done() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let (here, arrived) = channel();
    let first = db.clone();
    let first = thread::spawn(move || {
        let started = Instant::now();
        let written = first.write_with(move |c| {
            here.send(()).expect("the test waits");
            thread::sleep(Duration::from_millis(100));
            add("first")(c)
        });
        (written, started.elapsed(), thread::current().id())
    });
    arrived.recv().expect("the first one writes");
    let second = db.write_with(|_| {
        thread::sleep(Duration::from_secs(2));
        Ok::<_, Error>(thread::current().id())
    });
    let (written, took, thread) = first.join().expect("no panic");
    written.expect("written");
    assert!(took < Duration::from_millis(1500), "its own commit was done after 100 ms, its answer came after {took:?}");
    assert_ne!(second.expect("written"), thread, "no closure runs in the thread of another caller");
}

#[test]
fn a_closure_changes_no_setting_of_the_others() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let settings = [
        "PRAGMA WAL_AUTOCHECKPOINT = 100000",
        "pragma Locking_Mode = EXCLUSIVE",
        "PRAGMA query_only = ON",
        "PRAGMA busy_timeout = 0",
        "PRAGMA main.synchronous = OFF",
        "PRAGMA ignore_check_constraints = ON",
        "PRAGMA journal_size_limit = 1",
        "PRAGMA writable_schema = ON",
        "PRAGMA cache_size(1)",
        "PRAGMA wal_checkpoint",
        "PRAGMA no_such_setting = 1",
        "ATTACH ':memory:' AS other",
        "DETACH main",
    ];
    for sql in settings {
        let answer = db.write_with(move |c| Ok::<_, Error>(c.execute_batch(sql)?));
        let Err(error) = answer else { panic!("{sql} is accepted") };
        assert!(matches!(error, Error::NotAllowed(_)), "{sql}: {error:?}");
        assert!(error.to_string().contains("on_writer"), "{error}");
        let reader = db.read_with(move |c| Ok::<_, Error>(c.execute_batch(sql)?));
        assert!(reader.is_err(), "{sql} is accepted in a reader");
    }
    for sql in ["PRAGMA journal_mode", "PRAGMA table_info(note)", "PRAGMA user_version = 3", "PRAGMA optimize"] {
        db.write_with(move |c| Ok::<_, Error>(c.execute_batch(sql)?)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    db.write_with(add("one")).expect("written");
    let nobody = db.write_with(|c| Ok::<_, Error>(c.last_insert_rowid()));
    assert_eq!(nobody.expect("read"), 0, "the row number of another closure");
    let nested = db.write_with(|c| Ok::<_, Error>(c.unchecked_transaction().map(drop)?));
    assert!(matches!(nested, Err(Error::NotAllowed(_))), "{nested:?}");
}
