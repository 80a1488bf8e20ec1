//! Charts of a scenario, from its analysis.
//!
//! | file | draws |
//! |---|---|
//! | `lines` | the first metric and the longest wait over a numeric dimension, with the fitted law of scalability |
//! | `latency` | percentile curves for each latency among the metrics |
//! | `load` | response time over the rate of arrivals, for searches |
//! | `course` | single trials over time |
//! | `flame` | CPU time by call stack, if it was sampled |

mod course;
mod flame;
mod latency;
mod lines;
mod load;

use litelab_record::RunInfo;

use super::evidence::Evidence;
use crate::analysis::{Analysis, ScenarioAnalysis, VariantAnalysis};
use crate::chart::Chart;

pub(super) use course::{chart as over_time, live};
pub(super) use lines::figures as lines;

/// A chart with its note.
pub(super) struct Figure {
    /// The chart.
    pub(super) chart: Box<dyn Chart>,
    /// Note on the data: what is pooled, what is left out.
    pub(super) note: String,
    /// Index of the quantity, for a chart of single trials over time.
    pub(super) course: Option<usize>,
}

/// Source of a scenario's charts.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) scenario: &'a ScenarioAnalysis,
    pub(super) analysis: &'a Analysis,
    pub(super) info: &'a RunInfo,
    pub(super) evidence: &'a Evidence,
    /// The same scenario of the run beside this one, for a common axis.
    pub(super) beside: Option<(&'a ScenarioAnalysis, &'a Analysis)>,
    /// Prefix of the ids of this run's part of the page.
    pub(super) prefix: &'static str,
}

impl<'a> Source<'a> {
    /// Measured variants of the scenario, in order.
    pub(super) fn measured(&self) -> impl Iterator<Item = &'a VariantAnalysis> {
        self.scenario.measured(self.analysis)
    }

    /// Measured variants of the scenario, then those of the run beside it: all that share an axis.
    pub(super) fn on_axis(&self) -> impl Iterator<Item = &'a VariantAnalysis> {
        self.measured().chain(self.beside.into_iter().flat_map(|(scenario, analysis)| scenario.measured(analysis)))
    }

    /// At most `most` measured variants: the best of each durability level, the baseline, and the next best.
    fn chosen(&self, most: usize) -> Vec<&'a VariantAnalysis> {
        let best = self.scenario.answer.levels.iter().filter_map(|level| self.analysis.variants.get(level.best));
        let mut chosen: Vec<&VariantAnalysis> = Vec::new();
        for variant in best.chain(self.scenario.leading(self.analysis, most)) {
            if !chosen.iter().any(|other| other.index == variant.index) {
                chosen.push(variant);
            }
        }
        chosen.truncate(most);
        chosen
    }

    /// CSS classes by which the page's script finds all marks of a variant. Variants of two runs with the same label
    /// have the same classes.
    pub(super) fn class(&self, variant: &VariantAnalysis) -> String {
        let same = self
            .beside
            .filter(|_| self.prefix == super::SECOND)
            .and_then(|(scenario, analysis)| scenario.measured(analysis).find(|other| other.label == variant.label));
        match (same, self.prefix) {
            (Some(same), _) => format!("v v{}", same.index),
            (None, prefix) => format!("v v{prefix}{}", variant.index),
        }
    }

    /// Id of the row with the settings of a variant.
    pub(super) fn anchor(&self, variant: &VariantAnalysis) -> String {
        format!("{}variant-{}", self.prefix, variant.index)
    }
}

/// Charts of a scenario after its absolute chart, in reading order.
pub(super) fn further(source: Source<'_>) -> Vec<Figure> {
    let mut figures = latency::figures(source);
    figures.extend(load::figures(source));
    figures.extend(course::figures(source));
    figures.extend(flame::figures(source));
    figures
}

/// Note on variants that are left out of a chart: `6 of 40 variants: …. `; empty if there are none.
fn left_out(shown: usize, of: usize, which: &str) -> String {
    if shown < of { format!("{shown} of {of} variants: {which}. ") } else { String::new() }
}
