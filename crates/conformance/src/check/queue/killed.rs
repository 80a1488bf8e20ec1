//! A runner that is killed without warning.

use std::path::Path;
use std::time::{Duration, Instant};

use litelab_protocol::{Load, Tick, Until};

use super::content::Content;
use super::{done, draft, empty, filled, payloads};
use crate::check::{Found, Wrong, ensure, passed, tries};
use crate::draft::count;
use crate::file;
use crate::subject::Subject;

/// Tasks acknowledged before the runner is killed.
const ENOUGH: u64 = 40;
/// Far longer than [`ENOUGH`] tasks take, in milliseconds. Doubled for each retry, in case the disk stalls.
const LONG_MS: u64 = 2_500;
/// Limit for processes that the killed runner has started: they may outlive the runner, but not its trial.
const AFTERMATH: Duration = Duration::from_secs(60);

/// The runner is killed while it enqueues, and again while it has claimed a task.
pub fn killed(subject: &Subject<'_>) -> Found {
    let (tasks, acknowledged) = tries(|tried| enqueuing(subject, tried))?;
    let again = tries(|tried| claiming(subject, tried))?;
    let fate = if again { "is given back when it is opened again" } else { "is not given back by opening it again" };
    passed(format!("{acknowledged} acknowledged, {tasks} there; a task that was claimed {fate}"))
}

/// Returns the number of tasks in the file and the number acknowledged.
fn enqueuing(subject: &Subject<'_>, tried: u32) -> Result<(u64, u64), Wrong> {
    let path = empty(subject, &format!("killed-{tried}.db"))?;
    let until = Until::Time { ms: LONG_MS << tried };
    let mut trial = draft(subject, &path).role("p", 1, &["enqueue"], until).build();
    trial.tick_ms = 20;
    trial.roles[0].load = Load::Closed { think_us: 1_000 };
    let mut started = subject.start(&trial)?;
    started.go();
    let acknowledged = committed(&started.killed_when(|ticks| committed(ticks) >= ENOUGH)?);
    let content = settled(&path)?;
    // One worker enqueues the tasks in the order of their numbers.
    let numbered = payloads(&trial, 0..acknowledged + 10_000);
    let tasks = numbered.iter().take_while(|payload| content.rows_with(payload) == 1).count() as u64;
    ensure!(
        tasks >= acknowledged,
        "it was killed after {acknowledged} tasks were acknowledged, and the file has the first {tasks}"
    );
    let trial = draft(subject, &path).role("c", 1, &["claim", "complete"], count(2 * tasks + 1)).build();
    let found = done(&subject.run(&trial)?.result, "claim");
    ensure!(
        found == (tasks, 1),
        "it was killed with {tasks} tasks in the file, and then claimed and claimed in vain were {found:?}"
    );
    Ok((tasks, acknowledged))
}

/// Whether a task claimed by the killed runner can be claimed by the next one.
fn claiming(subject: &Subject<'_>, tried: u32) -> Result<bool, Wrong> {
    let path = filled(subject, &format!("claimed-{tried}.db"), 1)?;
    let mut trial = draft(subject, &path).role("c", 1, &["claim", "complete"], count(2)).build();
    trial.tick_ms = 20;
    trial.roles[0].load = Load::Closed { think_us: (LONG_MS << tried) * 1_000 };
    let mut started = subject.start(&trial)?;
    started.go();
    started.killed_when(|ticks| committed(ticks) == 1)?;
    settled(&path)?;
    let trial = draft(subject, &path).role("c", 1, &["claim"], count(1)).build();
    let (claimed, empty) = done(&subject.run(&trial)?.result, "claim");
    ensure!(claimed + empty == 1, "one claim was to be made after the kill, and it counts {claimed} and {empty}");
    Ok(claimed == 1)
}

/// Committed transactions so far.
pub fn committed(ticks: &[Tick]) -> u64 {
    ticks.iter().flat_map(|tick| &tick.counts).map(|count| count.committed).sum()
}

/// Content of the file once no process writes to it. The file must open and pass `integrity_check`.
pub fn settled(path: &Path) -> Result<Content, String> {
    let begun = Instant::now();
    let mut content = Content::read(path)?;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = Content::read(path)?;
        if now == content {
            break;
        }
        ensure!(begun.elapsed() < AFTERMATH, "it was killed, and something went on writing for {AFTERMATH:?}");
        content = now;
    }
    let check: String =
        file::open(path)?.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(|e| e.to_string())?;
    ensure!(check == "ok", "it was killed, and the file's integrity_check says: {check}");
    Ok(content)
}
