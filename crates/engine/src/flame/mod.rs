//! Where the CPU time of a variant goes: one further trial under `perf record`, which counts for nothing else.
//!
//! | file | is |
//! |---|---|
//! | `perf` | the tool: whether this machine allows it, begun and ended with a trial, its samples read |
//!
//! A sample is taken each time a thread has used a certain CPU time, so a thread that waits (for a lock, the disk, a
//! timer) is in none of them.

pub(crate) mod perf;
#[cfg(test)]
mod tests;

use litelab_model::Variant;
use litelab_record::outcome::Outcome;
use litelab_record::stacks::Stacks;

use crate::trial::{self, TrialContext};
use perf::Perf;

/// Runs a variant once more under `perf`. The trial is checked as any other: stacks of wrong work would say nothing.
///
/// # Errors
/// Why there are no stacks, in one line.
pub(crate) fn run(
    variant: &Variant,
    id: &str,
    perf: &mut Perf,
    bench: &mut TrialContext<'_>,
) -> Result<Stacks, String> {
    perf.aim(variant);
    let (outcome, _) = trial::sampled(variant, id, bench, Some(perf));
    // Of a trial that failed it goes on.
    perf.end(bench.keep_going)?;
    match outcome {
        Outcome::Measured(_) => perf.stacks(bench.keep_going),
        Outcome::Failed(failure) => Err(failure.reason),
    }
}
