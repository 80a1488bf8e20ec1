//! Content of the file after orchestrations have ended.

use litelab_protocol::Until;

use super::{ACTIVITIES, KEEPS_NOTHING, LARGE, draft, instances, keeps, missing};
use crate::check::queue::content::Content;
use crate::check::queue::killed::{committed, settled};
use crate::check::queue::{done, empty};
use crate::check::{Found, Wrong, ensure, passed, settings, skipped, tries};
use crate::draft::count;
use crate::subject::Subject;

/// Orchestrations of four workers.
const MANY: u64 = 24;
/// Orchestrations acknowledged before the runner is killed.
const ENOUGH: u64 = 10;
/// Longer than [`ENOUGH`] orchestrations take, in milliseconds. Doubled for each retry, in case the disk stalls.
const LONG_MS: u64 = 4_000;

/// Three orchestrations with large payloads: each result of an activity must be in the file.
pub fn large(subject: &Subject<'_>) -> Found {
    let path = empty(subject, "large.db")?;
    let trial = draft(subject, &path).role("r", 1, &["large"], count(3)).build();
    let result = subject.run(&trial)?.result;
    ensure!(done(&result, "large") == (3, 0), "3 orchestrations are due, and it counts {:?}", done(&result, "large"));
    if !keeps(subject) {
        return passed(KEEPS_NOTHING);
    }
    let (least, size) = (3 * ACTIVITIES / 3 * LARGE.iter().sum::<u64>() * 1_024, Content::read(&path)?.bytes());
    ensure!(size >= least, "activities handed back {least} bytes, and the file has {size} in all its rows");
    passed(format!("{} KiB in the file", size / 1_024))
}

/// Four workers at once, under every sharing and executor that the driver has.
pub fn workers(subject: &Subject<'_>) -> Found {
    let ways = subject.ways();
    ensure!(!ways.is_empty(), "it has no sharing that goes with one of its executors");
    let mut names = Vec::new();
    for (executor, sharing) in ways {
        let name = format!("{sharing} on {executor}");
        let here = |e: String| format!("{name}: {e}");
        let path = empty(subject, &format!("{executor}-{}.db", sharing.kind()))?;
        let mut draft = draft(subject, &path);
        (draft.trial.executor, draft.trial.sharing) = (executor, sharing);
        let trial = draft.role("c", 4, &["quick"], count(MANY)).build();
        let mut started = subject.start(&trial).map_err(here)?;
        started.go();
        let heard = subject.finish(&trial, started).map_err(here)?;
        settings::connections(&trial, &heard.connections).map_err(here)?;
        let ended = done(&heard.result, "quick");
        ensure!(ended == (MANY, 0), "{name}: {MANY} orchestrations are due, and it counts {ended:?}");
        if keeps(subject) {
            let missing = missing(&Content::read(&path)?, &instances(&trial, 0..MANY));
            ensure!(missing.is_empty(), "{name}: orchestrations {missing:?} have ended and are not in the file");
        }
        names.push(name);
    }
    passed(format!("{}: {MANY} orchestrations each", names.join(", ")))
}

/// The runner is killed while orchestrations run. All that were acknowledged must be in the file.
pub fn killed(subject: &Subject<'_>) -> Found {
    if !keeps(subject) {
        return skipped(KEEPS_NOTHING);
    }
    let acknowledged = tries(|tried| killed_once(subject, tried))?;
    passed(format!("{acknowledged} acknowledged, all of them there"))
}

/// Returns the number of acknowledged orchestrations.
fn killed_once(subject: &Subject<'_>, tried: u32) -> Result<u64, Wrong> {
    let path = empty(subject, &format!("killed-{tried}.db"))?;
    let until = Until::Time { ms: LONG_MS << tried };
    let mut trial = draft(subject, &path).role("r", 1, &["quick"], until).build();
    trial.tick_ms = 20;
    let mut started = subject.start(&trial)?;
    started.go();
    let acknowledged = committed(&started.killed_when(|ticks| committed(ticks) >= ENOUGH)?);
    let content = settled(&path)?;
    // One worker starts the orchestrations in the order of their numbers.
    let missing = missing(&content, &instances(&trial, 0..acknowledged));
    ensure!(
        missing.is_empty(),
        "it was killed after {acknowledged} orchestrations were acknowledged, and {missing:?} are not in the file"
    );
    Ok(acknowledged)
}
