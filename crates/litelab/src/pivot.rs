//! Options that select tables of a run, shared by `show` and `export`.

use std::collections::BTreeSet;

use anyhow::Result;
use litelab_model::{Metric, Plan};
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::{Analysis, analyse_with};
use litelab_report::pivot::{self, Filter, Pivot, PivotOptions};

use crate::exit::BadInput;

/// Any of these options prints tables instead of the whole report.
#[derive(clap::Args)]
#[command(next_help_heading = "Tables by dimension")]
pub struct Tables {
    /// Dimensions shown as columns, compared with the first column: profile, driver, sharing, transaction, …
    #[arg(long, value_name = "DIMENSION", value_delimiter = ',')]
    columns: Vec<String>,
    /// Dimensions shown as rows; default: all that vary
    #[arg(long, value_name = "DIMENSION", value_delimiter = ',')]
    rows: Vec<String>,
    /// Only variants with this value: scenario, transaction, driver, profile or any dimension; separate alternatives by
    /// commas. The value alone suffices where only one dimension has it
    #[arg(long = "filter", value_name = "NAME=VALUE")]
    filters: Vec<String>,
    /// Metrics, one table each, over all transactions or one (p99:claim); default: those of the study
    #[arg(long, value_name = "METRIC", value_delimiter = ',', value_parser = metric)]
    metric: Vec<Metric>,
}

/// Parses a name of `--metric`.
///
/// # Errors
/// If the name is unknown, or of a metric that no trial has.
pub fn metric(name: &str) -> Result<Metric, String> {
    let metric: Metric = name.parse()?;
    metric.check_of_trial()?;
    Ok(metric)
}

impl Tables {
    /// Whether any of these options is set.
    pub fn any(&self) -> bool {
        !(self.columns.is_empty() && self.rows.is_empty() && self.filters.is_empty() && self.metric.is_empty())
    }

    /// Computes the tables.
    ///
    /// # Errors
    /// If a name or value is not in the run, or no scenario varies the columns.
    pub fn pivot(&self, run: &RunFile, info: &RunInfo) -> Result<(Pivot, Analysis)> {
        let options = PivotOptions {
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            filters: self.filters.iter().map(|text| filter(text, &info.plan)).collect::<Result<_, _>>()?,
            metrics: self.metric.clone(),
        };
        let analysis = analyse_with(run, info, &pivot::needed(&info.plan, &options))?;
        let pivot = pivot::pivot(&analysis, info, &options).map_err(|e| BadInput(e.to_string()))?;
        if pivot.grids.is_empty() {
            let varied: BTreeSet<&str> =
                info.plan.scenarios.iter().flat_map(|s| &s.dimensions).map(String::as_str).collect();
            let varied = Vec::from_iter(varied).join(", ");
            return Err(BadInput(format!("no table: {} (what varies: {varied})", pivot.left_out.join("; "))).into());
        }
        Ok((pivot, analysis))
    }
}

/// Parses `NAME=VALUE`, or a value that only one dimension has.
fn filter(text: &str, plan: &Plan) -> Result<Filter, BadInput> {
    let scenario = plan.scenarios.iter().any(|scenario| scenario.name == text).then_some("scenario");
    let values = plan.variants.iter().flat_map(|variant| &variant.dimensions);
    let having = values.filter(|(_, value)| value.to_string() == text).map(|(name, _)| name.as_str());
    let names: BTreeSet<&str> = having.chain(scenario).collect();
    match Vec::from_iter(names).as_slice() {
        [name] => Ok(Filter { name: (*name).to_owned(), values: vec![text.to_owned()] }),
        _ => text.parse().map_err(|e| BadInput(format!("--filter: {e}"))),
    }
}
