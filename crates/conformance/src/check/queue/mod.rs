//! The checks of a driver that offers the interface `queue` in place of SQL.
//!
//! The suite assumes nothing about how a library stores its tasks, and only the runner's own worker sees what a claim
//! returns. The worker therefore enqueues each claimed payload again, and the suite counts the rows of the file that
//! contain it, in whatever tables: payloads are drawn, and no two are equal. The suite assumes that tasks of the same
//! priority are claimed in the order in which they were enqueued.

mod claims;
pub(super) mod content;
mod endings;
pub(super) mod killed;
mod progress;
mod refusals;
pub(super) mod settings;

use std::ops::Range;
use std::path::{Path, PathBuf};

use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::invocation::Operation;
use litelab_protocol::{Begin, Interface, Retry, Source, Transaction, Trial, TrialResult};

use super::Check;
use crate::draft::{Draft, count, statement, transaction, yielding};
use crate::file;
use crate::subject::Subject;

/// The interface whose operations the checks call.
pub fn interface() -> Interface {
    let operations = vec![
        Operation::writing("enqueue", &["payload", "priority"], &[]),
        Operation::writing("claim", &[], &["id", "payload"]),
        Operation::writing("complete", &["id"], &[]),
        Operation::writing("fail", &["id"], &[]),
    ];
    Interface { name: "queue".into(), operations }
}

/// All checks, in the order in which they run. The first one is the minimum: if it fails, the others are not run.
pub const CHECKS: &[Check] = &[
    check!("queue-answers", "it opens, enqueues, claims and completes ten tasks, and ends", claims::answers),
    check!("queue-refusals", "SQL and what is no operation of a queue is refused before `ready`", refusals::refusals),
    check!("queue-claims", "each task is claimed once, with its payload; then there is none", claims::claims),
    check!("queue-workers", "every sharing and executor: no two workers get the same task", claims::workers),
    check!("queue-completes", "a task that is completed is done, and one that is not is not", endings::completes),
    check!("queue-fails", "a task that is given back is claimed again at once", endings::fails),
    check!(
        "queue-settings",
        "the settings are those of the profile, or the library's own; the file agrees",
        settings::read_back
    ),
    check!("queue-busy", "a locked database is counted by its name, and retried as told", settings::busy),
    check!("queue-ticks", "it reports progress", progress::ticks),
    check!(
        "queue-killed",
        "killed, it leaves a database that opens, with every task that was acknowledged",
        killed::killed
    ),
];

/// The transactions, each of one operation.
fn transactions() -> [Transaction; 5] {
    let yielded = |name: &str| Source::Yielded { name: name.into() };
    let one = |name, params, statement| transaction(name, Begin::None, params, vec![statement]);
    let priority = || ("priority", Source::Value { value: 0.into() });
    let enqueue = || statement("CALL queue.enqueue(?1, ?2)", &[0, 1]);
    [
        one("enqueue", vec![("payload", Source::Hex { bytes: 16 }), priority()], enqueue()),
        one("claim", vec![], yielding("CALL queue.claim()", &[], &["id", "payload"])),
        // Enqueues the last claimed payload again.
        one("echo", vec![("payload", yielded("payload")), priority()], enqueue()),
        one("complete", vec![("id", yielded("id"))], statement("CALL queue.complete(?1)", &[0])),
        one("fail", vec![("id", yielded("id"))], statement("CALL queue.fail(?1)", &[0])),
    ]
}

/// A trial with all transactions on this file. It retries on SQLITE_BUSY, because after a failed step the following
/// steps would use the task of the previous round.
fn draft(subject: &Subject<'_>, path: &Path) -> Draft {
    let mut draft = Draft::new(subject).on_file(path);
    draft.trial.retry = Retry {
        attempts: 100,
        backoff_us: 1_000,
        multiplier: 1.0,
        max_backoff_us: 1_000,
        on: vec!["SQLITE_BUSY".into()],
    };
    transactions().into_iter().fold(draft, Draft::transaction)
}

/// Creates an empty database, as a library may find it.
pub(super) fn empty(subject: &Subject<'_>, name: &str) -> Result<PathBuf, String> {
    let path = subject.directory.join(name);
    file::create(&path, "VACUUM")?;
    Ok(path)
}

/// Creates a database with `tasks` tasks, which the driver enqueues.
fn filled(subject: &Subject<'_>, name: &str, tasks: u64) -> Result<PathBuf, String> {
    let path = empty(subject, name)?;
    let trial = draft(subject, &path).role("p", 1, &["enqueue"], count(tasks)).build();
    let result = subject.run(&trial)?.result;
    let (done, _) = done(&result, "enqueue");
    if done == tasks { Ok(path) } else { Err(format!("{done} of {tasks} tasks were enqueued")) }
}

/// Payloads of tasks by the number of their `enqueue` operation.
fn payloads(trial: &Trial, tasks: Range<u64>) -> Vec<String> {
    let [enqueue, ..] = transactions();
    let drawer = Drawer::new(trial.seed, &enqueue.name, &enqueue.params, 0);
    let text = |task| match drawer.draw(0, task) {
        Value::Text(text) => text,
        other => format!("{other:?}"),
    };
    tasks.map(text).collect()
}

/// Committed and empty executions of a transaction.
pub(super) fn done(result: &TrialResult, name: &str) -> (u64, u64) {
    let of = result.operations.iter().filter(|o| o.transaction == name);
    of.fold((0, 0), |(committed, empty), o| (committed + o.committed, empty + o.empty))
}
