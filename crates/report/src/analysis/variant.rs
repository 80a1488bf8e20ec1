//! Analysis of the trials of one variant.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use litelab_model::durability::Durability;
use litelab_model::metric::{Measure, Metric};
use litelab_model::{Plan, Scalar};
use litelab_protocol::{Dialect, ErrorCount};
use litelab_record::measure::least_observations;
use litelab_record::outcome::FailureKind;
use litelab_stats::{Confidence, Counted, Estimate, Events, median};
use serde::Serialize;

use super::flag::ProblemKind;
use super::locks::LockUse;
use super::serial;
use crate::number;

/// Metrics, failures, settings and notes of one variant over its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VariantAnalysis {
    /// Index of the variant in the plan.
    pub index: usize,
    /// Name in the form `scenario/label`.
    pub name: String,
    /// Label in the form `profile=wal-full sharing=pool(4)`.
    pub label: String,
    /// What differs from the other variants of the scenario, in words: `8 × own connection, WAL FULL`.
    pub words: String,
    /// Index of the variant's scenario in the plan.
    pub scenario: usize,
    /// The variant's values in the dimensions of its scenario.
    pub dimensions: IndexMap<String, Scalar>,
    /// Name of the driver in the study.
    pub driver: String,
    /// SQL dialect of the driver's database.
    pub dialect: Dialect,
    /// Name of the profile.
    pub profile: String,
    /// Number of planned trials.
    pub planned: u64,
    /// Reason for which the variant was not run.
    pub skipped: Option<String>,
    /// Number of trials with a measurement.
    pub measured: u64,
    /// Failed trials by reason, the most frequent reason first.
    pub failures: Vec<FailureCount>,
    /// Every metric that has a value in at least one trial.
    pub metrics: BTreeMap<Metric, Values>,
    /// Lowest durability level of the settings over all connections and trials; `None` if it is not known.
    #[serde(serialize_with = "serial::displayed")]
    pub durability: Option<Durability>,
    /// Caveat that the durability level does not express.
    pub caveat: Option<&'static str>,
    /// Settings in effect and their values, over all connections of all trials.
    pub settings: BTreeMap<String, BTreeSet<String>>,
    /// Hex SHA-256 of each table's content, over all trials without a failed transaction.
    pub content: BTreeMap<String, BTreeSet<String>>,
    /// Highest number of transactions per second that the scenario's own pauses allow on any database.
    pub ceiling: Option<f64>,
    /// Errors of all trials, by transaction and extended result code.
    #[serde(serialize_with = "serial::errors")]
    pub errors: BTreeMap<(String, String), ErrorCount>,
    /// Locks that others wait for, and who held them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockUse>,
    /// Notes to print next to the numbers.
    pub notes: Vec<String>,
    /// What went wrong in trials that have a measurement, one line each.
    pub problems: Vec<(ProblemKind, String)>,
}

/// Number of trials that failed for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureCount {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Reason in one line; of reasons that differ only in their digits ([`alike`]), the first.
    pub reason: String,
    /// Whether reasons with other digits were counted as well.
    pub varies: bool,
    /// Rounds of the failed trials, counted from 0.
    pub rounds: Vec<u32>,
}

/// The reason with every number replaced by `#`, so that trials with the same cause have the same text.
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

/// Values of a metric: one for each trial that has one, in order of rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Values {
    /// Pairs of round and value.
    pub by_round: Vec<(u32, f64)>,
    /// Median with its 95 % interval; for a rare event the share or rate over all trials together. `None` only if there
    /// is no value or a value is not finite.
    pub estimate: Option<Estimate>,
    /// Counts of a rare event, by round; empty for any other metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<u32, Events>,
    /// Median number of observations per trial, set if it is too low for the metric's quantile
    /// ([`litelab_record::measure::least_observations`]). The values are then the longest of each trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_of: Option<u64>,
    /// Whether the metric is measured over transactions and half of the variant's trials or more are too short to judge
    /// ([`litelab_record::outcome::Flag::Short`]). Either all trials of a variant are judged or none: the slowest
    /// rounds have the fewest transactions, and without them the variant would appear faster than it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
    /// Number of measured trials without a value, such as a latency of no transaction: often the worst ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Values {
    /// Reason for which the values are not judged: the trials are too short, or the values are the longest of too few
    /// observations.
    pub(super) fn too_few(&self, metric: &Metric) -> Option<String> {
        if self.short {
            return Some(format!("{metric} is not judged: the trials are too short; lengthen the roles' `for`"));
        }
        let Measure::Latency(_, quantile) = metric.measure else { return None };
        let (n, least) = (self.max_of?, least_observations(quantile)?);
        Some(format!(
            "{metric} is judged from {least} observations in a trial on: there are {n}, and what is shown is the longest"
        ))
    }

    /// Reason for which the values are not judged: that of [`Values::too_few`], or trials without a value.
    pub(super) fn not_judged(&self, metric: &Metric) -> Option<String> {
        let missing = (self.missing > 0)
            .then(|| format!("{metric} is not judged: {} without one", number::counted(self.missing, "trial")));
        self.too_few(metric).or(missing)
    }

    /// Creates the values of a metric and computes their estimate.
    #[must_use]
    pub fn new(mut by_round: Vec<(u32, f64)>) -> Self {
        by_round.sort_by_key(|(round, _)| *round);
        let values: Vec<f64> = by_round.iter().map(|(_, value)| *value).collect();
        Self { estimate: median(&values, Confidence::P95).ok(), by_round, ..Self::default() }
    }

    /// Creates the values of a rare event from its counts by round.
    #[must_use]
    pub fn counted(metric: &Metric, events: BTreeMap<u32, Events>) -> Self {
        let counted = if metric.measure == Measure::ErrorShare { Counted::Rate } else { Counted::Share };
        let trials: Vec<Events> = events.values().copied().collect();
        let by_round = events.iter().filter(|(_, e)| e.of > 0).map(|(round, e)| (*round, e.count as f64 / e.of as f64));
        let by_round = by_round.collect();
        Self { by_round, estimate: Events::pooled(&trials, counted, Confidence::P95).ok(), events, ..Self::default() }
    }

    /// Counts of a rare event over all trials; `None` for any other metric.
    #[must_use]
    pub fn sum(&self) -> Option<Events> {
        let trials: Vec<Events> = self.events.values().copied().collect();
        (!trials.is_empty()).then(|| Events::sum(&trials))
    }
}

impl VariantAnalysis {
    /// Creates the analysis of a variant without trials; `None` if the plan has no such variant.
    #[must_use]
    pub fn new(plan: &Plan, index: usize) -> Option<Self> {
        let variant = plan.variants.get(index)?;
        Some(Self {
            index,
            name: plan.variant_name(index),
            label: variant.label(),
            words: variant.label(),
            scenario: variant.scenario,
            dimensions: variant.dimensions.clone(),
            driver: variant.driver.clone(),
            dialect: variant.dialect,
            profile: variant.profile.clone(),
            planned: plan.rounds_of(variant) as u64,
            skipped: variant.skipped.clone(),
            ceiling: variant.ceiling,
            ..Self::default()
        })
    }

    /// Whether the variant has trials and all of them failed.
    #[must_use]
    pub fn is_all_failed(&self) -> bool {
        self.measured == 0 && self.failed() > 0
    }

    /// Number of failed trials.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.iter().map(|f| f.rounds.len() as u64).sum()
    }

    /// Estimate of a metric.
    #[must_use]
    pub fn estimate(&self, metric: &Metric) -> Option<&Estimate> {
        self.metrics.get(metric)?.estimate.as_ref()
    }

    /// Counts of a rare event over all trials; `None` for any other metric.
    pub(crate) fn events(&self, metric: &Metric) -> Option<Events> {
        self.metrics.get(metric)?.sum()
    }

    /// The median of a metric as a number by which the best variant comes first; without a median the last.
    pub(crate) fn rank(&self, metric: &Metric) -> f64 {
        let sign = if metric.measure.more_is_better() { -1.0 } else { 1.0 };
        self.estimate(metric).map_or(f64::INFINITY, |estimate| sign * estimate.value)
    }

    /// Values of a metric by round; empty if there are none.
    #[must_use]
    pub fn values(&self, metric: &Metric) -> &[(u32, f64)] {
        self.metrics.get(metric).map_or(&[], |values| &values.by_round)
    }

    /// Reason for which a metric of this variant is not judged: trials that are too short, or a quantile of too few
    /// observations.
    #[must_use]
    pub fn too_few(&self, metric: &Metric) -> Option<String> {
        self.metrics.get(metric)?.too_few(metric)
    }

    /// Reason for which a metric of this variant is not judged: trials that are too short, a quantile of too few
    /// observations, or trials without a value.
    #[must_use]
    pub fn not_judged(&self, metric: &Metric) -> Option<String> {
        self.metrics.get(metric)?.not_judged(metric)
    }

    /// Whether verdicts on a metric of this variant hold: no trial failed, which would have taken the rounds in which it
    /// was worst out of its median, and [`Self::not_judged`] has no reason.
    #[must_use]
    pub fn is_judged(&self, metric: &Metric) -> bool {
        self.estimate(metric).is_some() && self.not_judged(metric).is_none() && self.failed() == 0
    }

    /// Whether the variant is the second of two identical variants of an A/A check.
    #[must_use]
    pub fn is_twin(&self) -> bool {
        self.dimensions.contains_key(litelab_model::resolve::AA)
    }
}
