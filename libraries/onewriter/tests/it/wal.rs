//! The write-ahead log stays within its limit, or a warning gives the reason.

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::Scratch;
use onewriter::{Checkpoints, Counters, Database, Durability, Error, Options};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

const RULES: Checkpoints = Checkpoints::after(50, 200);

fn options(scratch: &Scratch) -> Options {
    scratch.options().durability(Durability::Normal).checkpoints(RULES)
}

/// Writes about one page each time.
fn fill(db: &Database, writes: u64) {
    for _ in 0..writes {
        let insert = "INSERT INTO note(text) VALUES (hex(randomblob(1500)))";
        db.write_with(move |c| Ok::<_, Error>(c.execute(insert, [])?)).expect("written");
    }
}

fn log_bytes(scratch: &Scratch) -> u64 {
    std::fs::metadata(scratch.path().with_extension("db-wal")).map_or(0, |file| file.len())
}

/// Largest size of the log file, in bytes, during 4,000 writes with three concurrent readers.
fn longest_log(rules: Checkpoints) -> (u64, Counters) {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().durability(Durability::Normal).checkpoints(rules));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let db = db.clone();
            thread::spawn(move || {
                let mut reads = 0;
                let max = |c: &Connection| c.query_row("SELECT max(id) FROM note", [], |_| Ok(()));
                while db.read(max).is_ok() {
                    reads += 1;
                    thread::sleep(Duration::from_micros(500));
                }
                reads
            })
        })
        .collect();
    let mut longest = 0;
    for _ in 0..400 {
        fill(&db, 10);
        longest = longest.max(log_bytes(&scratch));
    }
    let counters = db.counters();
    db.close().expect("closed");
    assert!(readers.into_iter().all(|reader| reader.join().expect("no panic") > 0));
    (longest, counters)
}

#[test]
fn it_is_bounded_while_somebody_always_reads() {
    let (free, _) = longest_log(Checkpoints::after(50, 0));
    let (bounded, counters) = longest_log(RULES);
    assert!(counters.truncated > 3 && counters.passive > 3, "{counters:?}");
    assert!(bounded < free / 2, "{bounded} bytes, and {free} without the bound: {counters:?}");
}

/// Events of all threads and databases of this process.
static HEARD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Hear;

impl Write for Hear {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        HEARD.lock().expect("no panic").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes while a reader stays open for `held`. Returns the warnings and the sizes of the log before and after the
/// reader ends.
fn with_a_reader(held: Duration) -> (String, u64, u64) {
    let scratch = Scratch::new();
    let db = scratch.open_with(options(&scratch));
    // The caller's thread or the writer's gives the warnings.
    tracing_subscriber::fmt().with_writer(|| Hear).with_ansi(false).init();
    let (here, arrived) = channel();
    let (go, gone) = channel::<()>();
    let reader = thread::spawn({
        let db = db.clone();
        move || {
            db.read_with(move |c| {
                c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?;
                here.send(()).expect("the test waits");
                Ok::<_, Error>(gone.recv().is_ok())
            })
        }
    });
    arrived.recv().expect("it reads");
    let started = std::time::Instant::now();
    while started.elapsed() < held {
        fill(&db, 20);
        thread::sleep(Duration::from_millis(10));
    }
    fill(&db, 300);
    let grown = log_bytes(&scratch);
    assert!(db.counters().oldest_reader.is_some_and(|age| age >= held));
    go.send(()).expect("it waits");
    reader.join().expect("no panic").expect("read");
    // The next attempt after the reader has ended truncates the log. Attempts are half a second apart by now.
    for _ in 0..600 {
        fill(&db, 1);
        // The writer answers a write before it examines the log.
        thread::sleep(Duration::from_millis(100));
        if log_bytes(&scratch) == 0 {
            break;
        }
    }
    let after = log_bytes(&scratch);
    let heard = String::from_utf8(HEARD.lock().expect("no panic").clone()).expect("text");
    let path = scratch.path().display().to_string();
    let own: Vec<_> = heard.lines().filter(|line| line.contains(&path)).collect();
    (own.join("\n"), grown, after)
}

#[test]
fn a_reader_that_stays_is_named_with_its_age_and_the_log_is_cut_when_it_goes() {
    // Thirty seconds in the long run; two by default.
    let seconds = std::env::var("ONEWRITER_READER_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2);
    let (warnings, grown, after) = with_a_reader(Duration::from_secs(seconds));
    assert!(grown > 200 * 4_096, "{grown} bytes: the reader kept the log");
    let age = warnings
        .lines()
        .filter_map(|line| line.split("oldest_reader_ms=").nth(1)?.split(' ').next()?.parse::<u64>().ok());
    let ages: Vec<u64> = age.collect();
    assert!(ages.iter().any(|age| *age >= 1_000 && *age < seconds * 1_000 + 60_000), "{warnings}");
    assert!(warnings.lines().count() < 20, "one warning for each doubling:\n{warnings}");
    assert_eq!(after, 0, "the log is cut");
}

#[test]
fn a_log_is_carried_over_and_cut_when_nobody_writes() {
    let scratch = Scratch::new();
    let db = scratch.open_with(options(&scratch));
    let (go, gone) = channel::<()>();
    let (here, arrived) = channel();
    let reader = db.clone();
    let reader = thread::spawn(move || {
        reader.read_with(move |c| {
            c.query_row("SELECT count(*) FROM note", [], |_| Ok(()))?;
            here.send(()).expect("the test waits");
            Ok::<_, Error>(gone.recv().is_ok())
        })
    });
    arrived.recv().expect("the reader reads");
    fill(&db, 400);
    let held = log_bytes(&scratch);
    assert!(held > 400 * 4096, "the reader prevents a truncation: {held}");
    go.send(()).expect("the reader waits");
    reader.join().expect("no panic").expect("read");
    let eventually =
        |what: &dyn Fn() -> bool| (0..200).any(|_| what() || (thread::sleep(Duration::from_millis(50)), false).1);
    assert!(eventually(&|| log_bytes(&scratch) == 0), "nobody writes, and the log has {} bytes", log_bytes(&scratch));
    // A burst below the limits.
    let before = db.counters().passive;
    fill(&db, 3);
    assert!(eventually(&|| db.counters().passive > before), "three writes are carried over");
    let before = db.counters().passive;
    db.exclusive(|c| Ok::<_, Error>(c.execute_batch("CREATE TABLE more(x)")?)).expect("done");
    assert!(eventually(&|| db.counters().passive > before), "what is written apart is carried over");
    db.close().expect("closed");
    // A log that was left: the last connection does not carry it over.
    let left = Connection::open(scratch.path()).expect("it opens");
    left.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("set");
    left.execute_batch("INSERT INTO note(text) VALUES (hex(zeroblob(1000000)))").expect("written");
    drop(left);
    assert!(log_bytes(&scratch) > 400 * 4096);
    let db = options(&scratch).open().expect("it opens");
    assert!(eventually(&|| log_bytes(&scratch) == 0), "a log that was left is carried over and cut");
    assert!(db.counters().passive > 0);
}
