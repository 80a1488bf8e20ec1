//! Results of the operations, and their timing.

use litelab_protocol::Until;

use super::{ACTIVITIES, DELAY_MS, draft};
use crate::check::queue::{done, empty};
use crate::check::{Found, Wrong, ensure, passed, timely, tries};
use crate::draft::count;
use crate::subject::Subject;

/// Ten orchestrations, one after the other. Each must have its row in the operations' counts.
pub fn answers(subject: &Subject<'_>) -> Found {
    let path = empty(subject, "answers.db")?;
    let trial = draft(subject, &path).role("r", 1, &["quick"], count(10)).build();
    let result = subject.run(&trial)?.result;
    let rows: u64 = result.operations.iter().map(|o| o.rows).sum();
    let (committed, empty) = done(&result, "quick");
    ensure!(
        (committed, empty, rows) == (10, 0, 10),
        "10 orchestrations are due, and it counts {committed}, {empty} in vain and {rows} rows"
    );
    passed(format!("10 orchestrations of {ACTIVITIES} activities"))
}

/// Activities with a delay: the operation must last at least as long.
pub fn waits(subject: &Subject<'_>) -> Found {
    let path = empty(subject, "waits.db")?;
    let trial = draft(subject, &path).role("r", 1, &["slow"], count(3)).build();
    let result = subject.run(&trial)?.result;
    ensure!(done(&result, "slow") == (3, 0), "3 orchestrations are due, and it counts {:?}", done(&result, "slow"));
    let shortest = result.operations.iter().filter_map(|o| o.service.quantile(0.0)).min().unwrap_or_default();
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
    tries(|tried| ticks_of(subject, tried)).and_then(passed)
}

fn ticks_of(subject: &Subject<'_>, tried: u32) -> Result<String, Wrong> {
    let path = empty(subject, &format!("ticks-{tried}.db"))?;
    let mut trial = draft(subject, &path).role("r", 2, &["quick"], Until::Time { ms: 600 }).build();
    trial.tick_ms = 20;
    let heard = subject.run(&trial)?;
    let (committed, _) = done(&heard.result, "quick");
    timely!(
        heard.ticks.len() >= 12,
        "{} ticks were heard in {:?}, one is due every 20 ms",
        heard.ticks.len(),
        heard.took
    );
    let ticked: u64 = heard.ticks.iter().flat_map(|(_, tick)| &tick.counts).map(|count| count.committed).sum();
    ensure!(ticked <= committed, "ticks add up to {ticked}, the result says {committed}");
    // Transactions after the last tick may be missing.
    timely!(2 * ticked + 4 >= committed, "ticks add up to {ticked}, the result says {committed}");
    Ok(format!("{} ticks, {committed} orchestrations", heard.ticks.len()))
}
