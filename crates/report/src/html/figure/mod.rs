//! Charts of a scenario, from its analysis.
//!
//! | file | draws |
//! |---|---|
//! | `ratios` | a forest plot for each judged metric |
//! | `latency` | percentile curves for each latency among the metrics |
//! | `grid` | a heat map, with two dimensions |
//! | `workers` | throughput and P99 over workers, if the scenario requests scalability |
//! | `load` | response time over the rate of arrivals, for searches |
//! | `rounds` | the first metric by round |
//! | `course` | single trials over time |
//! | `flame` | CPU time by call stack, if it was sampled |

mod course;
mod flame;
mod grid;
mod latency;
mod load;
mod ratios;
mod rounds;
mod workers;

use litelab_record::RunInfo;

use super::evidence::Evidence;
use crate::analysis::{Analysis, ScenarioAnalysis, VariantAnalysis};
use crate::chart::Chart;

pub(super) use course::live;

/// A chart with its note.
pub(super) struct Figure {
    /// The chart.
    pub(super) chart: Box<dyn Chart>,
    /// Note on the data: what is pooled, what is left out.
    pub(super) note: String,
    /// Variants of the chart that are distinguished in it.
    pub(super) variants: Vec<usize>,
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
}

impl<'a> Source<'a> {
    fn variant(&self, index: usize) -> Option<&'a VariantAnalysis> {
        self.analysis.variants.get(index)
    }

    /// Name of a variant that distinguishes it from the others.
    fn name(&self, variant: &VariantAnalysis) -> String {
        super::name(self.scenario, variant, self.analysis)
    }

    /// Measured variants of the scenario, in order.
    fn measured(&self) -> impl Iterator<Item = &'a VariantAnalysis> {
        let analysis = self.analysis;
        self.scenario.variants.iter().filter_map(|i| analysis.variants.get(*i)).filter(|variant| variant.measured > 0)
    }
}

/// All charts of a scenario, in reading order.
pub(super) fn all(source: Source<'_>) -> Vec<Figure> {
    let mut figures = ratios::figures(source);
    figures.extend(latency::figures(source));
    figures.extend(grid::figure(source));
    figures.extend(workers::figure(source));
    figures.extend(load::figures(source));
    figures.extend(rounds::figure(source));
    figures.extend(course::figures(source));
    figures.extend(flame::figures(source));
    figures
}

/// Note on variants that are left out of a chart: `6 of 40 variants: …. `; empty if there are none.
fn left_out(shown: usize, of: usize, which: &str) -> String {
    if shown < of { format!("{shown} of {of} variants: {which}. ") } else { String::new() }
}
