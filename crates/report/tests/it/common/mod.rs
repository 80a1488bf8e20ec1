//! Runs with given numbers, written by the real recorder.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

pub mod environment;
pub mod measurement;
pub mod plan;

use std::path::Path;

use litelab_model::Plan;
use litelab_record::environment::LoadWindow;
use litelab_record::outcome::{Failure, FailureKind, Outcome, Series, TrialRecord};
use litelab_record::{Recorder, RunFile, RunInfo};
use litelab_report::export::json;
use litelab_report::{Analysis, Side, Style, analyse, show_all};
use serde_json::Value;

pub use measurement::Numbers;

/// Outcome of a trial.
pub enum Gives {
    Numbers(Box<Numbers>),
    Failure(FailureKind, &'static str),
}

impl From<Numbers> for Gives {
    fn from(numbers: Numbers) -> Self {
        Self::Numbers(Box::new(numbers))
    }
}

/// Records a run of `plan` whose trials have the outcomes that `trial` returns for round and variant; `None` is a trial
/// that did not run. Values that depend on the clock or the machine are replaced by constants.
pub fn record(
    path: &Path,
    plan: &Plan,
    prepare: impl FnOnce(&Recorder),
    trial: impl Fn(u32, usize) -> Option<Gives>,
) -> (RunFile, RunInfo) {
    let mut recorder = Recorder::create(path, plan, "name = \"made up\"", &environment::quiet(), |_| Ok(())).unwrap();
    recorder.runner(&environment::runner()).unwrap();
    prepare(&recorder);
    let rounds = plan.scenarios.iter().map(|s| s.rounds).max().unwrap_or(0);
    for (round, scenario) in (0..rounds).flat_map(|round| (0..plan.scenarios.len()).map(move |s| (round, s))) {
        let trials: Vec<(TrialRecord, Series)> = (0..plan.variants.len())
            .filter(|variant| plan.variants[*variant].scenario == scenario)
            .filter_map(|variant| {
                let gives = trial(round, variant)?;
                let series = match &gives {
                    Gives::Numbers(numbers) => numbers.series.clone(),
                    Gives::Failure(..) => Series::default(),
                };
                Some((trial_record(plan, round, variant, gives), series))
            })
            .collect();
        let load =
            LoadWindow { busy_share: Some(0.4), steal_share: Some(0.001), ticks: Some(500), ..LoadWindow::default() };
        recorder.round((scenario, round), "2026-01-02T03:04:05Z", &load, &trials).unwrap();
    }
    recorder.finished().unwrap();
    let file = RunFile::open(path).unwrap();
    let mut info = file.info().unwrap();
    info.path = "runs/made-up.db".into();
    info.litelab = "0.1.0".into();
    info.created = "2026-01-02T03:04:05Z".into();
    info.finished = Some("2026-01-02T03:14:05Z".into());
    (file, info)
}

fn trial_record(plan: &Plan, round: u32, variant: usize, gives: Gives) -> TrialRecord {
    let outcome = match gives {
        Gives::Numbers(numbers) => Outcome::Measured(Box::new(numbers.measurement(&plan.variants[variant]))),
        Gives::Failure(kind, reason) => Outcome::Failed(Box::new(Failure {
            kind,
            reason: reason.into(),
            stderr: String::new(),
            settings: vec![],
            result: None,
        })),
    };
    TrialRecord {
        round,
        variant,
        position: variant as u32,
        started: "2026-01-02T03:04:05Z".into(),
        seconds: 1.5,
        outcome,
    }
}

/// A run as [`record`] makes it, with its analysis.
pub fn analysed(plan: &Plan, trial: impl Fn(u32, usize) -> Option<Gives>) -> (RunInfo, Analysis) {
    let directory = tempfile::tempdir().unwrap();
    let (file, info) = record(&directory.path().join("run.db"), plan, |_| (), trial);
    let analysis = analyse(&file, &info).unwrap();
    (info, analysis)
}

/// The text that a person sees of everything, without wrapped lines.
pub fn seen(analysis: &Analysis, info: &RunInfo) -> String {
    show_all(analysis, info, Style { color: false, width: 1_000 })
}

/// A run as one side of a comparison.
pub fn side((info, analysis): &(RunInfo, Analysis)) -> Side<'_> {
    Side { analysis, info }
}

/// The run of most tests; see [`plan::study`].
pub fn study() -> (RunInfo, Analysis) {
    let (file, info, _keep) = study_file();
    let analysis = analyse(&file, &info).unwrap();
    (info, analysis)
}

/// The run of [`study`] with its file, which exists as long as the directory.
pub fn study_file() -> (RunFile, RunInfo, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan::study();
    let prepare = |recorder: &Recorder| recorder.calibration(0, "rust", &measurement::noop()).unwrap();
    let (file, info) = record(&directory.path().join("run.db"), &plan, prepare, plan::outcome);
    (file, info, directory)
}

/// An analysis as exported JSON.
pub fn exported(analysis: &Analysis, info: &RunInfo) -> Value {
    serde_json::to_value(json::export(analysis, info)).unwrap()
}
