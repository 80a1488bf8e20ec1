//! Selection of dimensions, values and transactions by name.

use std::str::FromStr;

use indexmap::IndexSet;
use litelab_model::{Plan, Variant, nearest};
use litelab_record::RunInfo;

use super::PivotOptions;
use crate::analysis::{Analysis, VariantAnalysis};
use crate::compare::split;

/// Dimensions that every variant has, even if they do not vary.
pub(super) const SCENARIO: &str = "scenario";
pub(super) const TRANSACTION: &str = "transaction";
const DRIVER: &str = "driver";
const PROFILE: &str = "profile";

/// Filter `name=value`: a dimension and the values that pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Name of the dimension.
    pub name: String,
    /// Values, any of which passes.
    pub values: Vec<String>,
}

impl FromStr for Filter {
    type Err = String;
    /// Parses `profile=wal-full` or `sharing=one-connection,pool(2)`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: write NAME=VALUE, or NAME=VALUE,VALUE for any of several");
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = split(values, |c| c == ',').map(str::to_owned).collect();
        if name.trim().is_empty() || values.is_empty() {
            return Err(wrong());
        }
        Ok(Self { name: name.trim().to_owned(), values })
    }
}

/// Transactions that a variant's roles run, in the order of the workload.
pub(super) fn transactions_of(variant: &Variant) -> Vec<&str> {
    let runs =
        |index: usize| variant.trial.roles.iter().flat_map(|r| &r.steps).any(|s| s.transaction as usize == index);
    let named = variant.trial.transactions.iter().enumerate();
    named.filter(|(index, _)| runs(*index)).map(|(_, transaction)| transaction.name.as_str()).collect()
}

/// Transactions of all variants, each once.
pub(super) fn transactions(plan: &Plan) -> Vec<&str> {
    plan.variants.iter().flat_map(transactions_of).collect::<IndexSet<_>>().into_iter().collect()
}

/// Value of a variant in a dimension other than `transaction`; `None` if it has none.
pub(super) fn value(variant: &VariantAnalysis, analysis: &Analysis, name: &str) -> Option<String> {
    let varied = || variant.dimensions.get(name).map(ToString::to_string);
    match name {
        SCENARIO => analysis.scenarios.get(variant.scenario).map(|s| s.name.clone()),
        DRIVER => varied().or_else(|| Some(variant.driver.clone())),
        PROFILE => varied().or_else(|| Some(variant.profile.clone())),
        _ => varied(),
    }
}

/// Variants to show: those that ran, are not twins and pass every filter. The filter of transactions is not applied.
pub(super) fn variants<'a>(analysis: &'a Analysis, filters: &[Filter]) -> Vec<&'a VariantAnalysis> {
    let passes = |variant: &VariantAnalysis, filter: &Filter| {
        filter.name == TRANSACTION || value(variant, analysis, &filter.name).is_some_and(|v| filter.values.contains(&v))
    };
    let shown = analysis.variants.iter().filter(|variant| variant.skipped.is_none() && !variant.is_twin());
    shown.filter(|variant| filters.iter().all(|filter| passes(variant, filter))).collect()
}

/// Names of all dimensions of a run.
fn dimensions(analysis: &Analysis) -> Vec<&str> {
    let varied = analysis.scenarios.iter().flat_map(|s| s.dimensions.iter().map(String::as_str));
    let names: IndexSet<&str> = [SCENARIO, TRANSACTION, DRIVER, PROFILE].into_iter().chain(varied).collect();
    names.into_iter().collect()
}

/// Checks that the run has every requested name and value.
pub(super) fn check(analysis: &Analysis, info: &RunInfo, options: &PivotOptions) -> Result<(), String> {
    let known = dimensions(analysis);
    let all = |option: &'static str, names: &[String]| -> Result<(), String> {
        match names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(unknown(&format!("{option}: unknown dimension"), name, &known)),
            None => Ok(()),
        }
    };
    all("--rows", &options.rows)?;
    all("--columns", &options.columns)?;
    if let Some(both) = options.rows.iter().find(|name| options.columns.contains(name)) {
        return Err(format!("`{both}` is a row and a column: leave it out of one of --rows and --columns"));
    }
    for filter in &options.filters {
        all("--filter", std::slice::from_ref(&filter.name))?;
        let values: Vec<String> = match filter.name.as_str() {
            TRANSACTION => transactions(&info.plan).into_iter().map(str::to_owned).collect(),
            name => analysis.variants.iter().filter_map(|variant| value(variant, analysis, name)).collect(),
        };
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        if let Some(none) = filter.values.iter().find(|value| !values.contains(&value.as_str())) {
            return Err(unknown(&format!("--filter: unknown {}", filter.name), none, &values));
        }
    }
    let names = transactions(&info.plan);
    for metric in &options.metrics {
        if let Some(name) = metric.of_transaction().filter(|name| !names.contains(name)) {
            return Err(unknown(&format!("--metric {metric}: unknown transaction"), name, &names));
        }
    }
    Ok(())
}

/// Message with the nearest known name and all known names.
fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    let meant = nearest(given, known.iter().copied()).map(|best| format!(": did you mean `{best}`?"));
    let each: IndexSet<&str> = known.iter().copied().collect();
    format!("{what} `{given}`{} (known: {})", meant.unwrap_or_default(), Vec::from_iter(each).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_name_and_values() {
        let filter: Filter = "sharing=one-connection, pool(2, 3)".parse().expect("valid");
        assert_eq!(
            filter,
            Filter { name: "sharing".into(), values: vec!["one-connection".into(), "pool(2, 3)".into()] }
        );
        for wrong in ["sharing", "=x", "sharing=", "sharing= , "] {
            assert!(wrong.parse::<Filter>().is_err_and(|e| e.contains("NAME=VALUE")), "{wrong}");
        }
    }
}
