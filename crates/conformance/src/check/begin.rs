//! The least: it starts, waits, works and ends.

use std::time::Duration;

use super::{Found, ensure, passed};
use crate::draft::{Draft, TABLE, count, insert};
use crate::file;
use crate::subject::Subject;

/// Long enough for ten inserts; a runner that does not wait has begun by then.
const WAIT: Duration = Duration::from_millis(120);

pub fn answers(subject: &Subject<'_>) -> Found {
    let path = subject.database("answers.db", TABLE)?;
    let trial = Draft::new(subject).on(&path).transaction(insert()).role("r", 1, &["insert"], count(10)).build();
    let heard = subject.run(&trial)?;
    let committed: u64 = heard.result.operations.iter().map(|o| o.committed).sum();
    ensure!(committed == 10, "it was to commit 10 transactions, and says {committed}");
    if subject.has_database() {
        let rows = file::integer(&path, "SELECT count(*) FROM t")?;
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
        let rows = file::integer(&path, "SELECT count(*) FROM t")?;
        ensure!(rows == 0, "it was not told to go, and there are {rows} rows");
    }
    passed(format!("nothing within {} ms, then exit code 0", WAIT.as_millis()))
}
