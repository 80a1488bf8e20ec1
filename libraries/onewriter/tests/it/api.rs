//! Statement methods, savepoints, maintenance, limits of time, and what handles and errors tell.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Scratch, add, notes};
use onewriter::{Database, Error, Options};
use rusqlite::Connection;

/// A writer that is kept busy until the guard is released.
fn busy(db: &Database) -> impl FnOnce() + use<> {
    let (here, arrived) = channel();
    let (go, gone) = channel::<()>();
    let holder = db.clone();
    let holder = thread::spawn(move || {
        holder.write(move |_| {
            here.send(()).expect("the test waits");
            Ok(gone.recv().is_ok())
        })
    });
    arrived.recv().expect("the writer is kept");
    move || {
        go.send(()).expect("the holder waits");
        holder.join().expect("no panic").expect("written");
    }
}

fn texts(db: &Database) -> Vec<String> {
    db.query_map("SELECT text FROM note ORDER BY id", (), |row| row.get(0)).expect("read")
}

#[test]
fn statements_write_and_read() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let borrowed = String::from("one");
    assert_eq!(db.execute("INSERT INTO note(text) VALUES (?1)", [&borrowed]).expect("written"), 1);
    let insert = "INSERT INTO note(text) VALUES (?1), (?2) RETURNING id";
    assert_eq!(db.execute_returning(insert, ("two", "three"), |row| row.get::<_, i64>(0)).expect("written"), [2, 3]);
    assert_eq!(db.execute_many("INSERT INTO note(text) VALUES (?1)", [["four"], ["five"]]).expect("written"), 2);
    assert_eq!(texts(&db), ["one", "two", "three", "four", "five"]);
    let id: i64 = db.query_row("SELECT id FROM note WHERE text = ?1", ["five"], |row| row.get(0)).expect("read");
    assert_eq!(id, 5);

    let none = db.query_row("SELECT id FROM note WHERE text = 'six'", (), |row| row.get::<_, i64>(0));
    assert!(matches!(none, Err(Error::Sqlite(rusqlite::Error::QueryReturnedNoRows))), "{none:?}");
    let writes = db.query_row("DELETE FROM note RETURNING id", (), |row| row.get::<_, i64>(0));
    assert_eq!(writes.err().and_then(|error| error.code()), Some(rusqlite::ffi::SQLITE_READONLY));
    assert!(db.execute("SELECT 1", ()).is_err(), "a query is no statement that writes");
    let twice = db.execute_many("INSERT INTO note(text) VALUES (?1)", [["six"], ["one"]]);
    assert!(twice.is_err_and(|error| error.is_constraint()));
    let mapped =
        db.execute_returning("INSERT INTO note(text) VALUES ('x') RETURNING text", (), |row| row.get::<_, i64>(0));
    assert!(mapped.is_err(), "{mapped:?}");
    assert_eq!(texts(&db).len(), 5, "what failed has left nothing");
}

#[tokio::test]
async fn statements_write_and_read_in_tasks() {
    let db = Options::temporary().expect("a folder").open().expect("opened");
    db.exclusive(|c| Ok::<_, Error>(c.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT UNIQUE)")?))
        .expect("made");
    let insert = "INSERT INTO note(text) VALUES (?1)";
    assert_eq!(db.execute_async(insert, ["one"]).await.expect("written"), 1);
    let many = vec![[String::from("two")], [String::from("three")]];
    assert_eq!(db.execute_many_async(String::from(insert), many).await.expect("written"), 2);
    let gone =
        db.execute_returning_async("DELETE FROM note WHERE id = 2 RETURNING text", (), |row| row.get::<_, String>(0));
    assert_eq!(gone.await.expect("written"), ["two"]);
    let all = db.query_map_async("SELECT text FROM note", (), |row| row.get::<_, String>(0));
    assert_eq!(all.await.expect("read"), ["one", "three"]);
    let count = db.query_row_async("SELECT count(*) FROM note", (), |row| row.get::<_, i64>(0));
    assert_eq!(count.await.expect("read"), 2);
    let version = db.exclusive_async(|c| Ok::<i64, Error>(c.query_row("PRAGMA user_version", (), |row| row.get(0))?));
    assert_eq!(version.await.expect("read"), 0);
    db.close_async().await.expect("closed");
}

#[test]
fn a_statement_that_changes_no_row_returns_no_number_of_another() {
    let scratch = Scratch::new();
    let db = scratch.open();
    db.execute_many("INSERT INTO note(text) VALUES (?1)", [["a"], ["b"], ["c"]]).expect("written");
    assert_eq!(db.execute("DELETE FROM note WHERE text < 'c'", ()).expect("deleted"), 2);
    assert_eq!(db.execute("CREATE TABLE more(x)", ()).expect("made"), 0);
    assert_eq!(db.execute("UPDATE note SET text = 'd' WHERE text = 'x'", ()).expect("none"), 0);
    assert_eq!(db.execute_many("UPDATE note SET text = ?1", [["d"], ["e"]]).expect("changed"), 2);
}

#[test]
fn without_time_an_idle_connection_reads() {
    let scratch = Scratch::new();
    let db = scratch.open().with_timeout(Duration::ZERO);
    let count = |c: &Connection| c.query_row("SELECT count(*) FROM note", [], |row| row.get::<_, i64>(0));
    assert_eq!(db.read(count).expect("read"), 0);
    assert_eq!(pollster::block_on(db.read_async(count)).expect("read"), 0);
}

#[test]
fn asynchronous_reads_need_no_runtime() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().readers(2));
    db.write(|tx| tx.execute("INSERT INTO note(text) VALUES ('one')", [])).expect("written");
    let count = |c: &Connection| c.query_row("SELECT count(*) FROM note", [], |row| row.get::<_, i64>(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let db = db.clone();
            thread::spawn(move || (0..50).map(|_| pollster::block_on(db.read_async(count)).expect("read")).sum::<i64>())
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), 50);
    }
    let panics = pollster::block_on(db.read_async(|_| -> rusqlite::Result<()> { panic!("on purpose") }));
    assert!(matches!(panics, Err(Error::Panicked(text)) if text == "on purpose"));
    assert_eq!(pollster::block_on(db.read_async(count)).expect("the reader goes on"), 1);
    // A future that is dropped while it waits for a connection leaves it to others.
    let all = db.each_reader(|_| Ok::<_, Error>(())).expect("read").len();
    drop(db.read_async(count));
    assert_eq!(db.each_reader(|_| Ok::<_, Error>(())).expect("read").len(), all);
}

#[test]
fn a_savepoint_of_a_closure_is_rolled_back_when_it_is_dropped() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let insert = "INSERT INTO note(text) VALUES (?1)";
    for _ in 0..3 {
        db.write(|tx| {
            tx.execute("DELETE FROM note", [])?;
            let mut kept = tx.savepoint()?;
            kept.execute(insert, ["kept"])?;
            kept.savepoint()?.execute(insert, ["inner"])?;
            kept.commit()?;
            tx.savepoint()?.execute(insert, ["dropped"])?;
            // Stays open, and is released at the end.
            let open = tx.savepoint()?;
            open.execute(insert, ["open"])?;
            std::mem::forget(open);
            Ok(())
        })
        .expect("written");
        assert_eq!(notes(&scratch.path()), ["kept", "open"]);
    }
    db.write(add_text("next")).expect("the next closure has no open savepoint");
}

fn add_text(text: &'static str) -> impl FnOnce(&mut onewriter::Tx<'_>) -> rusqlite::Result<()> {
    move |tx| {
        tx.execute_batch("RELEASE _rusqlite_sp").expect_err("no savepoint of another closure is open");
        tx.execute("INSERT INTO note(text) VALUES (?1)", [text]).map(drop)
    }
}

#[test]
fn an_exclusive_closure_may_do_anything_and_leaves_no_setting() {
    let scratch = Scratch::new();
    let db = scratch.open();
    db.execute("INSERT INTO note(text) VALUES ('one')", ()).expect("written");
    db.write(|tx| tx.execute_batch("CREATE TABLE part(note INTEGER REFERENCES note)")).expect("made");
    let turned = db.exclusive(|c| {
        c.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; ATTACH ':memory:' AS other")?;
        let change = c.transaction()?;
        change.execute("INSERT INTO part VALUES (77)", [])?;
        change.commit()?;
        c.execute_batch("CREATE TEMP TABLE short(x); VACUUM; PRAGMA user_version = 3; BEGIN; DELETE FROM note")?;
        Ok::<_, Error>(())
    });
    turned.expect("done");
    assert_eq!(notes(&scratch.path()), ["one"], "what is not committed is rolled back");
    let settings = db.write(|tx| {
        let number = |sql| tx.query_row(sql, [], |row| row.get::<_, i64>(0));
        let databases = number("SELECT count(*) FROM pragma_database_list")?;
        Ok((number("PRAGMA foreign_keys")?, number("PRAGMA synchronous")?, databases, number("PRAGMA user_version")?))
    });
    assert_eq!(settings.expect("read"), (1, 2, 1, 3));
    let failed: Result<(), Error> = db.exclusive(|_| panic!("on purpose"));
    assert!(matches!(failed, Err(Error::Panicked(_))), "{failed:?}");
    let inner = db.clone();
    let nested = db.exclusive(move |_| inner.write(|_| Ok(())));
    assert!(matches!(nested, Err(Error::Nested)), "{nested:?}");
    db.execute("INSERT INTO note(text) VALUES ('two')", ()).expect("the database goes on");
}

#[test]
fn an_exclusive_closure_waits_for_earlier_writes_and_no_other_begins() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let go = busy(&db);
    let mut calls = Vec::new();
    for at in 0..6 {
        let caller = db.clone();
        calls.push(thread::spawn(move || match at {
            2 | 4 => caller.exclusive(|c| {
                assert!(c.is_autocommit(), "it begins its own transaction");
                Ok(c.query_row("SELECT count(*) FROM note", [], |row| row.get(0))?)
            }),
            _ => caller.write_with(add(&at.to_string())).map(|_| 0_i64),
        }));
        while db.counters().queued < calls.len() as u64 {
            thread::yield_now();
        }
    }
    go();
    let counts: Vec<i64> = calls.into_iter().map(|call| call.join().expect("no panic").expect("done")).collect();
    assert_eq!(counts, [0, 0, 2, 0, 3, 0]);
}

#[test]
fn a_backup_is_the_database_of_one_moment() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let copy = scratch.path().with_file_name("copy.db");
    std::fs::write(&copy, "replaced when the copy is complete").expect("written");
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0.. {
                db.write_with(add(&format!("{at}a"))).expect("written");
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..5 {
            db.backup_to(&copy).expect("copied");
            let there = notes(&copy).len();
            assert!(there <= texts(&db).len(), "{there}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let names = std::fs::read_dir(scratch.path().parent().expect("a folder")).expect("read");
    let partial = names.filter(|name| name.as_ref().is_ok_and(|n| n.path().extension() == Some("partial".as_ref())));
    assert_eq!(partial.count(), 0);
    assert!(db.backup_to("/nowhere/at/all.db").is_err());
    db.clone().close().expect("closed");
    assert!(matches!(db.backup_to(&copy), Err(Error::Closed)));
}

#[test]
fn a_backup_replaces_no_database_with_a_log() {
    let scratch = Scratch::new();
    let db = scratch.open();
    db.write_with(add("one")).expect("written");
    let copy = scratch.path().with_file_name("copy.db");
    let old = Connection::open(&copy).expect("it opens");
    old.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE note(id, text); INSERT INTO note VALUES (1, 'old')")
        .expect("made");
    for path in [&copy, &scratch.path()] {
        let refused = db.backup_to(path).expect_err("refused").to_string();
        assert!(refused.contains("log"), "{refused}");
    }
    assert_eq!(old.query_row("SELECT text FROM note", [], |row| row.get::<_, String>(0)).expect("read"), "old");
    drop(old);
    db.backup_to(&copy).expect("copied");
    assert_eq!(notes(&copy), ["one"]);
}

#[test]
fn a_panic_while_a_database_opens_concerns_no_other() {
    let scratch = Scratch::new();
    let opened = scratch.options().on_writer(|_| panic!("of the test")).open();
    assert!(matches!(opened, Err(Error::Panicked(_))), "{opened:?}");
    let elsewhere = Scratch::new();
    let path = elsewhere.path();
    let opens = move |_: &mut Connection| match Options::new(&path).open() {
        Err(Error::Nested) => Ok(()),
        other => panic!("{other:?}"),
    };
    scratch.open_with(scratch.options().on_writer(opens)).write_with(add("one")).expect("written");
}

#[test]
fn a_checkpoint_empties_the_log_or_tells_that_it_could_not() {
    let scratch = Scratch::new();
    let db = scratch.open();
    db.execute("INSERT INTO note(text) VALUES ('one')", ()).expect("written");
    let log = scratch.path().with_extension("db-wal");
    let reader = db.clone();
    let blocked = db.read_with(|c| {
        c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?;
        let writer = reader.clone();
        thread::spawn(move || {
            writer.execute("INSERT INTO note(text) VALUES ('two')", ())?;
            writer.checkpoint()
        })
        .join()
        .expect("no panic")
    });
    assert!(!blocked.expect("tried"), "a reader needs the log");
    assert!(db.checkpoint().expect("done"));
    assert_eq!(log.metadata().expect("there").len(), 0);
    assert_eq!(db.counters().wal_frames, 0);
}

#[test]
fn a_call_gives_up_if_it_cannot_begin_in_time() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().readers(1));
    let go = busy(&db);
    let hurried = db.with_timeout(Duration::from_millis(20));
    let at_once = db.with_timeout(Duration::ZERO);
    assert!(matches!(hurried.write_with(add("late")), Err(Error::Timeout)));
    assert!(matches!(at_once.execute("INSERT INTO note(text) VALUES ('late')", ()), Err(Error::Timeout)));
    assert!(matches!(at_once.exclusive(|_| Ok::<_, Error>(())), Err(Error::Timeout)));
    let task = hurried.clone();
    let task = thread::spawn(move || pollster::block_on(task.write_with_async(add("late"))));
    while db.counters().queued < 1 {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(40));
    go();
    assert!(matches!(task.join().expect("no panic"), Err(Error::Timeout)), "refused when its turn comes");
    assert_eq!(db.with_timeout(Duration::from_secs(60)).write_with(add("one")).expect("in time"), 1);
    // The writer thread may still be about to leave the writer.
    while let Err(error) = at_once.execute("INSERT INTO note(text) VALUES ('two')", ()) {
        assert!(matches!(error, Error::Timeout), "{error}");
        thread::yield_now();
    }
    let read = at_once.clone();
    let nested = db.read_with(move |_| thread::spawn(move || read.read(|_| Ok(()))).join().expect("no panic"));
    assert!(matches!(nested, Err(Error::Timeout)), "{nested:?}");
    assert_eq!(notes(&scratch.path()), ["one", "two"]);
}

#[test]
fn another_process_that_writes_counts_for_the_time_of_a_call() {
    let scratch = Scratch::new();
    let patient = |c: &mut Connection| c.busy_timeout(Duration::from_secs(600));
    let db = scratch.open_with(scratch.options().on_writer(patient));
    let other = Connection::open(scratch.path()).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("begun");
    let hurried = db.with_timeout(Duration::from_millis(20));
    let alone = hurried.write_with(add("late"));
    assert!(matches!(alone, Err(Error::Timeout)), "{alone:?}");
    // The writer thread waits for the other process, and its callers do not.
    let task = db.clone();
    let task = thread::spawn(move || pollster::block_on(task.write_with_async(add("one"))));
    for _ in 0..5 {
        let queued = hurried.write_with(add("late"));
        assert!(matches!(queued, Err(Error::Timeout)), "{queued:?}");
    }
    other.execute_batch("COMMIT").expect("committed");
    task.join().expect("no panic").expect("written");
    assert_eq!(notes(&scratch.path()), ["one"]);
}

#[test]
fn a_write_that_takes_too_long_is_interrupted() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().max_write(Duration::from_millis(200)));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let started = Instant::now();
    let written = db.write(|tx| tx.query_row(endless, [], |row| row.get::<_, i64>(0)));
    assert_eq!(written.err().and_then(|error| error.code()), Some(rusqlite::ffi::SQLITE_INTERRUPT));
    assert!(started.elapsed() >= Duration::from_millis(200));
    db.execute("INSERT INTO note(text) VALUES ('one')", ()).expect("others go on");
    assert_eq!(notes(&scratch.path()), ["one"]);
}

#[test]
fn a_temporary_database_leaves_nothing() {
    let options = Options::temporary().expect("a folder");
    let path = format!("{options:?}").split('"').nth(1).map(std::path::PathBuf::from).expect("a path");
    let db = options.open().expect("opened");
    db.write(|tx| tx.execute_batch("CREATE TABLE note(x)")).expect("made");
    assert!(path.exists());
    db.close().expect("closed");
    assert!(!path.parent().expect("a folder").exists(), "{path:?}");
}

#[test]
fn errors_and_handles_tell_what_they_are() {
    use std::error::Error as _;

    let scratch = Scratch::new();
    let quick = |c: &mut Connection| c.busy_timeout(Duration::from_millis(20));
    let db = scratch.open_with(scratch.options().on_writer(quick));
    assert!(format!("{db:?}").contains("test.db"), "{db:?}");
    db.write_with(add("one")).expect("written");
    let taken = db.write_with(add("one")).expect_err("taken");
    assert!(taken.is_constraint() && !taken.is_busy(), "{taken:?}");
    let Error::Sqlite(rusqlite::Error::SqliteFailure(cause, Some(text))) = &taken else { panic!("{taken:?}") };
    assert_eq!(cause.extended_code, rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE);
    assert!(text.contains("note.text"), "{text}");

    let other = Connection::open(scratch.path()).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("begun");
    let busy = db.write_with(add("two")).expect_err("busy");
    assert!(busy.is_busy() && !busy.is_constraint(), "{busy:?}");
    assert!(busy.source().is_some_and(|source| source.to_string().contains("locked")), "{busy:?}");
    let missing = Options::new("/nowhere/at/all.db").open().expect_err("no such folder");
    assert_eq!(missing.code(), Some(rusqlite::ffi::SQLITE_CANTOPEN));
    assert!(missing.source().is_some());
}

#[test]
fn the_span_of_a_caller_is_entered_in_the_writer_thread() {
    use tracing_subscriber::layer::SubscriberExt;

    let scratch = Scratch::new();
    let db = scratch.open();
    let subscriber = tracing_subscriber::registry().with(tracing_subscriber::fmt::layer().with_writer(std::io::sink));
    let dispatch = tracing::Dispatch::new(subscriber);
    let named = || tracing::Span::current().metadata().map(tracing::Metadata::name);
    let seen = tracing::dispatcher::with_default(&dispatch, || {
        let inner = dispatch.clone();
        tracing::info_span!("request").in_scope(|| {
            let seen = db.write_async(move |_| Ok(tracing::dispatcher::with_default(&inner, named)));
            pollster::block_on(seen).expect("written")
        })
    });
    assert_eq!(seen, Some("request"));
}

#[test]
fn histograms_count_commits_and_waits() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let before = db.counters();
    let go = busy(&db);
    let task = db.clone();
    let task = thread::spawn(move || task.write_with(add("one")));
    while db.counters().queued == 0 {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(10));
    go();
    task.join().expect("no panic").expect("written");
    let after = db.counters();
    assert_eq!(after.batches.count() - before.batches.count(), 2);
    assert_eq!(after.waits.count() - before.waits.count(), 1);
    assert!(after.waits.quantile(1.0) >= 10_000_000, "{:?}", after.waits);
}

#[cfg(unix)]
#[test]
#[expect(unsafe_code, reason = "it forks")]
fn a_forked_child_is_refused() {
    let scratch = Scratch::new();
    let db = scratch.open();
    // SAFETY: the child calls nothing that needs a lock another thread may hold, and ends without clean-up.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let written = matches!(db.execute("DELETE FROM note", ()), Err(Error::Forked));
        let read = matches!(db.query_row("SELECT 1", (), |_| Ok(())), Err(Error::Forked));
        let task = matches!(pollster::block_on(db.write_async(|_| Ok(()))), Err(Error::Forked));
        let copied = matches!(db.backup_to("copy.db"), Err(Error::Forked));
        // SAFETY: as above.
        unsafe { libc::_exit(if written && read && task && copied { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the child is of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 0, "a call was not refused");
    db.write_with(add("one")).expect("the parent goes on");
}

/// The test below runs it in a process of its own: no other thread opens a database when it forks.
#[cfg(unix)]
#[test]
#[ignore = "another test runs it"]
#[expect(unsafe_code, reason = "it forks")]
fn forks_and_opens() {
    let scratch = Scratch::new();
    let db = scratch.open();
    // SAFETY: no other thread holds a lock that the child needs; it ends without clean-up.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = matches!(scratch.options().open(), Err(Error::Forked));
        let elsewhere = Scratch::new();
        let opened = elsewhere.options().open().is_ok();
        drop(elsewhere);
        // SAFETY: as above.
        unsafe { libc::_exit(if refused && opened { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the child is of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 0, "the database of the parent was opened, or another one was not");
    db.write_with(add("one")).expect("the parent goes on");
}

#[cfg(unix)]
#[test]
fn a_forked_child_opens_other_databases_than_its_parent() {
    let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
    let ended = command.args(["api::forks_and_opens", "--exact", "--ignored"]).output().expect("it starts");
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && told.contains("1 passed"), "{told}");
}
