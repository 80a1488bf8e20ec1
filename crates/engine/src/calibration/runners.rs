//! Cost of each runner without a database.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use litelab_model::Variant;
use litelab_record::calibration::RunnerCost;
use litelab_record::measure;
use litelab_record::outcome::Outcome;
use litelab_stats::{Confidence, median};

use crate::error::EngineError;
use crate::noop;
use crate::prepare::Prepared;
use crate::runner::{NOOP, Runners};
use crate::scratch::Scratch;
use crate::trial::{self, TrialContext};

/// Cost of every built runner: `trials` short trials of a variant's work with the no-op driver, as before every run.
/// The result omits runners without that driver. `begins` receives the name of each runner.
///
/// # Errors
/// If the database cannot be prepared, or `stop` was set.
pub fn runner_costs(
    variant: &Variant,
    runners: &Runners,
    directory: &Path,
    trials: u32,
    stop: &AtomicBool,
    begins: &mut dyn FnMut(&str),
) -> Result<Vec<RunnerCost>, EngineError> {
    let scratch = Scratch::make(directory)?;
    let prepared = Prepared::new(&scratch.prepared).until(stop).file(variant, &mut |_, _| ())?;
    let keep_going = || !stop.load(Ordering::Relaxed);
    let mut costs = Vec::new();
    for runner in runners.iter().filter(|r| !r.manifest.test_double && r.is_built()) {
        let description = match runner.describe(Some(stop)) {
            Ok((description, _)) => description,
            Err(EngineError::Interrupted) => return Err(EngineError::Interrupted),
            Err(_) => continue,
        };
        let name = &runner.manifest.name;
        let Some(ours) = noop::variant(variant, name, &description) else { continue };
        begins(name);
        let mut seen = Vec::new();
        for _ in 0..trials {
            let mut bench = TrialContext {
                runner,
                prepared: &prepared,
                servers: None,
                directory: &scratch.trial,
                patience: noop::patience(trial::Patience::default()),
                keep_going: &mut || keep_going(),
            };
            if let (Outcome::Measured(measurement), _) = trial::run(&ours, NOOP, &mut bench) {
                seen.extend(measure::cost(&measurement.result));
            }
            if !keep_going() {
                return Err(EngineError::Interrupted);
            }
        }
        let Ok(middle) = median(&seen, Confidence::P95) else { continue };
        let ends = seen.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), n| (low.min(*n), high.max(*n)));
        costs.push(RunnerCost {
            runner: name.clone(),
            language: description.language,
            runtime: description.runtime,
            nanos: (middle.value, ends.0, ends.1),
            trials: seen.len() as u32,
        });
    }
    Ok(costs)
}
