//! The pictures of a scenario, from its analysis.
//!
//! | file | draws |
//! |---|---|
//! | `ratios` | a forest plot for each metric in which arms are judged |
//! | `latency` | percentile curves for each latency among the metrics |
//! | `grid` | a heat-map, where there are two dimensions |
//! | `workers` | throughput and P99 against workers, where scalability is asked for |
//! | `load` | response time against the rate, where one was sought |
//! | `blocks` | the first metric by block |
//! | `course` | single trials over their time |
//! | `flame` | CPU time by call stack, where it was sampled |

mod blocks;
mod course;
mod flame;
mod grid;
mod latency;
mod load;
mod ratios;
mod workers;

use litelab_record::RunInfo;

use super::evidence::Evidence;
use crate::analysis::{Analysis, ArmAnalysis, ScenarioAnalysis};
use crate::chart::Chart;

pub(super) use course::live;

/// A picture and what the page says of it.
pub(super) struct Figure {
    /// What it shows.
    pub(super) chart: Box<dyn Chart>,
    /// How it came about: what is pooled, what is left out.
    pub(super) note: String,
    /// Those in it, as far as they are told apart.
    pub(super) arms: Vec<usize>,
    /// For a picture of single trials over their time, which quantity it is of.
    pub(super) course: Option<usize>,
}

/// What a scenario's pictures are made of.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) scenario: &'a ScenarioAnalysis,
    pub(super) analysis: &'a Analysis,
    pub(super) info: &'a RunInfo,
    pub(super) evidence: &'a Evidence,
}

impl<'a> Source<'a> {
    fn arm(&self, index: usize) -> Option<&'a ArmAnalysis> {
        self.analysis.arms.get(index)
    }

    /// An arm by what tells it from the others.
    fn name(&self, arm: &ArmAnalysis) -> String {
        super::name(self.scenario, arm, self.analysis)
    }

    /// Its arms that were measured, in order.
    fn measured(&self) -> impl Iterator<Item = &'a ArmAnalysis> {
        let analysis = self.analysis;
        self.scenario.arms.iter().filter_map(|i| analysis.arms.get(*i)).filter(|arm| arm.measured > 0)
    }
}

/// All pictures of a scenario, in the order in which they are read.
pub(super) fn all(source: Source<'_>) -> Vec<Figure> {
    let mut figures = ratios::figures(source);
    figures.extend(latency::figures(source));
    figures.extend(grid::figure(source));
    figures.extend(workers::figure(source));
    figures.extend(load::figures(source));
    figures.extend(blocks::figure(source));
    figures.extend(course::figures(source));
    figures.extend(flame::figures(source));
    figures
}

/// What was left out of a picture: `the 6 of 40 arms that …`; empty where nothing was.
fn left_out(shown: usize, of: usize, which: &str) -> String {
    if shown < of { format!("{shown} of {of} arms: {which}. ") } else { String::new() }
}
