//! The checks of a driver that offers the interface `queue` in place of SQL.
//!
//! Only the runner's own worker sees what a claim returns. The worker therefore enqueues each claimed payload again, and
//! the suite counts the rows of the file that contain it: payloads are drawn, and no two are equal. The suite assumes that
//! tasks of the same priority are claimed in the order in which they were enqueued.

mod busy;
mod claims;
mod endings;
mod killed;

use std::ops::Range;

use litelab_protocol::invocation::Operation;
use litelab_protocol::{Begin, Database, Interface, Load, Retry, Source, Transaction, Trial, Until};

use super::library::{self, Case, Library, empty};
use super::{Check, Found, passed, progress};
use crate::database::File;
use crate::draft::{Draft, count, statement, transaction, yielding};
use crate::error::{Result, ensure};
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
    Check::any("queue-answers", "it opens, enqueues, claims and completes ten tasks, and ends", claims::answers),
    Check::any("queue-refusals", "SQL and what is no operation of a queue is refused before `ready`", refusals),
    Check::any("queue-claims", "each task is claimed once, with its payload; then there is none", claims::claims),
    Check::any("queue-workers", "every sharing and executor: no two workers get the same task", claims::workers),
    Check::any("queue-completes", "a task that is completed is done, and one that is not is not", endings::completes),
    Check::any("queue-fails", "a task that is given back is claimed again at once", endings::fails),
    Check::any(
        "queue-settings",
        "the settings are those of the profile, or the library's own; the file agrees",
        |subject| library::read_back(subject, &QUEUE),
    ),
    Check::any("queue-busy", "a locked database is counted by its name, and retried as told", busy::busy),
    Check::any("queue-ticks", "it reports progress", ticks),
    Check::any(
        "queue-killed",
        "killed, it leaves a database that opens, with every task that was acknowledged",
        killed::killed,
    ),
];

const QUEUE: Library = Library {
    draft,
    usual: "enqueue",
    wrong: ["SELECT ?1, ?2", "CALL queue.steal(?1, ?2)", "CALL cache.enqueue(?1, ?2)", "CALL queue.enqueue(?1)"],
    profiles: &[
        &[("journal_mode", "WAL"), ("synchronous", "OFF"), ("busy_timeout", "1234"), ("cache_size", "-3456")],
        &[("journal_mode", "WAL"), ("synchronous", "EXTRA"), ("busy_timeout", "60000"), ("foreign_keys", "ON")],
    ],
    refuses_profiles: false,
};

fn refusals(subject: &Subject<'_>) -> Found {
    let rows: Case = ("rows of an operation that has none", |t| t.transactions[0].statements[0].required = true);
    let memory: Case = ("a database in memory", |t| {
        let (name, shared) = ("conformance".into(), false);
        t.databases = vec![Database::Memory { name, shared, setup: Vec::new(), teardown: Vec::new() }];
    });
    library::refusals(subject, &QUEUE, &[rows, memory])
}

/// Tasks are enqueued and completed for 300 ms, in which 15 ticks are due.
fn ticks(subject: &Subject<'_>) -> Found {
    let file = empty(subject)?;
    let until = Until::Time { ms: 300 };
    let mut trial = draft(subject, &file).role("r", 1, &["enqueue", "claim", "complete", "claim"], until).build();
    trial.roles[0].load = Load::Closed { think_us: 1_000 };
    let heard = progress::told(subject, trial, 6, 0)?;
    let (claims, enqueued) = (heard.done("claim"), heard.done("enqueue").0);
    // A round without a task ends at its claim, so that every round but the last has one claim of either kind.
    ensure!(
        claims.0.abs_diff(enqueued) <= 1 && claims.1.abs_diff(enqueued) <= 1,
        "{enqueued} tasks came one at a time, and claimed and claimed in vain were {claims:?}"
    );
    passed(format!("{} ticks, {enqueued} tasks", heard.ticks.len()))
}

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
fn draft(subject: &Subject<'_>, file: &File) -> Draft {
    let mut draft = Draft::new(subject).on(file);
    draft.trial.retry = Retry {
        attempts: 100,
        backoff_us: 1_000,
        multiplier: 1.0,
        max_backoff_us: 1_000,
        on: vec!["SQLITE_BUSY".into()],
    };
    transactions().into_iter().fold(draft, Draft::transaction)
}

/// Creates a database with `tasks` tasks, which the driver enqueues.
fn filled(subject: &Subject<'_>, tasks: u64) -> Result<File> {
    let file = empty(subject)?;
    let (done, _) = subject.run(&draft(subject, &file).only(1, count(tasks)))?.done("enqueue");
    ensure!(done == tasks, "{done} of {tasks} tasks were enqueued");
    Ok(file)
}

/// Payloads of tasks by the number of their `enqueue` operation.
fn payloads(trial: &Trial, tasks: Range<u64>) -> Vec<String> {
    let [enqueue, ..] = transactions();
    library::drawn(trial, &enqueue, tasks)
}
