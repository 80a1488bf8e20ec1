//! The minimum: a runner starts, waits for `go`, works and ends.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use litelab_protocol::Until;

use super::{Found, passed};
use crate::draft::{Draft, TABLE, count, insert};
use crate::error::{Result, ensure};
use crate::subject::Subject;

/// Long enough for ten inserts: a runner that does not wait for `go` has written rows by then.
const WAIT: Duration = Duration::from_millis(120);
/// Longest time that a runner may outlive the engine.
const ALONE: Duration = Duration::from_secs(10);

pub fn answers(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let heard = subject.run(&Draft::new(subject).on(&*database).transaction(insert()).only(1, count(10)))?;
    let committed: u64 = heard.result.operations.iter().map(|o| o.committed).sum();
    ensure!(committed == 10, "it was to commit 10 transactions, and says {committed}");
    if subject.has_database() {
        let rows = database.integer("SELECT count(*) FROM t")?;
        ensure!(rows == 10, "it committed 10 inserts, and there are {rows} rows");
    }
    passed("10 transactions")
}

pub fn waits_for_go(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let mut started = subject.start(&Draft::new(subject).on(&*database).transaction(insert()).only(1, count(10)))?;
    started.stays_silent(WAIT)?;
    started.close_input()?;
    if subject.has_database() {
        let rows = database.integer("SELECT count(*) FROM t")?;
        ensure!(rows == 0, "it was not told to go, and there are {rows} rows");
    }
    passed(format!("nothing within {} ms, then exit code 0", WAIT.as_millis()))
}

/// The engine is killed during a trial: no process reads the runner's output, and none will kill it. Ticks are rare
/// here, so that the runner notices only when it writes its result.
pub fn ends_alone(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let mut trial = Draft::new(subject).on(&*database).transaction(insert()).only(1, Until::Time { ms: 100 });
    trial.tick_ms = 10_000;
    let mut child = subject
        .runner
        .command("run")
        .current_dir(subject.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut talk = || -> Result {
        let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".into());
        };
        writeln!(to, "{}", serde_json::to_string(&trial)?)?;
        BufReader::new(from).read_line(&mut String::new())?;
        Ok(writeln!(to, "{{\"type\":\"go\"}}")?)
        // Both pipes are closed here.
    };
    let talked = talk();
    let begun = Instant::now();
    let mut ended = false;
    while talked.is_ok() && !ended && begun.elapsed() < ALONE {
        std::thread::sleep(Duration::from_millis(5));
        ended = child.try_wait()?.is_some();
    }
    let _gone = child.kill();
    let _reaped = child.wait();
    talked?;
    ensure!(ended, "its trial takes 100 ms and nobody hears it any more, and it still ran after {ALONE:?}");
    passed(format!("ended {:.0} ms after nobody heard it any more", begun.elapsed().as_secs_f64() * 1e3))
}
