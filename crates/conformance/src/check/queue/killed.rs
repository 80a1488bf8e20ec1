//! A runner that is killed without warning.

use litelab_protocol::{Load, Until};

use super::{draft, empty, filled, payloads};
use crate::check::library::kill;
use crate::check::{Found, passed};
use crate::draft::count;
use crate::error::{Result, ensure, tries};
use crate::subject::Subject;

/// Tasks acknowledged before the runner is killed.
const ENOUGH: u64 = 40;
/// Far longer than [`ENOUGH`] tasks take, in milliseconds. Doubled for each retry, in case the disk stalls.
const LONG_MS: u64 = 2_500;

/// The runner is killed while it enqueues, and again while it has claimed a task.
pub fn killed(subject: &Subject<'_>) -> Found {
    let (tasks, acknowledged) = tries(|tried| enqueuing(subject, tried))?;
    let again = tries(|tried| claiming(subject, tried))?;
    let fate = if again { "is given back when it is opened again" } else { "is not given back by opening it again" };
    passed(format!("{acknowledged} acknowledged, {tasks} there; a task that was claimed {fate}"))
}

/// Returns the number of tasks in the file and the number acknowledged.
fn enqueuing(subject: &Subject<'_>, tried: u32) -> Result<(u64, u64)> {
    let file = empty(subject)?;
    let until = Until::Time { ms: LONG_MS << tried };
    let mut trial = draft(subject, &file).only(1, until);
    trial.roles[0].load = Load::Closed { think_us: 1_000 };
    let (acknowledged, content) = kill(subject, trial.clone(), &file, ENOUGH)?;
    // One worker enqueues the tasks in the order of their numbers.
    let numbered = payloads(&trial, 0..acknowledged + 10_000);
    let tasks = numbered.iter().take_while(|payload| content.rows_with(payload) == 1).count() as u64;
    ensure!(
        tasks >= acknowledged,
        "it was killed after {acknowledged} tasks were acknowledged, and the file has the first {tasks}"
    );
    let trial = draft(subject, &file).role("c", 1, &["claim", "complete"], count(2 * tasks + 1)).build();
    let found = subject.run(&trial)?.done("claim");
    ensure!(
        found == (tasks, 1),
        "it was killed with {tasks} tasks in the file, and then claimed and claimed in vain were {found:?}"
    );
    Ok((tasks, acknowledged))
}

/// Whether a task claimed by the killed runner can be claimed by the next one.
fn claiming(subject: &Subject<'_>, tried: u32) -> Result<bool> {
    let file = filled(subject, 1)?;
    let mut trial = draft(subject, &file).role("c", 1, &["claim", "complete"], count(2)).build();
    trial.roles[0].load = Load::Closed { think_us: (LONG_MS << tried) * 1_000 };
    kill(subject, trial, &file, 1)?;
    let trial = draft(subject, &file).role("c", 1, &["claim"], count(1)).build();
    let (claimed, empty) = subject.run(&trial)?.done("claim");
    ensure!(claimed + empty == 1, "one claim was to be made after the kill, and it counts {claimed} and {empty}");
    Ok(claimed == 1)
}
