//! An arm's trials in numbers.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use litelab_model::durability::Durability;
use litelab_model::metric::{Measure, Metric};
use litelab_model::{Plan, Scalar};
use litelab_protocol::{Dialect, ErrorCount};
use litelab_record::outcome::FailureKind;
use litelab_stats::{Confidence, Counted, Estimate, Events, median};
use serde::Serialize;

use super::serial;

/// What an arm's trials amount to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmAnalysis {
    /// Index in the plan.
    pub index: usize,
    /// `scenario/label`.
    pub name: String,
    /// `profile=wal-full access=pool(4)`.
    pub label: String,
    /// Index of its scenario.
    pub scenario: usize,
    /// Its values in the dimensions of its scenario.
    pub dimensions: IndexMap<String, Scalar>,
    /// Driver, as the study names it.
    pub driver: String,
    /// What its driver's database understands.
    pub dialect: Dialect,
    /// Profile.
    pub profile: String,
    /// Trials planned.
    pub planned: u64,
    /// Why it was not run, if it was not.
    pub skipped: Option<String>,
    /// Trials that gave a measurement.
    pub measured: u64,
    /// Trials that failed, by reason, most frequent first.
    pub failures: Vec<FailureCount>,
    /// Every metric of which there is at least one value.
    pub metrics: BTreeMap<Metric, Values>,
    /// What its settings buy, worst over connections and trials; none where it is not known.
    #[serde(serialize_with = "serial::displayed")]
    pub durability: Option<Durability>,
    /// What that rung does not say.
    pub caveat: Option<&'static str>,
    /// Settings in effect, over all connections of all trials.
    pub settings: BTreeMap<String, BTreeSet<String>>,
    /// Hex SHA-256 of each table's content, over all trials in which no transaction failed.
    pub content: BTreeMap<String, BTreeSet<String>>,
    /// Transactions per second that the scenario's own pauses leave room for, whatever the database.
    pub ceiling: Option<f64>,
    /// Errors of all trials, by transaction and extended result code.
    #[serde(serialize_with = "serial::errors")]
    pub errors: BTreeMap<(String, String), ErrorCount>,
    /// What is to be said beside the numbers.
    pub notes: Vec<String>,
    /// Transactions that did nothing in a whole trial, one line each.
    pub idle: Vec<String>,
}

/// Trials that failed for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureCount {
    /// The kind of failure.
    pub kind: FailureKind,
    /// One line; where others differ from it in their figures alone ([`alike`]), that of the first.
    pub reason: String,
    /// Whether there are such.
    pub varies: bool,
    /// Blocks in which it happened, from 0.
    pub blocks: Vec<u32>,
}

/// A reason without its figures: the same of trials that failed alike.
#[must_use]
pub fn alike(reason: &str) -> String {
    let mut out = String::with_capacity(reason.len());
    for c in reason.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

/// A metric's values, one for each trial that has one, in order of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Values {
    /// Block and value.
    pub by_block: Vec<(u32, f64)>,
    /// Median and its interval at 95 %, of a rare event its share or rate over all trials together; none only where a value is
    /// no number.
    pub estimate: Option<Estimate>,
    /// Of a rare event what was counted, by block; empty for any other metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<u32, Events>,
    /// Set where trials have too few observations for the metric's quantile
    /// ([`litelab_record::measure::least_observations`]): so many, their median. The values are then the longest of each trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_of: Option<u64>,
    /// Whether they are made of transactions, and half of the arm's trials or more are too short to be judged by them
    /// ([`litelab_record::outcome::Flag::Short`]). All of an arm's trials are judged or none: the slowest blocks are the ones
    /// that have the fewest transactions, and without them the arm would look faster than it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
}

impl Values {
    /// With the estimate computed.
    #[must_use]
    pub fn new(mut by_block: Vec<(u32, f64)>) -> Self {
        by_block.sort_by_key(|(block, _)| *block);
        let values: Vec<f64> = by_block.iter().map(|(_, value)| *value).collect();
        Self { estimate: median(&values, Confidence::P95).ok(), by_block, ..Self::default() }
    }

    /// Of a rare event.
    #[must_use]
    pub fn counted(metric: &Metric, events: BTreeMap<u32, Events>) -> Self {
        let counted = if metric.measure == Measure::ErrorShare { Counted::Rate } else { Counted::Share };
        let trials: Vec<Events> = events.values().copied().collect();
        let by_block = events.iter().filter(|(_, e)| e.of > 0).map(|(block, e)| (*block, e.count as f64 / e.of as f64));
        let by_block = by_block.collect();
        Self { by_block, estimate: Events::pooled(&trials, counted, Confidence::P95).ok(), events, ..Self::default() }
    }

    /// Counts over all trials, of a rare event.
    #[must_use]
    pub fn sum(&self) -> Option<Events> {
        let trials: Vec<Events> = self.events.values().copied().collect();
        (!trials.is_empty()).then(|| Events::sum(&trials))
    }
}

impl ArmAnalysis {
    /// The arm before any trial.
    #[must_use]
    pub fn new(plan: &Plan, index: usize) -> Option<Self> {
        let arm = plan.arms.get(index)?;
        Some(Self {
            index,
            name: plan.arm_name(index),
            label: arm.label(),
            scenario: arm.scenario,
            dimensions: arm.dimensions.clone(),
            driver: arm.driver.clone(),
            dialect: arm.dialect,
            profile: arm.profile.clone(),
            planned: plan.blocks_of(arm) as u64,
            skipped: arm.skipped.clone(),
            measured: 0,
            failures: Vec::new(),
            metrics: BTreeMap::new(),
            durability: None,
            caveat: None,
            settings: BTreeMap::new(),
            content: BTreeMap::new(),
            ceiling: arm.ceiling,
            errors: BTreeMap::new(),
            notes: Vec::new(),
            idle: Vec::new(),
        })
    }

    /// Whether there are trials, and all of them failed.
    #[must_use]
    pub fn is_all_failed(&self) -> bool {
        self.measured == 0 && self.failed() > 0
    }

    /// Trials that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.iter().map(|f| f.blocks.len() as u64).sum()
    }

    /// The estimate of a metric.
    #[must_use]
    pub fn estimate(&self, metric: &Metric) -> Option<&Estimate> {
        self.metrics.get(metric)?.estimate.as_ref()
    }

    /// Values by block; empty where there are none.
    #[must_use]
    pub fn values(&self, metric: &Metric) -> &[(u32, f64)] {
        self.metrics.get(metric).map_or(&[], |values| &values.by_block)
    }

    /// Why nothing is judged by a metric of it: trials too short, a quantile of too few.
    #[must_use]
    pub fn too_few(&self, metric: &Metric) -> Option<String> {
        super::pair::too_few(self.metrics.get(metric)?, metric)
    }

    /// Whether it is the second of two identical arms.
    #[must_use]
    pub fn is_twin(&self) -> bool {
        self.dimensions.contains_key(litelab_model::resolve::AA)
    }
}
