//! Selection of a variant by text such as `scenario/profile=wal-full sharing=one-connection`.

use litelab_model::{Plan, Variant};

use crate::error::ReportError;

/// The only variant that matches a selector `scenario/dimension=value …`. The scenario, dimensions and their names may be
/// left out as long as one variant matches. Values are separated by spaces or commas. The name that a report prints is
/// always a selector.
///
/// # Errors
/// If no variant or several variants match; the message lists variants.
pub fn select_variant(plan: &Plan, selector: &str) -> Result<usize, ReportError> {
    let exact = (0..plan.variants.len()).find(|index| plan.variant_name(*index) == selector.trim());
    if let Some(index) = exact {
        return Ok(index);
    }
    let (scenario, rest) = match selector.split_once('/').filter(|(name, _)| !name.contains('=')) {
        Some((scenario, rest)) => (Some(scenario.trim()), rest),
        None => (None, selector),
    };
    // A value alone is of any dimension. `only` is the name of a scenario's only variant.
    let wanted: Vec<(Option<&str>, &str)> = split(rest, |c| c == ',' || c == ' ')
        .filter(|part| *part != "only")
        .map(|part| part.split_once('=').map_or((None, part), |(dimension, value)| (Some(dimension), value)))
        .collect();
    let selects = |variant: &Variant| {
        let name = plan.scenarios.get(variant.scenario).map(|s| s.name.as_str());
        let in_scenario = scenario.is_none_or(|wanted| name == Some(wanted));
        let has = |(dimension, value): &(Option<&str>, &str)| {
            let mut values = variant.dimensions.iter().filter(|(name, _)| dimension.is_none_or(|d| d == *name));
            values.any(|(_, v)| v.to_string() == *value)
        };
        let twin = variant.dimensions.contains_key(litelab_model::resolve::AA);
        let twin_wanted = wanted.iter().any(|(dimension, _)| *dimension == Some(litelab_model::resolve::AA));
        in_scenario && twin == twin_wanted && wanted.iter().all(has)
    };
    let found: Vec<usize> =
        plan.variants.iter().enumerate().filter(|(_, variant)| selects(variant)).map(|(i, _)| i).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(ReportError::Variant(format!(
            "no variant is `{selector}`; there are {}",
            names(plan, 0..plan.variants.len())
        ))),
        several => Err(ReportError::Variant(format!(
            "`{selector}` is {} variants: {}",
            several.len(),
            names(plan, several.iter().copied())
        ))),
    }
}

/// The parts of a text between separators outside brackets: `sharing=pool(2, 3)` is one part.
pub(crate) fn split(text: &str, is_separator: fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let parts = text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth <= 0 && is_separator(c)
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// At most a dozen names, because a person reads the line.
fn names(plan: &Plan, indices: impl IntoIterator<Item = usize>) -> String {
    let all: Vec<String> = indices.into_iter().map(|index| format!("`{}`", plan.variant_name(index))).collect();
    match all.get(..12) {
        Some(first) if all.len() > 12 => format!("{} and {} more", first.join(", "), all.len() - 12),
        _ => all.join(", "),
    }
}
