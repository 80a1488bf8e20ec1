//! A run's arms as tables whose rows and columns are the dimensions that the reader names.
//!
//! | file | is |
//! |---|---|
//! | `select` | which arms, by name and value, and what is said to a name that is not known |
//! | `group` | which scenarios share a table |
//! | `unit` | an arm in one metric, of all its transactions or of one |
//! | `arrange` | units laid out in rows and columns |
//! | `change` | every column against the first |
//! | `settings` | what was read back and is not the same everywhere |
//! | `mean` | the geometric mean of a column's ratios, where it hides nothing |
//!
//! **What is compared.** Every column with the first one, row by row and block by block, as [`crate::analysis`] does.
//! **Families.** The comparisons of one scenario in one metric within one table are one family, with those in the other
//! metrics that decide the scenario where it is one of them: each interval is at 1 − α/m, so that all m hold together at
//! 95 %.

mod arrange;
mod change;
mod group;
mod mean;
mod select;
mod settings;
mod unit;

use litelab_model::{Metric, Plan};
use litelab_record::RunInfo;
use litelab_stats::Estimate;

pub use select::Filter;
pub use settings::Settings;

use crate::analysis::{Analysis, MetricComparison};
use crate::error::ReportError;

/// What is asked for. Empty lists leave the choice to the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PivotOptions {
    /// Dimensions that tell rows apart; `scenario` and `transaction` are two. Unless given: all that vary and are no
    /// column.
    pub rows: Vec<String>,
    /// Dimensions that tell columns apart; each scenario's first one unless given.
    pub columns: Vec<String>,
    /// Arms that are shown: those that pass every filter.
    pub filters: Vec<Filter>,
    /// What is shown, a table for each; what each scenario's study shows unless given.
    pub metrics: Vec<Metric>,
}

/// Tables of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Pivot {
    /// By column dimensions, then by metric.
    pub grids: Vec<Grid>,
    /// What is in no table, and why, a line each.
    pub left_out: Vec<String>,
    /// Relative difference below which two arms count as equivalent.
    pub tolerance: f64,
}

/// A table of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// What its cells show; of one transaction only where its rows do not name them.
    pub metric: Metric,
    /// Indices of the scenarios that its arms are of.
    pub scenarios: Vec<usize>,
    /// Names of the row dimensions.
    pub rows: Vec<String>,
    /// Names of the column dimensions.
    pub columns: Vec<String>,
    /// Values of the column dimensions, for each column.
    pub heads: Vec<Vec<String>>,
    /// In the order of the plan.
    pub lines: Vec<Line>,
    /// Least and greatest level of the ratios' intervals; with each, all of one scenario hold together at 95 %. None
    /// where nothing is compared.
    pub confidence: Option<(f64, f64)>,
    /// The most comparisons of one scenario, those in the other metrics that decide it included.
    pub family: usize,
    /// Of each column but the first, over all rows; or why there is no mean that could be shown. Empty where there are
    /// no rows to take one of.
    pub means: Vec<Result<MetricComparison, String>>,
    /// What was read back.
    pub settings: Settings,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Values of the row dimensions.
    pub keys: Vec<String>,
    /// One for each column; none where the run has no such arm.
    pub cells: Vec<Option<GridCell>>,
}

/// An arm in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// Index of the arm.
    pub arm: usize,
    /// The metric, its transaction named where it is of one.
    pub metric: Metric,
    /// Median over blocks and its 95 % interval.
    pub estimate: Option<Estimate>,
    /// Against the first column of its row; none in the first one, and where that has no arm.
    pub change: Option<MetricComparison>,
}

/// Metrics that a table of these options shows and that are computed only when asked for
/// ([`crate::analysis::analyse_with`]).
#[must_use]
pub fn needed(plan: &Plan, options: &PivotOptions) -> Vec<Metric> {
    let shown: Vec<&Metric> = match options.metrics.is_empty() {
        true => plan.scenarios.iter().flat_map(|s| &s.metrics).collect(),
        false => options.metrics.iter().collect(),
    };
    let mut needed: Vec<Metric> = shown.iter().map(|metric| (*metric).clone()).collect();
    for name in select::transactions(plan) {
        needed.extend(shown.iter().filter(|m| unit::is_of_each(m)).map(|m| unit::of(m, name)));
    }
    needed.sort();
    needed.dedup();
    needed
}

/// The tables.
///
/// # Errors
/// [`ReportError::Pivot`] for a name or value that the run does not have, for filters that no arm passes, and for rows and
/// columns that would put several arms into one cell: medians of different arms are never mixed.
pub fn pivot(analysis: &Analysis, info: &RunInfo, options: &PivotOptions) -> Result<Pivot, ReportError> {
    select::check(analysis, info, options).map_err(ReportError::Pivot)?;
    group::pivot(analysis, info, options).map_err(ReportError::Pivot)
}
