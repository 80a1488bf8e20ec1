//! Results of the operations, and their timing.

use litelab_protocol::Until;

use super::{ACTIVITIES, DELAY_MS, draft};
use crate::check::library::empty;
use crate::check::{Found, passed, progress};
use crate::draft::count;
use crate::error::ensure;
use crate::subject::Subject;

/// Ten orchestrations, one after the other. Each must have its row in the operations' counts.
pub fn answers(subject: &Subject<'_>) -> Found {
    let heard = subject.run(&draft(subject, &empty(subject)?).only(1, count(10)))?;
    let rows: u64 = heard.result.operations.iter().map(|o| o.rows).sum();
    let (committed, empty) = heard.done("quick");
    ensure!(
        (committed, empty, rows) == (10, 0, 10),
        "10 orchestrations are due, and it counts {committed}, {empty} in vain and {rows} rows"
    );
    passed(format!("10 orchestrations of {ACTIVITIES} activities"))
}

/// Activities with a delay: the operation must last at least as long.
pub fn waits(subject: &Subject<'_>) -> Found {
    let trial = draft(subject, &empty(subject)?).role("r", 1, &["slow"], count(3)).build();
    let heard = subject.run(&trial)?;
    let ended = heard.done("slow");
    ensure!(ended == (3, 0), "3 orchestrations are due, and it counts {ended:?}");
    let shortest = heard.result.operations.iter().filter_map(|o| o.service.quantile(0.0)).min().unwrap_or_default();
    // The buckets of the histogram are 0.2 % wide.
    ensure!(
        shortest >= DELAY_MS * 990_000,
        "activities take {DELAY_MS} ms, and an orchestration of {ACTIVITIES} took {} µs",
        shortest / 1_000
    );
    passed(format!("{} ms with activities of {DELAY_MS} ms", shortest / 1_000_000))
}

/// Orchestrations for 600 ms, in which 30 ticks are due. Those of two workers may end after the last one.
pub fn ticks(subject: &Subject<'_>) -> Found {
    let trial = draft(subject, &empty(subject)?).only(2, Until::Time { ms: 600 });
    let heard = progress::told(subject, trial, 12, 4)?;
    passed(format!("{} ticks, {} orchestrations", heard.ticks.len(), heard.done("quick").0))
}
