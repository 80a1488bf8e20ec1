//! Ticks.

use std::collections::BTreeMap;

use litelab_protocol::{Load, Until};

use super::{draft, empty};
use crate::check::{Found, passed};
use crate::error::{ensure, timely};
use crate::subject::Subject;

/// Tasks are enqueued and completed for 300 ms, in which 15 ticks are due.
pub fn ticks(subject: &Subject<'_>) -> Found {
    let file = empty(subject)?;
    let until = Until::Time { ms: 300 };
    let mut trial = draft(subject, &file).role("r", 1, &["enqueue", "claim", "complete", "claim"], until).build();
    trial.roles[0].load = Load::Closed { think_us: 1_000 };
    trial.tick_ms = 20;
    let heard = subject.run(&trial)?;
    timely!(
        heard.ticks.len() >= 6,
        "{} ticks were heard in {:?}, one is due every 20 ms",
        heard.ticks.len(),
        heard.took
    );
    let mut ticked: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for count in heard.ticks.iter().flat_map(|(_, tick)| &tick.counts) {
        let sum = ticked.entry(&count.transaction).or_default();
        (sum.0, sum.1) = (sum.0 + count.committed, sum.1 + count.empty);
    }
    for name in ["enqueue", "claim", "complete"] {
        let (sum, all) = (ticked.get(name).copied().unwrap_or_default(), heard.done(name));
        let what = format!("`{name}`: ticks add up to {sum:?} done and in vain, the result says {all:?}");
        ensure!(sum.0 <= all.0 && sum.1 <= all.1, "{what}");
        // Transactions after the last tick may be missing.
        timely!(2 * sum.0 >= all.0 && 2 * sum.1 >= all.1, "{what}");
    }
    let (claims, enqueued) = (heard.done("claim"), heard.done("enqueue"));
    // A round without a task ends at its claim, so that every round but the last has one claim of either kind.
    ensure!(
        claims.0.abs_diff(enqueued.0) <= 1 && claims.1.abs_diff(enqueued.0) <= 1,
        "{} tasks came one at a time, and claimed and claimed in vain were {claims:?}",
        enqueued.0
    );
    passed(format!("{} ticks, {} tasks", heard.ticks.len(), enqueued.0))
}
