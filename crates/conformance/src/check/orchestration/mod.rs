//! The checks of a driver that offers the interface `orchestration` in place of SQL.
//!
//! Only the runner sees the results of orchestrations, whose names are drawn. A driver without SQLite stores nothing in a
//! file; its file is not checked.

mod answers;
mod kept;

use std::ops::Range;

use litelab_protocol::invocation::Operation;
use litelab_protocol::{Begin, Interface, Source, Transaction, Trial};

use super::library::{self, Library};
use super::{Check, Needs};
use crate::database::File;
use crate::draft::{Draft, transaction, yielding};
use crate::subject::Subject;

/// The interface whose operations the checks call.
pub fn interface() -> Interface {
    let large = ["instance", "activities", "sub_orchestrations", "small_kb", "medium_kb", "large_kb", "delay_ms"];
    let operations = vec![
        Operation::writing("fan_out", &["instance", "activities", "delay_ms"], &["succeeded"]),
        Operation::writing("large_payload", &large, &["succeeded", "bytes"]),
    ];
    Interface { name: "orchestration".into(), operations }
}

/// All checks, in the order in which they run. The first one is the minimum: if it fails, the others are not run.
pub const CHECKS: &[Check] = &[
    Check::any("orchestration-answers", "it opens, runs ten orchestrations to their ends, and ends", answers::answers),
    Check::any(
        "orchestration-refusals",
        "SQL and what is no operation of the interface is refused before `ready`",
        |subject| library::refusals(subject, &ORCHESTRATION, &[]),
    ),
    Check::any("orchestration-waits", "an operation lasts as long as its activities at least", answers::waits),
    Check::any("orchestration-large", "large payloads come to their end, and are kept", kept::large),
    Check::any(
        "orchestration-workers",
        "every sharing and executor: each orchestration that ended is kept with its end",
        kept::workers,
    ),
    Check {
        needs: Needs::Storage,
        ..Check::any("orchestration-settings", "the settings are those in effect; the file agrees", |subject| {
            library::read_back(subject, &ORCHESTRATION)
        })
    },
    Check::any("orchestration-ticks", "it reports progress", answers::ticks),
    Check {
        needs: Needs::Storage,
        ..Check::any(
            "orchestration-killed",
            "killed, it leaves a database that opens, with the end of every orchestration that was acknowledged",
            kept::killed,
        )
    },
];

const ORCHESTRATION: Library = Library {
    draft,
    usual: "quick",
    wrong: [
        "SELECT ?1, ?2, ?3",
        "CALL orchestration.fan_in(?1, ?2, ?3)",
        "CALL queue.enqueue(?1, ?2, ?3)",
        "CALL orchestration.fan_out(?1)",
    ],
    profiles: &[&[("journal_mode", "WAL"), ("synchronous", "EXTRA"), ("cache_size", "-3456")]],
    refuses_profiles: true,
};

/// Activities of `quick` and of `slow`.
const ACTIVITIES: u64 = 3;
/// Delay of each activity of `slow`.
const DELAY_MS: u64 = 60;
/// Payload sizes of `large`, in KiB.
const LARGE: [u64; 3] = [1, 2, 5];

/// The transactions, each of one operation.
fn transactions() -> [Transaction; 3] {
    let number = |name, value: u64| (name, Source::Value { value: value.into() });
    let instance = || ("instance", Source::Hex { bytes: 12 });
    let one = |name, params, statement| transaction(name, Begin::None, params, vec![statement]);
    let fan_out = || yielding("CALL orchestration.fan_out(?1, ?2, ?3)", &[0, 1, 2], &["succeeded"]);
    let with = |delay| vec![instance(), number("activities", ACTIVITIES), number("delay_ms", delay)];
    let large = "CALL orchestration.large_payload(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let [small_kb, medium_kb, large_kb] = LARGE;
    let params = vec![
        instance(),
        number("activities", ACTIVITIES),
        number("sub_orchestrations", 1),
        number("small_kb", small_kb),
        number("medium_kb", medium_kb),
        number("large_kb", large_kb),
        number("delay_ms", 0),
    ];
    [
        one("quick", with(0), fan_out()),
        one("slow", with(DELAY_MS), fan_out()),
        one("large", params, yielding(large, &[0, 1, 2, 3, 4, 5, 6], &["succeeded", "bytes"])),
    ]
}

/// A trial with all transactions on this file, under the library's own settings.
fn draft(subject: &Subject<'_>, file: &File) -> Draft {
    transactions().into_iter().fold(Draft::new(subject).on(file).profile(&[]), Draft::transaction)
}

/// Names of orchestrations by the number of their `quick` operation.
fn instances(trial: &Trial, numbers: Range<u64>) -> Vec<String> {
    let [quick, ..] = transactions();
    library::drawn(trial, &quick, numbers)
}

/// Whether the driver stores orchestrations in an SQLite file.
fn keeps(subject: &Subject<'_>) -> bool {
    subject.driver.sqlite.is_some()
}
