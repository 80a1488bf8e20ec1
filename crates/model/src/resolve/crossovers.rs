//! Resolution of crossovers: their variants.

use indexmap::IndexMap;

use super::{Context, claims, variants};
use crate::crossover::{Crossover, CrossoverPlan, LinePlan};
use crate::error::{ModelError, unknown};
use crate::metric::Metric;
use crate::plan::Plan;
use crate::quantity::Scalar;

/// One plan for each scenario of each crossover, in the order of the file. Scenarios that the command line omits have
/// none, nor have those that lack a line, or two common values, under `--quick` or with other drivers.
pub(super) fn crossovers(context: &Context<'_>, plan: &Plan) -> Result<Vec<CrossoverPlan>, ModelError> {
    let mut out = Vec::new();
    for (i, crossover) in context.study.crossovers.iter().enumerate() {
        let here = |e: String| context.error(format!("crossover {}: {e}", i + 1));
        if crossover.scenarios.is_empty() || crossover.others.is_empty() || crossover.metrics.is_empty() {
            return Err(here("`scenarios`, `others` and `metrics` must each have an entry".into()));
        }
        for scenario in &crossover.scenarios {
            out.extend(one(context, crossover, scenario, plan).map_err(here)?);
        }
    }
    Ok(out)
}

fn one(
    context: &Context<'_>,
    crossover: &Crossover,
    scenario: &str,
    plan: &Plan,
) -> Result<Option<CrossoverPlan>, String> {
    let metrics: Vec<Metric> = crossover.metrics.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
    let Some(indices) = claims::variants_of(context, plan, scenario)? else { return Ok(None) };
    let line = |selector: &IndexMap<String, Scalar>| {
        line(plan, &indices, &crossover.over, selector).map_err(|e| format!("scenario `{scenario}`: {e}"))
    };
    // With other drivers, or fewer values under `--quick`, a line or some of its values can be absent.
    let may_lack = context.options.quick || !context.options.drivers.is_empty();
    let lines = || Ok((line(&crossover.base)?, crossover.others.iter().map(line).collect::<Result<Vec<_>, String>>()?));
    let (base, others) = match lines() {
        Ok(lines) => lines,
        Err(_) if may_lack => return Ok(None),
        Err(e) => return Err(e),
    };
    for metric in &metrics {
        let variants = base.variants.iter().chain(others.iter().flat_map(|other| &other.variants));
        variants.map(|(_, variant)| *variant).try_for_each(|variant| claims::runs(plan, metric, variant))?;
    }
    if others.iter().any(|other| other.variants == base.variants) {
        return Err(format!("scenario `{scenario}`: {} is compared with itself", variants::describe(&crossover.base)));
    }
    let shared =
        |other: &LinePlan| base.variants.iter().filter(|(at, _)| other.variants.iter().any(|(o, _)| o == at)).count();
    let few = others.iter().map(shared).min().unwrap_or_default();
    match (few >= 2, may_lack, plan.scenarios.iter().position(|s| s.name == scenario)) {
        (true, _, Some(scenario)) => {
            Ok(Some(CrossoverPlan { scenario, over: crossover.over.clone(), metrics, base, others }))
        }
        (false, false, _) => {
            Err(format!("scenario `{scenario}`: `{}` has fewer than two values that all of them share", crossover.over))
        }
        _ => Ok(None),
    }
}

fn line(plan: &Plan, indices: &[usize], over: &str, selector: &IndexMap<String, Scalar>) -> Result<LinePlan, String> {
    let real = || indices.iter().map(|i| (*i, &plan.variants[*i])).filter(|(_, a)| !a.is_twin());
    for name in selector.keys().map(String::as_str).chain([over]) {
        if !real().any(|(_, variant)| variant.dimensions.contains_key(name)) {
            let known = variants::dimension_names(&real().map(|(_, a)| a.dimensions.clone()).collect::<Vec<_>>());
            return Err(unknown("dimension", name, known.iter().map(String::as_str)));
        }
    }
    if selector.contains_key(over) {
        return Err(format!("`{over}` is what grows: leave it out of {}", variants::describe(selector)));
    }
    let mut found: Vec<(u32, usize)> = Vec::new();
    for (index, variant) in real().filter(|(_, variant)| variants::matches(&variant.dimensions, selector)) {
        let Some(value) = variant.dimensions.get(over) else { continue };
        let at = match value {
            Scalar::Integer(n) => u32::try_from(*n).ok().filter(|n| *n >= 1),
            _ => None,
        };
        let at = at.ok_or_else(|| format!("`{over}` is `{value}`: it must be a whole number of at least 1"))?;
        if found.iter().any(|(other, _)| *other == at) {
            return Err(format!("several variants have {} at {over}={at}: name one", variants::describe(selector)));
        }
        found.push((at, index));
    }
    if found.is_empty() {
        return Err(format!("no variant has {}", variants::describe(selector)));
    }
    let label = selector.values().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    found.sort_unstable();
    Ok(LinePlan { label, variants: found })
}
