//! Tables of a run's variants, whose rows and columns are dimensions that the user names.
//!
//! | file | content |
//! |---|---|
//! | `select` | selection of variants by name and value, and messages for unknown names |
//! | `group` | assignment of scenarios to tables |
//! | `unit` | a variant in one metric, of all its transactions or of one |
//! | `arrange` | arrangement of units in rows and columns |
//! | `change` | comparison of every column with the first |
//! | `settings` | settings that were read back and differ |
//! | `mean` | geometric mean of a column's ratios, if it hides nothing |
//!
//! **Comparisons.** Every column is compared with the first one, row by row and round by round, as in
//! [`crate::analysis`].
//!
//! **Families.** The comparisons of one scenario in one metric within one table are one family, together with those in
//! the other judged metrics if the metric is judged: each interval has the level 1 − α/m, so that all m hold together
//! at 95 %.

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

/// Rows, columns, filters and metrics of the tables. An empty list selects the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PivotOptions {
    /// Dimensions that identify rows; `scenario` and `transaction` are two of them. Default: all dimensions that vary
    /// and are not columns.
    pub rows: Vec<String>,
    /// Dimensions that identify columns; default: the first one of each scenario.
    pub columns: Vec<String>,
    /// Filters; a variant is shown if it passes all of them.
    pub filters: Vec<Filter>,
    /// Metrics to show, one table for each; default: those of each scenario.
    pub metrics: Vec<Metric>,
}

/// Tables of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Pivot {
    /// Tables by column dimensions, then by metric.
    pub grids: Vec<Grid>,
    /// Lines that name the scenarios and metrics that are in no table, with the reason.
    pub left_out: Vec<String>,
    /// Relative difference below which two variants count as equivalent.
    pub tolerance: f64,
}

/// A table of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Metric of the cells; that of one transaction only if the rows do not name transactions.
    pub metric: Metric,
    /// Indices of the variants' scenarios.
    pub scenarios: Vec<usize>,
    /// Names of the row dimensions.
    pub rows: Vec<String>,
    /// Names of the column dimensions.
    pub columns: Vec<String>,
    /// Values of the column dimensions, for each column.
    pub heads: Vec<Vec<String>>,
    /// Rows in the order of the plan.
    pub lines: Vec<GridRow>,
    /// Least and greatest confidence level of the ratios' intervals, fractions. At these levels all intervals of one
    /// scenario hold together at 95 %. `None` without comparisons.
    pub confidence: Option<(f64, f64)>,
    /// Largest number of comparisons of one scenario, including those in the other judged metrics.
    pub family: usize,
    /// Means over all rows for each column but the first, or the reason for which there is none. Empty with fewer than
    /// two rows or columns.
    pub means: Vec<Result<MetricComparison, String>>,
    /// Settings that were read back.
    pub settings: Settings,
}

/// Row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// Values of the row dimensions.
    pub keys: Vec<String>,
    /// One cell for each column; `None` if the run has no such variant.
    pub cells: Vec<Option<GridCell>>,
}

/// A variant in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// Index of the variant.
    pub variant: usize,
    /// Metric, with its transaction if it is that of one.
    pub metric: Metric,
    /// Median over rounds with its 95 % interval.
    pub estimate: Option<Estimate>,
    /// Comparison with the first column of the row; `None` in the first column, and if that has no variant.
    pub change: Option<MetricComparison>,
}

/// Metrics that a table with these options shows and that are computed only on request
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

/// Builds the tables.
///
/// # Errors
/// [`ReportError::Pivot`] for a name or value that the run does not have, for filters that no variant passes, and for
/// rows and columns that would put several variants into one cell: medians of different variants are never combined.
pub fn pivot(analysis: &Analysis, info: &RunInfo, options: &PivotOptions) -> Result<Pivot, ReportError> {
    select::check(analysis, info, options).map_err(ReportError::Pivot)?;
    group::pivot(analysis, info, options).map_err(ReportError::Pivot)
}
