//! Collects trials one at a time and keeps only their numbers, so that a long run needs little memory.

use std::collections::{BTreeMap, BTreeSet};

use litelab_model::Plan;
use litelab_model::durability::Level;
use litelab_model::metric::{Measure, Metric, Unit};
use litelab_model::plan::{FindingValuePlan, ScenarioPlan};
use litelab_model::study::Location;
use litelab_protocol::ErrorCount;
use litelab_record::measure::{Meter, least_observations};
use litelab_record::outcome::{Measurement, Outcome, Series, TrialRecord};
use litelab_record::{LockShare, RecordError, RunInfo};
use litelab_stats::{Events, quantile};

use super::durability::{lower, lowest, shown};
use super::flag::Flags;
use super::flag::ProblemKind;
use super::variant::{FailureCount, Values, VariantAnalysis, alike};
use super::{Analysis, ScenarioAnalysis, claim, crossover, finding, locks, scenario, timeline, words};
use crate::error::ReportError;
use crate::number;

/// Collects trials and returns an [`Analysis`] of those added so far.
#[derive(Clone, Debug)]
pub struct Collector {
    metrics: Vec<Metric>,
    variants: Vec<Numbers>,
}

/// Numbers kept of the trials of one variant.
#[derive(Clone, Debug, Default)]
struct Numbers {
    measured: u64,
    values: BTreeMap<Metric, Vec<(u32, f64)>>,
    /// Counts of rare events, by round.
    events: BTreeMap<Metric, BTreeMap<u32, Events>>,
    /// For quantiles: the number of observations and the longest one of each trial, in the order of `values`.
    observed: BTreeMap<Metric, Vec<(u64, f64)>>,
    /// Failures by kind and by reason without digits.
    failures: BTreeMap<(u8, String), FailureCount>,
    flags: Flags,
    /// Lowest durability level so far: `None` before the first trial, `Some(None)` if it is not known.
    level: Option<Option<Level>>,
    on_server: bool,
    settings: BTreeMap<String, BTreeSet<String>>,
    content: BTreeMap<String, BTreeSet<String>>,
    /// Reasons that limited a search, with the number of trials of each.
    limits: BTreeMap<String, u64>,
    errors: BTreeMap<(String, String), ErrorCount>,
    timelines: timeline::Trials,
    /// Who held which lock, of each measured trial.
    locks: Vec<Vec<LockShare>>,
}

impl Collector {
    /// Creates a collector for the trials of a plan. It computes every measure; metrics of single transactions only if
    /// the plan or `extra` names them.
    #[must_use]
    pub fn new(plan: &Plan, extra: &[Metric]) -> Self {
        let of_findings = plan.findings.iter().flat_map(|f| f.values.values()).map(|value| match value {
            FindingValuePlan::Value { metric, .. }
            | FindingValuePlan::Ratio { metric, .. }
            | FindingValuePlan::Best { metric, .. } => metric,
        });
        let of_alerts = plan.scenarios.iter().flat_map(|s| &s.alerts).map(|limit| &limit.metric);
        let named = plan.scenarios.iter().flat_map(|s| &s.metrics).chain(of_alerts);
        let named = named.chain(plan.claims.iter().flat_map(|c| c.metrics())).chain(of_findings).chain(extra);
        let named = named.chain(plan.crossovers.iter().flat_map(|c| &c.metrics)).cloned();
        let judged = plan.scenarios.iter().flat_map(|s| litelab_model::judging::judged(&s.metrics));
        let all = Metric::names().filter_map(|name| name.parse().ok());
        let metrics: BTreeSet<Metric> = all.chain(named).chain(judged).collect();
        Self { metrics: metrics.into_iter().collect(), variants: vec![Numbers::default(); plan.variants.len()] }
    }

    /// Adds a trial of the plan.
    ///
    /// # Errors
    /// If the plan does not have the trial's variant.
    pub fn add(&mut self, plan: &Plan, record: &TrialRecord) -> Result<(), ReportError> {
        let damaged = ReportError::Damaged { variant: record.variant, variants: plan.variants.len() };
        let (Some(variant), Some(numbers)) = (plan.variants.get(record.variant), self.variants.get_mut(record.variant))
        else {
            return Err(damaged);
        };
        match &record.outcome {
            Outcome::Failed(failure) => {
                let entry = numbers.failures.entry((failure.kind as u8, alike(&failure.reason)));
                let (kind, reason) = (failure.kind, failure.reason.clone());
                let count = entry.or_insert_with(|| FailureCount { kind, reason, varies: false, rounds: Vec::new() });
                count.varies |= count.reason != failure.reason;
                count.rounds.push(record.round);
            }
            Outcome::Measured(measurement) => {
                let level = lowest(variant, &measurement.settings);
                numbers.level = Some(numbers.level.map_or(level, |so_far| lower(so_far, level)));
                numbers.measure(record.round, measurement, &self.metrics);
            }
        }
        Ok(())
    }

    /// Reads and adds the time series of a trial that was added before, if the analysis uses it.
    pub(super) fn add_series(
        &mut self,
        plan: &Plan,
        record: &TrialRecord,
        read: impl FnOnce() -> Result<Series, RecordError>,
    ) -> Result<(), RecordError> {
        let count = windows(plan, record.variant);
        if let (Outcome::Measured(measurement), Some(numbers), 1..) =
            (&record.outcome, self.variants.get_mut(record.variant), count)
        {
            let location = plan.variants.get(record.variant).map_or(Location::File, |variant| variant.location);
            numbers.timelines.push(timeline::windows(measurement, &read()?, location, count));
        }
        Ok(())
    }

    /// Analyses the trials added so far.
    #[must_use]
    pub fn finish(&self, info: &RunInfo) -> Analysis {
        let plan = &info.plan;
        let mut variants: Vec<VariantAnalysis> = self
            .variants
            .iter()
            .enumerate()
            .filter_map(|(index, numbers)| Some(numbers.analyse(VariantAnalysis::new(plan, index)?)))
            .collect();
        for index in 0..plan.scenarios.len() {
            words::name(&mut variants.iter_mut().filter(|v| v.scenario == index && !v.is_twin()).collect::<Vec<_>>());
        }
        let scenarios = plan
            .scenarios
            .iter()
            .enumerate()
            .map(|(index, s)| scenario::analyse(plan.tolerance, index, s, &variants, info));
        let mut scenarios: Vec<ScenarioAnalysis> = scenarios.collect();
        for scenario in &mut scenarios {
            let timeline = |variant: &usize| timeline::timeline(*variant, &self.variants.get(*variant)?.timelines);
            scenario.timelines = scenario.variants.iter().filter_map(timeline).collect();
        }
        let claims = plan.claims.iter().map(|c| claim::examine(c, &variants)).collect();
        let findings = plan.findings.iter().map(|f| finding::fill(f, &variants, plan.tolerance)).collect();
        let left_out = plan.left_out.clone();
        let crossovers = crossover::find(plan, &variants);
        Analysis { scenarios, claims, left_out, findings, crossovers, variants, tolerance: plan.tolerance }
    }
}

/// Number of timeline windows of a variant's scenario; 0 without a timeline.
fn windows(plan: &Plan, variant: usize) -> usize {
    let scenario = plan.variants.get(variant).and_then(|variant| plan.scenarios.get(variant.scenario));
    scenario.map_or(0, |scenario| scenario.timeline.min(ScenarioPlan::MOST_WINDOWS) as usize)
}

impl Numbers {
    fn measure(&mut self, round: u32, measurement: &Measurement, metrics: &[Metric]) {
        self.measured += 1;
        self.flags.add(&measurement.flags);
        self.on_server |= measurement.on_server;
        if measurement.result.operations.iter().all(|o| o.failed == 0) {
            for (table, hash) in &measurement.content {
                self.content.entry(table.clone()).or_default().insert(hash.clone());
            }
        }
        for operation in &measurement.result.operations {
            for (code, count) in &operation.errors {
                let sum = self.errors.entry((operation.transaction.clone(), code.clone())).or_default();
                sum.add(count.clone());
            }
        }
        if let Some(search) = &measurement.search {
            let broken = search.probes.iter().filter(|probe| !probe.held());
            let next = broken.min_by(|a, b| a.rate.total_cmp(&b.rate));
            let limit = next.map_or("no rate that was tried broke a condition".to_owned(), |probe| {
                let what = if probe.condition == "arrivals" { "arrivals not begun" } else { &probe.condition };
                format!("the next rate broke a condition: {what}")
            });
            *self.limits.entry(limit).or_default() += 1;
        }
        self.locks.push(measurement.summary.locks.clone());
        let mut meter = Meter::new(measurement);
        for metric in metrics {
            if let Some((count, of)) = meter.events(metric) {
                self.events.entry(metric.clone()).or_default().insert(round, Events { count, of });
            } else if let Some(value) = meter.value(metric) {
                self.values.entry(metric.clone()).or_default().push((round, value));
                if let Some(observed) = meter.observations(metric) {
                    self.observed.entry(metric.clone()).or_default().push(observed);
                }
            }
        }
        for connection in &measurement.settings {
            for (name, value) in &connection.settings {
                self.settings.entry(name.clone()).or_default().insert(shown(name, value));
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.flags.notes(self.measured);
        notes.extend(self.on_server.then(|| ON_SERVER.to_owned()));
        let errors = self.errors.iter().map(|((transaction, code), count)| {
            let cured = if count.cured > 0 { format!(", {} cured by a retry", count.cured) } else { String::new() };
            let message = count.message.as_ref().map_or_else(String::new, |message| format!(", \"{message}\""));
            format!("{transaction} met {code} {}{cured}{message}", number::counted(count.seen, "time"))
        });
        notes.extend((!self.errors.is_empty()).then(|| errors.collect::<Vec<_>>().join("; ")));
        notes.extend(self.limits.iter().map(|(limit, n)| format!("{limit} (in {n} of {} trials)", self.measured)));
        notes
    }

    /// What went wrong, with the database's own words for transactions that failed.
    fn problems(&self) -> Vec<(ProblemKind, String)> {
        let uncured = self.errors.values().filter(|count| count.seen > count.cured);
        let words: BTreeSet<&str> = uncured.filter_map(|count| count.message.as_deref()).collect();
        let words: String = words.iter().map(|words| format!(": {words}")).collect();
        let mut problems = self.flags.problems(self.measured);
        problems
            .iter_mut()
            .filter(|(kind, _)| *kind == ProblemKind::Failed)
            .for_each(|(_, text)| text.push_str(&words));
        problems
    }

    fn metrics(&self) -> BTreeMap<Metric, Values> {
        let counted =
            self.events.iter().map(|(metric, events)| (metric.clone(), Values::counted(metric, events.clone())));
        let values = self.values.iter().map(|(metric, values)| (metric.clone(), self.of_quantile(metric, values)));
        let mut metrics: BTreeMap<Metric, Values> = values.chain(counted).collect();
        for values in metrics.values_mut().filter(|values| values.events.is_empty()) {
            values.missing = self.measured.saturating_sub(values.by_round.len() as u64);
        }
        if 2 * self.flags.short() >= self.measured {
            // Counts of events have an interval for any number of transactions.
            let of_transactions = |(metric, values): &(&Metric, &mut Values)| {
                metric.measure.is_of_transactions() && values.events.is_empty()
            };
            metrics.iter_mut().filter(of_transactions).for_each(|(_, values)| values.short = true);
        }
        metrics
    }

    /// Values of a metric; for a quantile of too few observations the longest of each trial.
    fn of_quantile(&self, metric: &Metric, values: &[(u32, f64)]) -> Values {
        let (Measure::Latency(_, of), Some(observed)) = (metric.measure, self.observed.get(metric)) else {
            return Values::new(values.to_vec());
        };
        let counts: Vec<f64> = observed.iter().map(|(count, _)| *count as f64).collect();
        let typical = quantile(&counts, 0.5).ok().map(|count| count as u64);
        let max_of = typical.filter(|count| least_observations(of).is_some_and(|least| *count < least));
        if max_of.is_none() {
            return Values::new(values.to_vec());
        }
        let longest = values.iter().zip(observed).map(|((round, _), (_, longest))| (*round, *longest));
        Values { max_of, ..Values::new(longest.collect()) }
    }

    fn analyse(&self, variant: VariantAnalysis) -> VariantAnalysis {
        let level = self.level.flatten();
        let mut failures: Vec<FailureCount> = self.failures.values().cloned().collect();
        failures.sort_by_key(|f| std::cmp::Reverse(f.rounds.len()));
        let mut notes = self.notes();
        notes.extend(variant.ceiling.filter(|_| self.measured > 0).map(ceiling));
        VariantAnalysis {
            measured: self.measured,
            failures,
            metrics: self.metrics(),
            durability: level.map(|level| level.durability),
            caveat: level.and_then(|level| level.caveat),
            settings: self.settings.clone(),
            content: self.content.clone(),
            errors: self.errors.clone(),
            locks: locks::uses(&self.locks),
            notes,
            problems: self.problems(),
            ..variant
        }
    }
}

/// Note on variants of a server: a server is another process and may run on another machine.
const ON_SERVER: &str = "CPU and memory are the runner's alone; what the server took beside it is not measured";

/// Note on the limit that the scenario's own pauses set for every database.
fn ceiling(per_second: f64) -> String {
    let rate = number::value(per_second, Unit::PerSecond);
    format!("the scenario's own pauses leave room for {rate} at the most, whatever the database")
}
