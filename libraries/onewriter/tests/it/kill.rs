//! `SIGKILL` at random moments: answered writes are in the database, and no write is there in part.
//!
//! `ONEWRITER_KILLS` sets the number of kills (default: 100), `ONEWRITER_CLIENTS` the number of threads that write
//! (default: 8).

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use crate::common::Scratch;
use onewriter::{Database, Error, Options, Tx};
use rusqlite::Connection;

const DATABASE: &str = "ONEWRITER_TEST_DATABASE";
const ANSWERS_EARLY: &str = "ONEWRITER_TEST_ANSWERS_EARLY";

/// Value of an environment variable, which the killed processes inherit.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A write of two rows that must be present together.
fn pair(number: i64) -> impl FnMut(&mut Tx<'_>) -> Result<(), Error> + Send {
    move |c| {
        let mut insert = c.prepare_cached("INSERT INTO half(number, side) VALUES (?1, ?2)")?;
        insert.execute((number, 0))?;
        insert.execute((number, 1))?;
        Ok(())
    }
}

/// Writes until it is killed, and prints each number after its answer. The tests below run it in a separate process.
#[test]
#[ignore = "it never ends"]
fn writes_until_killed() {
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let early = std::env::var_os(ANSWERS_EARLY).is_some();
    let db = Options::new(path).open().expect("it opens");
    let make = "CREATE TABLE IF NOT EXISTS half(number INTEGER, side INTEGER)";
    db.write_with(move |c| Ok::<_, Error>(c.execute_batch(make)?)).expect("made");
    // Continue after the numbers of the processes killed earlier.
    let last = db
        .read_with(|c| Ok::<i64, Error>(c.query_row("SELECT ifnull(max(number), 0) FROM half", [], |row| row.get(0))?));
    let first = last.expect("read") + 1;
    let clients = number("ONEWRITER_CLIENTS", 8);
    thread::scope(|scope| {
        for writer in 0..clients {
            let db = &db;
            scope.spawn(move || {
                for number in (first + writer as i64..).step_by(clients) {
                    if early {
                        says_before(db, number)
                    } else {
                        db.write_with(pair(number)).expect("written")
                    }
                    say(number);
                }
            });
        }
    });
}

/// Prints a number as soon as the write is queued, like a layer without durability.
fn says_before(db: &Database, number: i64) {
    let mut write = pin!(db.write_with_async(pair(number)));
    let now = write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    if now.is_pending() {
        say(number);
        pollster::block_on(write).expect("written");
    }
}

fn say(number: i64) {
    let mut out = std::io::stdout().lock();
    // One call, so that no line is split.
    out.write_all(format!("{number}\n").as_bytes()).expect("somebody reads");
}

/// Kills a writer after `after`. Returns how many printed numbers are missing, how many are present in part, and how
/// many were printed.
fn missing_after_kill(path: &Path, after: Duration, early: bool) -> (usize, usize, usize) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["kill::writes_until_killed", "--exact", "--ignored", "--nocapture"]).env(DATABASE, path);
    if early {
        command.env(ANSWERS_EARLY, "1");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = Vec::new();
    let mut read = |lines: &mut BufReader<_>| {
        let mut line = String::new();
        let more = lines.read_line(&mut line).expect("read") > 0;
        // The test harness prints lines too, and the last line may be incomplete.
        said.extend(line.strip_suffix('\n').and_then(|number| number.parse::<i64>().ok()));
        (more, said.len())
    };
    // Wait for the first answered write.
    while read(&mut lines).1 == 0 {}
    let killer = thread::spawn(move || {
        thread::sleep(after);
        child.kill().expect("killed");
        child.wait().expect("gone");
    });
    while read(&mut lines).0 {}
    killer.join().expect("no panic");

    let connection = Connection::open(path).expect("it opens");
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(check, "ok");
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("counted");
    let halves = count("SELECT count(*) FROM (SELECT number FROM half GROUP BY number HAVING count(*) <> 2)");
    let mut there = connection.prepare("SELECT count(*) FROM half WHERE number = ?1").expect("prepared");
    connection.execute_batch("CREATE INDEX IF NOT EXISTS by_number ON half(number)").expect("made");
    let lost =
        said.iter().filter(|n| there.query_row([**n], |row| row.get::<_, i64>(0)).expect("counted") == 0).count();
    (lost, halves as usize, said.len())
}

#[test]
fn what_was_answered_survives_kills() {
    let kills = number("ONEWRITER_KILLS", 100);
    let mut rng = fastrand::Rng::with_seed(11);
    let mut answered = 0;
    let mut scratch = Scratch::new();
    for kill in 0..kills {
        // The same file ten times, with the log that the killed process left.
        if kill % 10 == 0 {
            scratch = Scratch::new();
        }
        let after = Duration::from_micros(rng.u64(0..40_000));
        let (lost, halves, said) = missing_after_kill(&scratch.path(), after, false);
        assert_eq!((lost, halves), (0, 0), "kill {kill} after {after:?}, {said} answered");
        answered += said;
    }
    println!("{kills} kills, {answered} answered writes");
    // Each process answers at least one; the number beyond that depends on the disk.
    assert!(answered > 2 * kills, "only {answered} writes were answered in all");
}

#[test]
fn a_layer_that_answers_early_is_found_out() {
    let mut rng = fastrand::Rng::with_seed(12);
    let lost = (0..30).map(|_| {
        let scratch = Scratch::new();
        missing_after_kill(&scratch.path(), Duration::from_micros(rng.u64(0..20_000)), true).0
    });
    assert!(lost.sum::<usize>() > 0, "thirty kills, and nothing is lost");
}
