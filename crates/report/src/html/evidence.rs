//! Data of a page in addition to the analysis: distributions, time series of trials, and the rates that searches tried.

use std::collections::{BTreeMap, BTreeSet};

use litelab_model::Plan;
use litelab_model::metric::{Measure, Metric, Quantile, Timing};
use litelab_protocol::histogram::Histogram;
use litelab_record::measure::Meter;
use litelab_record::outcome::{Outcome, Probe, TrialRecord};
use litelab_record::{RunFile, RunInfo};

use super::timing::{self, Course};
use crate::analysis::{Analysis, VariantAnalysis, analyse_and};
use crate::error::ReportError;

/// Latency of a scenario's metrics: its timing, and its transaction if it is that of one transaction.
pub(super) type Latency = (Timing, Option<String>);

/// Data that a page keeps of a run file's trials; see [`read`].
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Data of each variant.
    variants: Vec<OfVariant>,
    /// Time series of one trial of each leading variant of a scenario, by variant.
    pub(super) courses: BTreeMap<usize, Course>,
}

#[derive(Clone, Debug, Default)]
struct OfVariant {
    /// Latencies of all trials together.
    latencies: BTreeMap<Latency, Histogram>,
    /// Every rate that a search tried, over all rounds.
    probes: Vec<Probe>,
    /// Number in the file of the trial of each round.
    trials: BTreeMap<u32, i64>,
}

/// Analyses a run file and keeps the data of its page; each trial is read once, one at a time.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub fn read(file: &RunFile, info: &RunInfo) -> Result<(Analysis, Evidence), ReportError> {
    let plan = &info.plan;
    let wanted: Vec<BTreeSet<Latency>> = plan.scenarios.iter().map(|s| latencies(&s.metrics)).collect();
    let mut evidence = Evidence { variants: vec![OfVariant::default(); plan.variants.len()], ..Evidence::default() };
    let analysis = analyse_and(file, info, &[], &mut |trial| evidence.add(plan, &wanted, trial.id, &trial.record))?;
    for scenario in &analysis.scenarios {
        for variant in scenario.leading(&analysis, timing::MOST_VARIANTS) {
            let Some((round, id)) = scenario.metrics.first().and_then(|metric| evidence.typical(variant, metric))
            else {
                continue;
            };
            if let Some(course) = Course::new(round, &file.series(id)?) {
                evidence.courses.insert(variant.index, course);
            }
        }
    }
    Ok((analysis, evidence))
}

/// Latencies whose distribution a page shows: those with a quantile among a scenario's metrics; default: service time.
pub(super) fn latencies(metrics: &[Metric]) -> BTreeSet<Latency> {
    let named = metrics.iter().filter_map(|metric| match metric.measure {
        Measure::Latency(timing, quantile) if quantile != Quantile::Mean => Some((timing, metric.transaction.clone())),
        _ => None,
    });
    let mut all: BTreeSet<Latency> = named.collect();
    if all.is_empty() {
        all.insert((Timing::Service, None));
    }
    all
}

impl Evidence {
    fn add(&mut self, plan: &Plan, wanted: &[BTreeSet<Latency>], id: i64, record: &TrialRecord) {
        let Outcome::Measured(measurement) = &record.outcome else { return };
        let wanted = plan.variants.get(record.variant).and_then(|variant| wanted.get(variant.scenario));
        let (Some(wanted), Some(variant)) = (wanted, self.variants.get_mut(record.variant)) else { return };
        let mut meter = Meter::new(measurement);
        for (timing, transaction) in wanted {
            if let Some(histogram) = meter.histogram(*timing, transaction.as_deref()) {
                variant.latencies.entry((*timing, transaction.clone())).or_default().merge(histogram);
            }
        }
        variant.trials.insert(record.round, id);
        variant.probes.extend(measurement.search.iter().flat_map(|search| search.probes.iter().cloned()));
    }

    /// All latencies of a variant; `None` if nothing was measured.
    pub(super) fn latency(&self, variant: usize, latency: &Latency) -> Option<&Histogram> {
        self.variants.get(variant)?.latencies.get(latency)
    }

    /// Every rate that the searches of a variant tried.
    pub(super) fn probes(&self, variant: usize) -> &[Probe] {
        self.variants.get(variant).map_or(&[], |variant| &variant.probes)
    }

    /// Round and number of the trial with the median of a metric.
    fn typical(&self, variant: &VariantAnalysis, metric: &Metric) -> Option<(u32, i64)> {
        let mut values: Vec<(u32, f64)> = variant.values(metric).to_vec();
        values.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let (round, _) = values.get(values.len().checked_sub(1)? / 2)?;
        Some((*round, *self.variants.get(variant.index)?.trials.get(round)?))
    }
}
