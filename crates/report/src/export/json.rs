//! An analysis as JSON: everything that was computed, as [`Analysis`] has it, with the run that it is of.

use std::collections::BTreeMap;

use litelab_model::metric::Unit;
use litelab_model::text::shown;
use litelab_model::{Metric, Server};
use litelab_protocol::Description;
use litelab_record::environment::{Environment, LoadWindow};
use litelab_record::{RunInfo, ServerRecord};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::error::ReportError;

/// Version of the format: counts up when a field is removed or changes its meaning; new fields may come without.
pub const SCHEMA: u32 = 3;

/// A run analysed. Values are in base units (`metrics` says which), ratios are arm over the arm compared with.
#[derive(Serialize)]
pub struct Export<'a> {
    /// [`SCHEMA`].
    schema: u32,
    /// What was run and when.
    run: Run<'a>,
    /// The machine before the run.
    environment: &'a Environment,
    /// The machine's load during each block.
    loads: &'a [LoadWindow],
    /// The runners and the builds of SQLite in them.
    runners: &'a [Description],
    /// The servers of its arms, by name.
    servers: &'a BTreeMap<Server, ServerRecord>,
    /// Every metric of which an arm has a value.
    metrics: BTreeMap<&'a Metric, Described>,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// What was run and when.
#[derive(Serialize)]
struct Run<'a> {
    /// Version of litelab that made it.
    litelab: &'a str,
    study: &'a str,
    /// The study's question.
    title: &'a str,
    /// Where its claims come from.
    source: &'a str,
    /// UTC, ISO 8601.
    created: &'a str,
    /// When its last block ended, if it is complete.
    finished: Option<&'a str>,
    /// Blocks that are complete.
    blocks: u32,
    quick: bool,
    /// Of orders and values.
    seed: u64,
}

/// How a metric's values are to be read.
#[derive(Serialize)]
struct Described {
    unit: &'static str,
    more_is_better: bool,
}

/// The analysis of a run, to be serialised.
#[must_use]
pub fn export<'a>(analysis: &'a Analysis, info: &'a RunInfo) -> Export<'a> {
    let plan = &info.plan;
    let metrics = analysis.arms.iter().flat_map(|arm| arm.metrics.keys());
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
            blocks: info.blocks(),
            quick: plan.quick,
            seed: plan.seed,
        },
        environment: &info.environment,
        loads: &info.loads,
        runners: &info.runners,
        servers: &info.servers,
        metrics: metrics.map(|metric| (metric, described(metric))).collect(),
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

/// The analysis as indented JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn text(analysis: &Analysis, info: &RunInfo) -> Result<String, ReportError> {
    pretty(&export(analysis, info)).map_err(|e| ReportError::Write(e.into()))
}

/// Indented JSON in which every character that [`litelab_model::text::printable`] replaces is a `\u` escape: the value
/// stays exact, and a terminal shows it as text.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    // Outside of strings JSON has line ends and spaces only, and serde_json escapes C0 within them.
    if text.chars().all(|c| c == '\n' || shown(c) == c) {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || shown(c) == c {
            out.push(c);
        } else {
            // All of them are in the Basic Multilingual Plane.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Ok(out)
}
