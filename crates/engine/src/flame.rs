//! CPU time of a variant by function: one further trial under `perf record`, which is part of no other result.
//!
//! A sample is taken each time a thread has used a certain CPU time, so a thread that waits (for a lock, the disk, a
//! timer) is in none of them.

use litelab_model::Variant;
use litelab_record::outcome::Outcome;
use litelab_record::stacks::Stacks;

use crate::perf::Perf;
use crate::trial::{self, TrialContext};

/// Runs a variant once more under `perf`. The trial is checked like any other, because stacks of incorrect work are
/// meaningless.
///
/// # Errors
/// The reason why there are no stacks, in one line.
pub(crate) fn run(
    variant: &Variant,
    id: &str,
    perf: &mut Perf,
    bench: &mut TrialContext<'_>,
) -> Result<Stacks, String> {
    perf.aim(variant);
    let (outcome, _) = trial::sampled(variant, id, bench, Some(perf));
    // After a failed trial the recording still runs.
    perf.end(bench.keep_going)?;
    match outcome {
        Outcome::Measured(_) => perf.stacks(bench.keep_going),
        Outcome::Failed(failure) => Err(failure.reason),
    }
}
