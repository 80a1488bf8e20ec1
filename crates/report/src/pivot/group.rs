//! Assignment of scenarios to tables.

use indexmap::{IndexMap, IndexSet};
use litelab_model::Metric;
use litelab_record::RunInfo;

use super::arrange::grid;
use super::select::{self, SCENARIO, TRANSACTION};
use super::unit::units;
use super::{Pivot, PivotOptions};
use crate::analysis::{Analysis, ScenarioAnalysis, VariantAnalysis};

/// Dimensions that identify columns and rows, and the indices of the scenarios that vary them.
type Groups = IndexMap<(Vec<String>, Vec<String>), Vec<usize>>;

/// Builds the tables, and one line for each reason for which a scenario or metric is in none.
pub(super) fn pivot(analysis: &Analysis, info: &RunInfo, options: &PivotOptions) -> Result<Pivot, String> {
    let variants = select::variants(analysis, &options.filters);
    let mut left_out = Vec::new();
    if variants.is_empty() {
        return Err("no variant of the run passes all filters: leave one out".into());
    }
    let mut grids = Vec::new();
    for ((columns, _), scenarios) in groups(analysis, &variants, options, &mut left_out) {
        for metric in metrics(&scenarios, analysis, options) {
            let shows = |variant: &&&VariantAnalysis| {
                let shown = analysis.scenarios.get(variant.scenario).is_some_and(|s| s.metrics.contains(metric));
                scenarios.contains(&variant.scenario) && (shown || !options.metrics.is_empty())
            };
            let variants: Vec<&VariantAnalysis> = variants.iter().filter(shows).copied().collect();
            let units = units(&variants, metric, &columns, info, options);
            if units.is_empty() {
                left_out.push(format!("{metric} is of no transaction that is asked for"));
            } else {
                grids.push(grid(&units, metric, &columns, analysis, info, options)?);
            }
        }
    }
    Ok(Pivot { grids, left_out, tolerance: analysis.tolerance })
}

fn groups(
    analysis: &Analysis,
    variants: &[&VariantAnalysis],
    options: &PivotOptions,
    left_out: &mut Vec<String>,
) -> Groups {
    let mut groups = Groups::new();
    for (index, scenario) in analysis.scenarios.iter().enumerate() {
        if !variants.iter().any(|variant| variant.scenario == index) {
            continue;
        }
        let columns = match options.columns.is_empty() {
            true => first_column(scenario, options),
            false => options.columns.clone(),
        };
        let lacks = columns.iter().find(|c| *c != SCENARIO && *c != TRANSACTION && !scenario.dimensions.contains(c));
        if let Some(lacks) = lacks {
            left_out.push(format!("{} does not vary {lacks}", scenario.name));
            continue;
        }
        let rows: Vec<String> = match options.rows.is_empty() {
            true => scenario.dimensions.iter().filter(|name| !columns.contains(name)).cloned().collect(),
            false => options.rows.clone(),
        };
        groups.entry((columns, rows)).or_default().push(index);
    }
    groups
}

/// Requested metrics, default: those of the scenarios; each once.
fn metrics<'a>(scenarios: &[usize], analysis: &'a Analysis, options: &'a PivotOptions) -> IndexSet<&'a Metric> {
    let of_study = scenarios.iter().filter_map(|index| analysis.scenarios.get(*index)).flat_map(|s| &s.metrics);
    if options.metrics.is_empty() { of_study.collect() } else { options.metrics.iter().collect() }
}

/// Default of the column dimensions: the first dimension of a scenario that is not a row.
fn first_column(scenario: &ScenarioAnalysis, options: &PivotOptions) -> Vec<String> {
    scenario.dimensions.iter().find(|name| !options.rows.contains(name)).cloned().into_iter().collect()
}
