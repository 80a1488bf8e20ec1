//! Resolution of claims and findings: their variants and bounds.

use indexmap::IndexMap;

use super::{Context, variants};
use crate::claim::{Claim, Finding, FindingValue};
use crate::error::{ModelError, unknown};
use crate::metric::Metric;
use crate::plan::{ClaimPlan, FindingPlan, FindingValuePlan, Plan};
use crate::quantity::{Quantity, Scalar};

/// Claims whose scenarios are in the plan, and the names of the claims whose variants `--quick` omits.
pub(super) fn claims(context: &Context<'_>, plan: &Plan) -> Result<(Vec<ClaimPlan>, Vec<String>), ModelError> {
    let (mut out, mut left_out): (Vec<ClaimPlan>, Vec<String>) = Default::default();
    for (at, claim) in context.study.claims.iter().enumerate() {
        let here = |e: String| context.error(format!("claim `{}`: {e}", claim.name));
        if context.study.claims[..at].iter().any(|c| c.name == claim.name) {
            return Err(here("there are two of this name".into()));
        }
        let in_plan = |name: &String| plan.scenarios.iter().any(|s| s.name == *name);
        match one(context, claim, plan).map_err(here)? {
            Some(plan) => out.push(plan),
            None if in_plan(&claim.scenario) && claim.against_scenario.iter().all(in_plan) => {
                left_out.push(claim.name.clone());
            }
            None => {}
        }
    }
    Ok((out, left_out))
}

fn one(context: &Context<'_>, claim: &Claim, plan: &Plan) -> Result<Option<ClaimPlan>, String> {
    let metric: Metric = claim.metric.parse()?;
    if claim.at_least.is_none() && claim.at_most.is_none() {
        return Err("it needs `at_least` or `at_most`: without a bound nothing could contradict it".into());
    }
    let variant = find(context, plan, &claim.scenario, &claim.variant)?;
    let against = match &claim.against {
        Some(selector) => {
            let scenario = claim.against_scenario.as_ref().unwrap_or(&claim.scenario);
            Some(find(context, plan, scenario, selector)?)
        }
        None => None,
    };
    // `--only` or `--quick` can omit one of them.
    let (Some(variant), Some(against)) = (variant, against.map_or(Some(None), |a| a.map(Some))) else {
        return Ok(None);
    };
    if against == Some(variant) {
        return Err("it compares a variant with itself".into());
    }
    let (at_least, at_most) = (bound(&claim.at_least)?, bound(&claim.at_most)?);
    if let (Some(low), Some(high)) = (at_least, at_most)
        && low > high
    {
        return Err(format!("at_least {low} is above at_most {high}"));
    }
    Ok(Some(ClaimPlan {
        name: claim.name.clone(),
        text: claim.text.clone(),
        published: claim.published.clone(),
        note: claim.note.clone(),
        metric,
        variant,
        against,
        at_least,
        at_most,
    }))
}

pub(super) fn bound(quantity: &Option<Quantity>) -> Result<Option<f64>, String> {
    quantity.as_ref().map(Quantity::bound).transpose()
}

/// The plan's index of a variant of a scenario; `None` if the command line omits the scenario or replaces its drivers,
/// or if `--quick` omits the variant.
fn find(
    context: &Context<'_>,
    plan: &Plan,
    scenario: &str,
    selector: &IndexMap<String, Scalar>,
) -> Result<Option<usize>, String> {
    let Some(indices) = variants_of(context, plan, scenario)? else { return Ok(None) };
    let (Some(first), Some(last)) = (indices.first(), indices.last()) else { return Ok(None) };
    let real: Vec<_> = plan.variants[*first..=*last].iter().filter(|a| !a.is_twin()).cloned().collect();
    match variants::select(&real, selector) {
        Ok(at) => Ok(Some(first + at)),
        Err(_) if context.options.quick && is_in_full(context, scenario, selector) => Ok(None),
        // With other drivers there can be no such variant, or several.
        Err(_) if !context.options.drivers.is_empty() => Ok(None),
        Err(e) => Err(format!("scenario `{scenario}`: {e}")),
    }
}

/// Whether exactly one variant of the scenario matches without `--quick`.
fn is_in_full(context: &Context<'_>, scenario: &str, selector: &IndexMap<String, Scalar>) -> bool {
    let Some(found) = context.study.scenarios.iter().find(|s| s.name == scenario) else { return false };
    let full = variants::combinations(&super::defaults::inherit(context.study, found), None);
    full.is_ok_and(|all| all.iter().filter(|dimensions| variants::matches(dimensions, selector)).count() == 1)
}

pub(super) fn variants_of(context: &Context<'_>, plan: &Plan, scenario: &str) -> Result<Option<Vec<usize>>, String> {
    if !context.study.scenarios.iter().any(|s| s.name == scenario) {
        return Err(unknown("scenario", scenario, context.study.scenarios.iter().map(|s| s.name.as_str())));
    }
    let Some(index) = plan.scenarios.iter().position(|s| s.name == scenario) else { return Ok(None) };
    Ok(Some((0..plan.variants.len()).filter(|&i| plan.variants[i].scenario == index).collect()))
}

/// Findings whose scenarios are in the plan.
pub(super) fn findings(context: &Context<'_>, plan: &Plan) -> Result<Vec<FindingPlan>, ModelError> {
    let mut out = Vec::new();
    for (i, finding) in context.study.findings.iter().enumerate() {
        let here = |e: String| context.error(format!("finding {}: {e}", i + 1));
        if let Some(plan) = finding_plan(context, finding, plan).map_err(here)? {
            out.push(plan);
        }
    }
    Ok(out)
}

fn finding_plan(context: &Context<'_>, finding: &Finding, plan: &Plan) -> Result<Option<FindingPlan>, String> {
    let mut values = IndexMap::new();
    for (name, value) in &finding.values {
        if !finding.text.contains(&format!("{{{name}}}")) {
            return Err(format!("value `{name}` does not appear in its text"));
        }
        match finding_value(context, value, plan).map_err(|e| format!("value `{name}`: {e}"))? {
            Some(value) => values.insert(name.clone(), value),
            None => return Ok(None),
        };
    }
    for placeholder in finding.text.split('{').skip(1).filter_map(|rest| rest.split_once('}')) {
        if !values.contains_key(placeholder.0) {
            return Err(unknown("value", placeholder.0, values.keys().map(String::as_str)));
        }
    }
    Ok(Some(FindingPlan { text: finding.text.clone(), values }))
}

fn finding_value(context: &Context<'_>, value: &FindingValue, plan: &Plan) -> Result<Option<FindingValuePlan>, String> {
    let metric: Metric = value.metric.parse()?;
    if let Some(dimension) = &value.best {
        let Some(indices) = variants_of(context, plan, &value.scenario)? else { return Ok(None) };
        let variants: Vec<usize> = indices
            .into_iter()
            .filter(|&i| variants::matches(&plan.variants[i].dimensions, &value.variant) && !plan.variants[i].is_twin())
            .collect();
        if variants.len() < 2 {
            return Err(format!(
                "`best` needs several variants, and {} have {}",
                variants.len(),
                variants::describe(&value.variant)
            ));
        }
        if let Some(variant) = variants.iter().find(|&&i| !plan.variants[i].dimensions.contains_key(dimension)) {
            let known = plan.variants[*variant].dimensions.keys();
            return Err(unknown("dimension", dimension, known.map(String::as_str)));
        }
        return Ok(Some(FindingValuePlan::Best { metric, variants, dimension: dimension.clone() }));
    }
    let Some(variant) = find(context, plan, &value.scenario, &value.variant)? else { return Ok(None) };
    match &value.against {
        None => Ok(Some(FindingValuePlan::Value { metric, variant })),
        Some(selector) => Ok(find(context, plan, &value.scenario, selector)?.map(|against| FindingValuePlan::Ratio {
            metric,
            variant,
            against,
        })),
    }
}
