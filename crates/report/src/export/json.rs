//! An analysis as JSON: every computed value of [`Analysis`], and the run.

use std::collections::BTreeMap;

use litelab_model::claim::Origin;
use litelab_model::metric::Unit;
use litelab_model::text::shown;
use litelab_model::{Metric, Server};
use litelab_protocol::Description;
use litelab_record::environment::{Environment, LoadWindow};
use litelab_record::{RunInfo, ServerRecord};
use serde::Serialize;

use crate::analysis::{Analysis, Tally};
use crate::error::ReportError;

/// Version of the format. It increases if a field is removed or changes its meaning; new fields do not change it.
pub const SCHEMA: u32 = 4;

/// The analysis of a run. Values are in base units, listed in `metrics`; ratios are the variant over the variant that
/// it is compared with.
#[derive(Serialize)]
pub struct Export<'a> {
    /// Version of the format: [`SCHEMA`].
    schema: u32,
    /// Study and times of the run.
    run: Run<'a>,
    /// Environment of the machine before the run.
    environment: &'a Environment,
    /// Load of the machine during each round.
    loads: &'a [LoadWindow],
    /// Descriptions of the runners, with their builds of SQLite.
    runners: &'a [Description],
    /// Servers of the run's variants, by name.
    servers: &'a BTreeMap<Server, ServerRecord>,
    /// Metrics of which a variant has a value.
    metrics: BTreeMap<&'a Metric, Described>,
    /// Numbers of claims by origin and verdict.
    tally: BTreeMap<Origin, Tally>,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// Study and times of a run.
#[derive(Serialize)]
struct Run<'a> {
    /// Version of litelab that made the run.
    litelab: &'a str,
    study: &'a str,
    /// Question of the study.
    title: &'a str,
    /// Source of the study's claims.
    source: &'a str,
    /// Beginning of the run: UTC, ISO 8601.
    created: &'a str,
    /// End of the last round, if the run is complete.
    finished: Option<&'a str>,
    /// Number of complete rounds.
    rounds: u32,
    quick: bool,
    /// Seed of the order of trials and of the values.
    seed: u64,
}

/// Unit and direction of a metric.
#[derive(Serialize)]
struct Described {
    unit: &'static str,
    more_is_better: bool,
}

/// Combines the analysis of a run with the run, for serialisation.
#[must_use]
pub fn export<'a>(analysis: &'a Analysis, info: &'a RunInfo) -> Export<'a> {
    let plan = &info.plan;
    let metrics = analysis.variants.iter().flat_map(|variant| variant.metrics.keys());
    let described = |metric: &Metric| Described { unit: unit(metric), more_is_better: metric.measure.more_is_better() };
    Export {
        schema: SCHEMA,
        run: Run {
            litelab: &info.litelab,
            study: &plan.study,
            title: &plan.title,
            source: &plan.source,
            created: &info.created,
            finished: info.finished.as_deref(),
            rounds: info.rounds(),
            quick: plan.quick,
            seed: plan.seed,
        },
        environment: &info.environment,
        loads: &info.loads,
        runners: &info.runners,
        servers: &info.servers,
        metrics: metrics.map(|metric| (metric, described(metric))).collect(),
        tally: analysis.tally(),
        analysis,
    }
}

fn unit(metric: &Metric) -> &'static str {
    match metric.unit() {
        Unit::PerSecond => "per_second",
        Unit::Nanos => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Share => "share",
        Unit::Count => "count",
        Unit::PerTransaction => "per_transaction",
    }
}

/// The analysis of a run as indented JSON.
///
/// # Errors
/// If a value cannot be written as JSON.
pub fn text(analysis: &Analysis, info: &RunInfo) -> Result<String, ReportError> {
    pretty(&export(analysis, info)).map_err(|e| ReportError::Write(e.into()))
}

/// Formats a value as indented JSON in which every character that [`litelab_model::text::printable`] replaces is a `\u`
/// escape: the value stays exact, and a terminal shows it as text.
///
/// # Errors
/// If a value cannot be written as JSON.
pub fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    // Outside strings JSON has only line ends and spaces, and serde_json escapes C0 characters inside them.
    if text.chars().all(|c| c == '\n' || shown(c) == c) {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || shown(c) == c {
            out.push(c);
        } else {
            // All these characters are in the Basic Multilingual Plane.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Ok(out)
}
