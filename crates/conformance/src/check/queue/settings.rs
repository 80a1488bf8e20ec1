//! Settings of the library's own connections, and its errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use litelab_observe::DatabaseHeader;
use litelab_protocol::{ConnectionSettings, Trial, Value};

use super::{done, draft, empty};
use crate::check::effects::SLACK;
use crate::check::{Found, Wrong, ensure, passed, settings, timely, tries};
use crate::conversation::Heard;
use crate::draft::{self, count};
use crate::file;
use crate::subject::Subject;

/// Values that are no library's and no build's default.
const PROFILES: [&[(&str, &str)]; 2] = [
    &[("journal_mode", "WAL"), ("synchronous", "OFF"), ("busy_timeout", "1234"), ("cache_size", "-3456")],
    &[("journal_mode", "WAL"), ("synchronous", "EXTRA"), ("busy_timeout", "60000"), ("foreign_keys", "ON")],
];
/// Settings that are read back from a library that runs without a profile.
pub const OWN: [&str; 3] = ["journal_mode", "synchronous", "busy_timeout"];
/// Pause between attempts while the suite holds the lock, in microseconds.
const BACKOFF_US: u64 = 5_000;

/// Settings without a profile and under each profile, for every sharing and executor.
pub fn read_back(subject: &Subject<'_>) -> Found {
    let mut own = None;
    let mut seen = 0;
    for (i, profile) in [&[][..]].iter().chain(&PROFILES).enumerate() {
        for (executor, sharing) in subject.ways() {
            let here = |e: String| format!("{sharing} on {executor}: {e}");
            let path = empty(subject, &format!("settings-{i}-{executor}-{}.db", sharing.kind()))?;
            let mut draft = draft(subject, &path);
            (draft.trial.executor, draft.trial.sharing) = (executor, sharing);
            draft.trial.connection.settings = profile.iter().map(|(n, v)| draft::pragma(n, v)).collect();
            let names = OWN.iter().copied().chain(profile.iter().map(|(n, _)| *n));
            draft.trial.connection.read_back = names.map(str::to_owned).collect();
            let trial = draft.role("w", 2, &["enqueue"], count(2)).build();
            let started = subject.start(&trial)?;
            settings::connections(&trial, &started.connections).map_err(here)?;
            let connections = started.connections.clone();
            started.close_input()?;
            for connection in &connections {
                settings::reported(profile, connection).map_err(here)?;
                plausible(connection).map_err(here)?;
                agrees(&path, connection).map_err(here)?;
                own.get_or_insert_with(|| shown(connection));
            }
            seen += connections.len();
        }
    }
    passed(format!("as it comes {}; {seen} connections", own.unwrap_or_default()))
}

/// The settings in [`OWN`], in one line.
pub fn shown(connection: &ConnectionSettings) -> String {
    let one = |name: &str| format!("{name} {}", connection.settings.get(name).unwrap_or(&Value::Null));
    OWN.map(one).join(", ")
}

/// Every setting must be reported in the form in which SQLite reports it.
pub fn plausible(connection: &ConnectionSettings) -> Result<(), String> {
    for name in OWN {
        let value = connection.settings.get(name).unwrap_or(&Value::Null);
        let right =
            if name == "journal_mode" { matches!(value, Value::Text(_)) } else { matches!(value, Value::Integer(_)) };
        ensure!(right, "`{name}` is reported as {value}");
    }
    Ok(())
}

/// The reported journal mode must agree with the file, which records only whether write-ahead logging is on.
pub fn agrees(path: &Path, connection: &ConnectionSettings) -> Result<(), String> {
    let header = DatabaseHeader::read(path).map_err(|e| e.to_string())?.ok_or("the file is empty")?;
    let reported = connection.settings.get("journal_mode").unwrap_or(&Value::Null).to_string();
    let asked: String =
        file::open(path)?.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(|e| e.to_string())?;
    ensure!(
        header.wal == (reported == "wal") && header.wal == (asked == "wal"),
        "it reports journal_mode {reported}, and the file, opened by the suite, has {asked}"
    );
    Ok(())
}

/// The suite holds the write lock when the library requests it.
pub fn busy(subject: &Subject<'_>) -> Found {
    for wait_ms in [0, 250] {
        let (trial, path) = one(subject, &format!("busy-{wait_ms}.db"), wait_ms, 1)?;
        let heard = locked(subject, &trial, &path, None)?;
        let (seen, cured) = errors(&heard);
        let failed = heard.result.operations[0].failed;
        ensure!(
            (seen, cured, failed) == (1, 0, 1),
            "with the lock held for good an `enqueue` was refused {seen} times as SQLITE_BUSY, and given up {failed} times"
        );
        let (took, wanted) = (Duration::from_nanos(heard.result.elapsed_ns), Duration::from_millis(wait_ms));
        // SQLite may omit up to a millisecond of its last sleep.
        let least = wanted.saturating_sub(Duration::from_millis(2));
        ensure!(took >= least && took <= wanted + SLACK, "a busy_timeout of {wanted:?}, and it gave up after {took:?}");
    }
    let seen = tries(|tried| retried(subject, tried))?;
    passed(format!("refused at once and after 250 ms; cured after {seen} tries"))
}

/// A lock that is released during the trial. Each retry holds it longer, because on a busy machine the runner may start
/// after the release. Returns the number of times that the lock was found held.
fn retried(subject: &Subject<'_>, tried: u32) -> Result<u64, Wrong> {
    let (mut trial, path) = one(subject, &format!("retried-{tried}.db"), 0, 100_000)?;
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (BACKOFF_US, BACKOFF_US);
    let heard = locked(subject, &trial, &path, Some(Duration::from_millis(80 << (2 * tried.min(3)))))?;
    let (seen, cured) = errors(&heard);
    let found = done(&heard.result, "enqueue");
    let what = format!(
        "the lock was held for a while, and with many tries {found:?} was enqueued; SQLITE_BUSY was seen {seen} times, cured \
         {cured}"
    );
    ensure!(found == (1, 0) && cured == seen, "{what}");
    timely!(seen > 0, "{what}");
    // Half of the pauses: a timer may be early, and some round to whole milliseconds.
    ensure!(heard.result.elapsed_ns > seen * BACKOFF_US * 1_000 / 2, "it went on while the lock was held");
    Ok(seen)
}

/// A trial of one `enqueue`, with `tries` attempts.
fn one(subject: &Subject<'_>, name: &str, wait_ms: u64, tries: u32) -> Result<(Trial, PathBuf), String> {
    let path = empty(subject, name)?;
    let draft = draft(subject, &path).setting("busy_timeout", &wait_ms.to_string());
    let mut trial = draft.role("w", 1, &["enqueue"], count(1)).build();
    trial.retry.attempts = tries;
    Ok((trial, path))
}

/// Runs a trial while the suite holds the lock: for `hold` after `go`, or until the trial ends.
fn locked(subject: &Subject<'_>, trial: &Trial, path: &Path, hold: Option<Duration>) -> Result<Heard, String> {
    let mut started = subject.start(trial)?;
    let lock = file::open(path)?;
    lock.execute_batch("BEGIN IMMEDIATE").map_err(|e| e.to_string())?;
    started.go();
    if let Some(hold) = hold {
        std::thread::sleep(hold);
        lock.execute_batch("ROLLBACK").map_err(|e| e.to_string())?;
    }
    let heard = subject.finish(trial, started);
    drop(lock);
    heard
}

/// How often SQLITE_BUSY was seen and cured.
fn errors(heard: &Heard) -> (u64, u64) {
    let busy = heard.result.operations.iter().filter_map(|o| o.errors.get("SQLITE_BUSY"));
    busy.fold((0, 0), |(seen, cured), e| (seen + e.seen, cured + e.cured))
}
