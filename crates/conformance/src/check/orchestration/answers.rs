//! Results of the operations, and their timing.

use litelab_protocol::Until;

use super::{ACTIVITIES, DELAY_MS, draft};
use crate::check::library::empty;
use crate::check::{Found, passed};
use crate::draft::count;
use crate::error::{ensure, timely};
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

/// Orchestrations for 600 ms, in which 30 ticks are due.
pub fn ticks(subject: &Subject<'_>) -> Found {
    let mut trial = draft(subject, &empty(subject)?).only(2, Until::Time { ms: 600 });
    trial.tick_ms = 20;
    let heard = subject.run(&trial)?;
    let (committed, _) = heard.done("quick");
    timely!(
        heard.ticks.len() >= 12,
        "{} ticks were heard in {:?}, one is due every 20 ms",
        heard.ticks.len(),
        heard.took
    );
    let ticked = heard.ticked(|count| count.committed);
    ensure!(ticked <= committed, "ticks add up to {ticked}, the result says {committed}");
    // Transactions after the last tick may be missing.
    timely!(2 * ticked + 4 >= committed, "ticks add up to {ticked}, the result says {committed}");
    passed(format!("{} ticks, {committed} orchestrations", heard.ticks.len()))
}
