//! Content of the file after orchestrations have ended.

use litelab_protocol::Until;

use super::{ACTIVITIES, LARGE, draft, instances, keeps, missing};
use crate::check::library::content::Content;
use crate::check::library::{KEEPS_NOTHING, empty, kill};
use crate::check::{Found, passed, settings};
use crate::draft::count;
use crate::error::{At, Result, ensure};
use crate::subject::Subject;

/// Orchestrations of four workers.
const MANY: u64 = 24;
/// Orchestrations acknowledged before the runner is killed.
const ENOUGH: u64 = 10;
/// Longer than [`ENOUGH`] orchestrations take, in milliseconds. Doubled for each retry, in case the disk stalls.
const LONG_MS: u64 = 4_000;

/// Three orchestrations with large payloads: each result of an activity must be in the file.
pub fn large(subject: &Subject<'_>) -> Found {
    let file = empty(subject)?;
    let trial = draft(subject, &file).role("r", 1, &["large"], count(3)).build();
    let ended = subject.run(&trial)?.done("large");
    ensure!(ended == (3, 0), "3 orchestrations are due, and it counts {ended:?}");
    if !keeps(subject) {
        return passed(KEEPS_NOTHING);
    }
    let (least, size) = (3 * ACTIVITIES / 3 * LARGE.iter().sum::<u64>() * 1_024, Content::read(&file)?.bytes());
    ensure!(size >= least, "activities handed back {least} bytes, and the file has {size} in all its rows");
    passed(format!("{} KiB in the file", size / 1_024))
}

/// Four workers at once, under every sharing and executor that the driver has.
pub fn workers(subject: &Subject<'_>) -> Found {
    let ways = subject.ways();
    ensure!(!ways.is_empty(), "it has no sharing that goes with one of its executors");
    for way in &ways {
        at_once(way).at(way.way())?;
    }
    passed(format!("{}: {MANY} orchestrations each", ways.iter().map(Subject::way).collect::<Vec<_>>().join(", ")))
}

fn at_once(subject: &Subject<'_>) -> Result {
    let file = empty(subject)?;
    let trial = draft(subject, &file).only(4, count(MANY));
    let mut started = subject.start(&trial)?;
    started.go();
    let heard = subject.finish(&trial, started)?;
    settings::connections(&trial, &heard.connections)?;
    let ended = heard.done("quick");
    ensure!(ended == (MANY, 0), "{MANY} orchestrations are due, and it counts {ended:?}");
    if keeps(subject) {
        let missing = missing(&Content::read(&file)?, &instances(&trial, 0..MANY));
        ensure!(missing.is_empty(), "orchestrations {missing:?} have ended and are not in the file");
    }
    Ok(())
}

/// The runner is killed while orchestrations run. All that were acknowledged must be in the file.
pub fn killed(subject: &Subject<'_>) -> Found {
    let file = empty(subject)?;
    let trial = draft(subject, &file).only(1, Until::Time { ms: LONG_MS << subject.tried });
    let (acknowledged, content) = kill(subject, trial.clone(), &file, ENOUGH)?;
    // One worker starts the orchestrations in the order of their numbers.
    let missing = missing(&content, &instances(&trial, 0..acknowledged));
    ensure!(
        missing.is_empty(),
        "it was killed after {acknowledged} orchestrations were acknowledged, and {missing:?} are not in the file"
    );
    passed(format!("{acknowledged} acknowledged, all of them there"))
}
