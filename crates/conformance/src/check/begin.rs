//! The minimum: a runner starts, waits for `go`, works and ends.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Found, ensure, passed};
use crate::draft::{Draft, TABLE, count, insert};
use crate::subject::Subject;

/// Long enough for ten inserts: a runner that does not wait for `go` has written rows by then.
const WAIT: Duration = Duration::from_millis(120);
/// Longest time that a runner may outlive the engine.
const ALONE: Duration = Duration::from_secs(10);

pub fn answers(subject: &Subject<'_>) -> Found {
    let path = subject.database("answers.db", TABLE)?;
    let trial = Draft::new(subject).on(&path).transaction(insert()).role("r", 1, &["insert"], count(10)).build();
    let heard = subject.run(&trial)?;
    let committed: u64 = heard.result.operations.iter().map(|o| o.committed).sum();
    ensure!(committed == 10, "it was to commit 10 transactions, and says {committed}");
    if subject.has_database() {
        let rows = path.integer("SELECT count(*) FROM t")?;
        ensure!(rows == 10, "it committed 10 inserts, and there are {rows} rows");
    }
    passed("10 transactions")
}

pub fn waits_for_go(subject: &Subject<'_>) -> Found {
    let path = subject.database("waits.db", TABLE)?;
    let trial = Draft::new(subject).on(&path).transaction(insert()).role("r", 1, &["insert"], count(10)).build();
    let mut started = subject.start(&trial)?;
    started.stays_silent(WAIT)?;
    started.close_input()?;
    if subject.has_database() {
        let rows = path.integer("SELECT count(*) FROM t")?;
        ensure!(rows == 0, "it was not told to go, and there are {rows} rows");
    }
    passed(format!("nothing within {} ms, then exit code 0", WAIT.as_millis()))
}

/// The engine is killed during a trial: no process reads the runner's output, and none will kill it. Ticks are rare
/// here, so that the runner notices only when it writes its result.
pub fn ends_alone(subject: &Subject<'_>) -> Found {
    let path = subject.database("alone.db", TABLE)?;
    let until = litelab_protocol::Until::Time { ms: 100 };
    let mut trial = Draft::new(subject).on(&path).transaction(insert()).role("r", 1, &["insert"], until).build();
    trial.tick_ms = 10_000;
    let mut child = subject
        .runner
        .command("run")
        .current_dir(subject.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut talk = || -> Result<(), String> {
        let text = serde_json::to_string(&trial).map_err(|e| e.to_string())?;
        let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".into());
        };
        writeln!(to, "{text}").map_err(|e| e.to_string())?;
        let mut ready = String::new();
        BufReader::new(from).read_line(&mut ready).map_err(|e| e.to_string())?;
        writeln!(to, "{{\"type\":\"go\"}}").map_err(|e| e.to_string())
        // Both pipes are closed here.
    };
    let talked = talk();
    let begun = Instant::now();
    let mut ended = false;
    while talked.is_ok() && !ended && begun.elapsed() < ALONE {
        std::thread::sleep(Duration::from_millis(5));
        ended = child.try_wait().map_err(|e| e.to_string())?.is_some();
    }
    let _gone = child.kill();
    let _reaped = child.wait();
    talked?;
    ensure!(ended, "its trial takes 100 ms and nobody hears it any more, and it still ran after {ALONE:?}");
    passed(format!("ended {:.0} ms after nobody heard it any more", begun.elapsed().as_secs_f64() * 1e3))
}
