//! Content of the file after orchestrations have ended.

use litelab_protocol::Until;

use super::{ACTIVITIES, LARGE, draft, instances, keeps};
use crate::check::library::content::{Content, Shapes};
use crate::check::library::{KEEPS_NOTHING, empty, kill};
use crate::check::{Found, passed, settings};
use crate::draft::count;
use crate::error::{Result, ensure};
use crate::subject::Subject;

/// Orchestrations that show what one leaves in the file.
const SAMPLE: u64 = 3;
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
    let traces = Traces::find(subject)?;
    let ways = subject.in_all_ways(|way| at_once(way, &traces))?;
    passed(format!("{ways}: {MANY} orchestrations each"))
}

fn at_once(subject: &Subject<'_>, traces: &Traces) -> Result {
    let file = empty(subject)?;
    let trial = draft(subject, &file).only(4, count(MANY));
    let mut started = subject.start(&trial)?;
    started.go();
    let heard = subject.finish(&trial, started)?;
    settings::connections(&trial, &heard.connections)?;
    let ended = heard.done("quick");
    ensure!(ended == (MANY, 0), "{MANY} orchestrations are due, and it counts {ended:?}");
    if keeps(subject) {
        let missing = traces.missing(&Content::read(&file)?, &instances(&trial, 0..MANY));
        ensure!(
            missing.is_empty(),
            "orchestrations {missing:?} have ended and are not, or not to their end, in the file"
        );
    }
    Ok(())
}

/// The runner is killed while orchestrations run. All that were acknowledged must be in the file.
pub fn killed(subject: &Subject<'_>) -> Found {
    let traces = Traces::find(subject)?;
    let file = empty(subject)?;
    let trial = draft(subject, &file).only(1, Until::Time { ms: LONG_MS << subject.tried });
    let (acknowledged, content) = kill(subject, trial.clone(), &file, ENOUGH)?;
    // One worker starts the orchestrations in the order of their numbers.
    let missing = traces.missing(&content, &instances(&trial, 0..acknowledged));
    ensure!(
        missing.is_empty(),
        "it was killed after {acknowledged} orchestrations were acknowledged, and {missing:?} are not, or not to their \
         end, in the file"
    );
    let rows: usize = traces.0.values().sum();
    passed(format!("{acknowledged} acknowledged, each there to its end, in {rows} rows"))
}

/// The rows that every orchestration leaves in the file once it has ended, its end among them.
struct Traces(Shapes);

impl Traces {
    /// Runs a few orchestrations to their end and takes the rows that all of them have in common.
    fn find(subject: &Subject<'_>) -> Result<Self> {
        if !keeps(subject) {
            return Ok(Self(Shapes::new()));
        }
        let file = empty(subject)?;
        let trial = draft(subject, &file).only(1, count(SAMPLE));
        let ended = subject.run(&trial)?.done("quick");
        ensure!(ended == (SAMPLE, 0), "{SAMPLE} orchestrations are due, and it counts {ended:?}");
        let content = Content::read(&file)?;
        let names = instances(&trial, 0..SAMPLE);
        let traces = common(names.iter().map(|name| content.shapes(name)));
        ensure!(
            !traces.is_empty(),
            "{SAMPLE} orchestrations have ended, and the file has no row that all of them leave"
        );
        Ok(Self(traces))
    }

    /// Indices of the names of which a row is not in the file.
    fn missing(&self, content: &Content, instances: &[String]) -> Vec<usize> {
        let lacks = |name: &String| {
            let shapes = content.shapes(name);
            self.0.iter().any(|(shape, times)| shapes.get(shape).is_none_or(|found| found < times))
        };
        (0..instances.len()).filter(|at| lacks(&instances[*at])).collect()
    }
}

/// The rows that are in all of these.
fn common(mut all: impl Iterator<Item = Shapes>) -> Shapes {
    let mut common = all.next().unwrap_or_default();
    for shapes in all {
        common.retain(|shape, times| {
            *times = (*times).min(shapes.get(shape).copied().unwrap_or(0));
            *times > 0
        });
    }
    common
}
