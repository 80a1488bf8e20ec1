//! A locked database.

use std::time::Duration;

use litelab_protocol::Trial;

use super::{draft, empty};
use crate::check::effects::gave_up;
use crate::check::{Found, passed};
use crate::database::File;
use crate::draft::count;
use crate::error::{At, Result, ensure, timely, tries};
use crate::subject::Subject;

const BUSY: &str = "SQLITE_BUSY";
/// Pause between attempts while the suite holds the lock, in microseconds.
const BACKOFF_US: u64 = 5_000;

/// The suite holds the write lock when the library requests it.
pub fn busy(subject: &Subject<'_>) -> Found {
    for wait_ms in [0, 250] {
        let (trial, file) = one(subject, wait_ms, 1)?;
        let heard = subject.run_locked(&trial, &file, None)?;
        let ((seen, cured), failed) = (heard.errors(BUSY), heard.first().failed);
        ensure!(
            (seen, cured, failed) == (1, 0, 1),
            "with the lock held for good an `enqueue` was refused {seen} times as {BUSY}, and given up {failed} times"
        );
        let took = Duration::from_nanos(heard.result.elapsed_ns);
        gave_up(subject.dialect(), Duration::from_millis(wait_ms), took).at("busy_timeout")?;
    }
    let seen = tries(|tried| retried(subject, tried))?;
    passed(format!("refused at once and after 250 ms; cured after {seen} tries"))
}

/// A lock that is released during the trial. Each try holds it longer, because on a busy machine the runner may start
/// after the release. Returns the number of times that the lock was found held.
fn retried(subject: &Subject<'_>, tried: u32) -> Result<u64> {
    let (mut trial, file) = one(subject, 0, 100_000)?;
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (BACKOFF_US, BACKOFF_US);
    let held = Duration::from_millis(80 << (2 * tried.min(3)));
    let heard = subject.run_locked(&trial, &file, Some(held))?;
    let (seen, cured) = heard.errors(BUSY);
    let found = heard.done("enqueue");
    let what = format!(
        "the lock was held for a while, and with many tries {found:?} was enqueued; {BUSY} was seen {seen} times, cured \
         {cured}"
    );
    ensure!(found == (1, 0) && cured == seen, "{what}");
    timely!(seen > 0, "{what}");
    // Half of the pauses: a timer may be early, and some round to whole milliseconds.
    ensure!(heard.result.elapsed_ns > seen * BACKOFF_US * 1_000 / 2, "it went on while the lock was held");
    Ok(seen)
}

/// A trial of one `enqueue`, with this number of attempts.
fn one(subject: &Subject<'_>, wait_ms: u64, attempts: u32) -> Result<(Trial, File)> {
    let file = empty(subject)?;
    let draft = draft(subject, &file).setting("busy_timeout", &wait_ms.to_string());
    Ok((draft.retries(attempts, &[BUSY]).only(1, count(1)), file))
}
