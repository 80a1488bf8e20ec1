//! Legend of the symbols.

use std::collections::BTreeSet;

use litelab_model::Metric;

use super::{Document, Element};
use crate::analysis::{Analysis, Values};
use crate::number;

/// Adds the legend with its heading.
pub(crate) fn add(document: &mut Document, analysis: &Analysis) {
    document.heading("Legend", "");
    let mut facts: Vec<(String, String)> = Vec::new();
    let used: BTreeSet<_> = analysis.variants.iter().filter_map(|a| a.durability).collect();
    for level in used.into_iter().rev() {
        facts.push((level.words().to_owned(), level.meaning().to_owned()));
    }
    facts.push((
        "value".into(),
        "median over rounds [its 95 % interval]; [?] where there are too few rounds for one: 6 are the fewest".into(),
    ));
    let shown: Vec<(&Metric, &Values)> = (analysis.scenarios.iter())
        .flat_map(|s| s.among(analysis).map(move |variant| (s, variant)))
        .flat_map(|(s, variant)| s.metrics.iter().filter_map(|metric| Some((metric, variant.metrics.get(metric)?))))
        .collect();
    if shown.iter().any(|(_, values)| values.max_of.is_some()) {
        let text = "the longest of the n observations of a trial, median over rounds: too few for the quantile, which takes 20 \
                    for p50, 200 for p95, 1000 for p99 and 10000 for p999; nothing is judged by it";
        facts.push(("max of n".into(), text.into()));
    }
    let rare: BTreeSet<&str> =
        shown.iter().filter(|(_, values)| values.sum().is_some()).map(|(metric, _)| metric.measure.name()).collect();
    if !rare.is_empty() {
        let text = "of the transactions of all trials together [its 95 % interval, which knows that those of one trial are alike]";
        facts.push((rare.into_iter().collect::<Vec<_>>().join(", "), text.into()));
    }
    facts.push((
        "ratio".into(),
        "to the baseline of the same round, Hodges–Lehmann [signed-rank interval]; all of a scenario hold together \
         at 95 %, and with them the verdict"
            .into(),
    ));
    facts.push((
        "verdict".into(),
        format!(
            "▲ better  ▼ worse  ≈ equivalent within {}  ~ not shown yet: how many more rounds it is likely to take, \
             inconclusive where that is more than anybody runs (200)",
            number::percent(analysis.tolerance)
        ),
    ));
    document.elements.push(Element::Facts(facts));
}
