//! Resolution of claims and findings: their variants and bounds.

use indexmap::IndexMap;

use super::{Context, variants};
use crate::band;
use crate::claim::{Claim, Finding, FindingValue, Origin};
use crate::error::{ModelError, unknown};
use crate::metric::{Measure, Metric, Unit};
use crate::plan::{ClaimPlan, FindingPlan, FindingValuePlan, Plan};
use crate::quantity::{Quantity, Scalar};

/// Claims whose scenarios are in the plan, and the names of the claims that `--quick` omits.
pub(super) fn claims(context: &Context<'_>, plan: &Plan) -> Result<(Vec<ClaimPlan>, Vec<String>), ModelError> {
    let (mut out, mut left_out): (Vec<ClaimPlan>, Vec<String>) = Default::default();
    for (at, claim) in context.study.claims.iter().enumerate() {
        let here = |e: String| context.error(format!("claim `{}`: {e}", claim.name));
        if context.study.claims[..at].iter().any(|c| c.name == claim.name) {
            return Err(here("there are two of this name".into()));
        }
        let in_plan = |name: &String| plan.scenarios.iter().any(|s| s.name == *name);
        match one(context, claim, plan).map_err(here)? {
            Some(_) if context.options.quick && !claim.quick => left_out.push(claim.name.clone()),
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
    quotation(claim)?;
    let metric: Metric = claim.metric.parse()?;
    if let (Some(scenario), None) = (&claim.against_scenario, &claim.against) {
        return Err(format!(
            "`against_scenario` needs `against`: `against = {{}}` is the only variant of `{scenario}`"
        ));
    }
    let against_metric = other_metric(claim, &metric)?;
    if claim.against.is_none() && claim.against_metric.is_some() && against_metric.is_none() {
        return Err(format!("it compares `{metric}` with itself: add `against`, or another metric"));
    }
    let beside = claim.beside.as_deref().map(str::parse).transpose()?;
    let (at_least, at_most) = bounds(claim, &metric, claim.against.is_some() || against_metric.is_some())?;
    let variant = find(context, plan, &claim.scenario, &claim.variant)?;
    let against = match &claim.against {
        Some(selector) => {
            let scenario = claim.against_scenario.as_ref().unwrap_or(&claim.scenario);
            Some(find(context, plan, scenario, selector)?)
        }
        None if against_metric.is_some() => Some(variant),
        None => None,
    };
    // `--only` or `--quick` can omit one of them.
    let (Some(variant), Some(against)) = (variant, against.map_or(Some(None), |a| a.map(Some))) else {
        return Ok(None);
    };
    runs(plan, &metric, variant)?;
    runs(plan, against_metric.as_ref().unwrap_or(&metric), against.unwrap_or(variant))?;
    beside.iter().try_for_each(|metric| runs(plan, metric, variant))?;
    if against == Some(variant) && against_metric.is_none() {
        return Err("it compares a variant with itself".into());
    }
    Ok(Some(ClaimPlan {
        name: claim.name.clone(),
        origin: claim.origin,
        text: claim.text.clone(),
        quote: claim.quote.clone(),
        place: claim.place.clone(),
        note: claim.note.clone(),
        metric,
        against_metric,
        beside,
        variant,
        against,
        at_least,
        at_most,
    }))
}

/// Checks that a statement of a source has its words and their place, and that one of the study's own has none.
fn quotation(claim: &Claim) -> Result<(), String> {
    let quoted = !claim.quote.trim().is_empty();
    match (claim.origin, quoted) {
        (Origin::Own, true) => {
            Err("a claim of one's own has no `quote`: state `origin = \"source\"` or \"advice\"".into())
        }
        (Origin::Source | Origin::Advice, false) => {
            Err(format!("origin `{}` needs the source's words in `quote`", claim.origin.name()))
        }
        (_, true) if claim.place.trim().is_empty() => Err("`quote` needs its `place` in the source".into()),
        (_, false) if !claim.place.is_empty() => Err("`place` is that of a `quote`, and there is none".into()),
        _ => Ok(()),
    }
}

fn other_metric(claim: &Claim, metric: &Metric) -> Result<Option<Metric>, String> {
    let Some(name) = &claim.against_metric else { return Ok(None) };
    let other: Metric = name.parse()?;
    if other.unit() != metric.unit() {
        return Err(format!("against_metric `{other}` is of another unit than `{metric}`"));
    }
    Ok((other != *metric).then_some(other))
}

/// Checks that a trial of a variant can have a value: it runs the transaction that the metric is about.
pub(super) fn runs(plan: &Plan, metric: &Metric, variant: usize) -> Result<(), String> {
    metric.check_of_trial()?;
    let Some(name) = metric.of_transaction() else { return Ok(()) };
    let known = || plan.variants[variant].trial.transactions.iter().map(|transaction| transaction.name.as_str());
    if known().any(|known| known == name) {
        return Ok(());
    }
    Err(format!("metric `{metric}`: {}", unknown("transaction of the variant", name, known())))
}

/// The bounds of a claim: the band of its published figure, each end replaced by a stated bound.
fn bounds(claim: &Claim, metric: &Metric, is_ratio: bool) -> Result<(Option<f64>, Option<f64>), String> {
    let of = (!is_ratio).then_some(metric);
    let published = claim.published.as_ref().map(|figures| range(&figures.0, of)).transpose()?;
    let band = published.map(|range| band::of(metric, is_ratio, range));
    let stated = |given: &Option<Quantity>| given.as_ref().map(|quantity| bound(quantity, of)).transpose();
    let at_least = stated(&claim.at_least)?.or(band.map(|(low, _)| low));
    let at_most = stated(&claim.at_most)?.or(band.map(|(_, high)| high));
    // No value but that of a gauge is below 0, and no share is above 1.
    let is_limited = metric.measure != Measure::Gauge;
    let is_share = of.is_some_and(is_share);
    let binds_below = at_least.is_some_and(|low| low > 0.0 || !is_limited);
    let binds_above = at_most.is_some_and(|high| high < 1.0 || !is_share);
    match (at_least, at_most) {
        _ if !binds_below && !binds_above => {
            Err("it needs `published`, `at_least` or `at_most`: without a bound nothing could contradict it".into())
        }
        (Some(low), Some(high)) if low > high => Err(format!("at_least {low} is above at_most {high}")),
        bounds => Ok(bounds),
    }
}

/// The two ends of a published figure or range.
fn range(figures: &[Quantity], of: Option<&Metric>) -> Result<(f64, f64), String> {
    let figures: Vec<f64> = figures
        .iter()
        .map(|figure| {
            bound(figure, of).map_err(|e| format!("published: {e}; the words of a source belong into `quote`"))
        })
        .collect::<Result<_, _>>()?;
    match figures.as_slice() {
        [figure] if *figure > 0.0 => Ok((*figure, *figure)),
        [low, high] if 0.0 < *low && low < high => Ok((*low, *high)),
        _ => Err("published: write a figure above 0, or a range as [low, high]".into()),
    }
}

/// A bound of a metric, or of a ratio if there is none.
pub(super) fn bound(quantity: &Quantity, of: Option<&Metric>) -> Result<f64, String> {
    let value = quantity.bound(of.map(Metric::unit))?;
    match of.filter(|metric| is_share(metric)) {
        Some(metric) if value > 1.0 => {
            Err(format!("`{quantity}` is more than all: `{metric}` is a share, as \"5 %\" or 0.05"))
        }
        _ => Ok(value),
    }
}

/// Whether no value of a metric is above 1.
fn is_share(metric: &Metric) -> bool {
    metric.measure != Measure::Gauge && metric.unit() == Unit::Share
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
        if !finding.name.is_empty() && context.study.findings[..i].iter().any(|other| other.name == finding.name) {
            return Err(here(format!("another finding is named `{}`", finding.name)));
        }
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
    Ok(Some(FindingPlan { name: finding.name.clone(), text: finding.text.clone(), values }))
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
            // With other drivers, or fewer values under `--quick`, there is nothing to choose from.
            if context.options.quick || !context.options.drivers.is_empty() {
                return Ok(None);
            }
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
        variants.iter().try_for_each(|&variant| runs(plan, &metric, variant))?;
        return Ok(Some(FindingValuePlan::Best { metric, variants, dimension: dimension.clone() }));
    }
    let Some(variant) = find(context, plan, &value.scenario, &value.variant)? else { return Ok(None) };
    runs(plan, &metric, variant)?;
    match &value.against {
        None => Ok(Some(FindingValuePlan::Value { metric, variant })),
        Some(selector) => Ok(find(context, plan, &value.scenario, selector)?.map(|against| FindingValuePlan::Ratio {
            metric,
            variant,
            against,
        })),
    }
}
