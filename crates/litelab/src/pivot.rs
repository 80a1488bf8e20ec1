//! Options that select tables of a run, shared by `show` and `export`.

use anyhow::Result;
use litelab_model::Metric;
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
    /// commas
    #[arg(long = "filter", value_name = "NAME=VALUE")]
    filters: Vec<String>,
    /// Metrics, one table each, over all transactions or one (p99:claim); default: those of the study
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<String>,
}

impl Tables {
    /// Whether any of these options is set.
    pub fn any(&self) -> bool {
        !(self.columns.is_empty() && self.rows.is_empty() && self.filters.is_empty() && self.metric.is_empty())
    }

    /// Computes the tables.
    pub fn pivot(&self, run: &RunFile, info: &RunInfo) -> Result<(Pivot, Analysis)> {
        let metric = |m: &String| m.parse::<Metric>().map_err(|e| BadInput(format!("--metric: {}", with_names(&e))));
        let filter = |f: &String| f.parse::<Filter>().map_err(|e| BadInput(format!("--filter: {e}")));
        let options = PivotOptions {
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            filters: self.filters.iter().map(filter).collect::<Result<_, _>>()?,
            metrics: self.metric.iter().map(metric).collect::<Result<_, _>>()?,
        };
        let analysis = analyse_with(run, info, &pivot::needed(&info.plan, &options))?;
        let pivot = pivot::pivot(&analysis, info, &options).map_err(|e| BadInput(e.to_string()))?;
        Ok((pivot, analysis))
    }
}

/// Appends all metric names, because a message that suggests the nearest name omits them.
fn with_names(message: &str) -> String {
    if message.contains("(known: ") {
        return message.to_owned();
    }
    format!("{message} (known: {})", Metric::names().collect::<Vec<_>>().join(", "))
}
