//! Units of a table: a variant in one metric, of all its transactions together or of one.

use litelab_model::Metric;
use litelab_model::metric::{Measure, Timing};
use litelab_record::RunInfo;

use super::PivotOptions;
use super::select::{self, TRANSACTION};
use crate::analysis::{Analysis, VariantAnalysis};

/// Name of all transactions of a variant together.
pub(super) const ALL: &str = "all";

/// A variant in one metric, before it is arranged.
pub(super) struct Unit<'a> {
    /// The variant.
    pub variant: &'a VariantAnalysis,
    /// Metric, with its transaction if it is that of one.
    pub metric: Metric,
    /// Name of the transaction; [`ALL`] for several.
    pub transaction: String,
}

impl Unit<'_> {
    /// Value of the unit in a dimension.
    pub(super) fn value(&self, analysis: &Analysis, name: &str) -> Option<String> {
        if name == TRANSACTION { Some(self.transaction.clone()) } else { select::value(self.variant, analysis, name) }
    }
}

/// Whether a metric has a value for each transaction; metrics of the whole process do not.
pub(super) fn is_of_each(metric: &Metric) -> bool {
    let of_each = match metric.measure {
        Measure::Latency(timing, _) => !matches!(timing, Timing::Probe | Timing::PoolWait | Timing::Timer),
        Measure::Throughput
        | Measure::RowsPerSecond
        | Measure::RowTime
        | Measure::FailedShare
        | Measure::ErrorShare
        | Measure::Served => true,
        _ => false,
    };
    of_each && metric.transaction.is_none()
}

/// The metric of one transaction.
pub(super) fn of(metric: &Metric, transaction: &str) -> Metric {
    Metric { measure: metric.measure, transaction: Some(transaction.to_owned()) }
}

/// Units of the variants for a table.
pub(super) fn units<'a>(
    variants: &[&'a VariantAnalysis],
    metric: &Metric,
    columns: &[String],
    info: &RunInfo,
    options: &PivotOptions,
) -> Vec<Unit<'a>> {
    let filter = options.filters.iter().find(|f| f.name == TRANSACTION);
    let of_each = options.rows.is_empty()
        || options.rows.iter().chain(columns).any(|name| name == TRANSACTION)
        || filter.is_some();
    let mut units = Vec::new();
    for variant in variants {
        let names = info.plan.variants.get(variant.index).map_or_else(Vec::new, select::transactions_of);
        let unit = |metric: Metric, of: &str| Unit { variant, metric, transaction: of.to_owned() };
        match (&metric.transaction, names.as_slice()) {
            (Some(own), _) => units.push(unit(metric.clone(), own)),
            // The value of all transactions is that of the only one.
            (None, [only]) => units.push(unit(metric.clone(), only)),
            (None, several) => {
                units.push(unit(metric.clone(), ALL));
                if of_each && is_of_each(metric) {
                    units.extend(several.iter().map(|name| unit(of(metric, name), name)));
                }
            }
        }
    }
    units.retain(|unit| filter.is_none_or(|f| f.values.contains(&unit.transaction)));
    units
}
