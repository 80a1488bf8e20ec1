//! What the signs mean.

use std::collections::BTreeSet;

use super::{Block, Document};
use crate::analysis::Analysis;
use crate::number;

pub(super) fn add(document: &mut Document, analysis: &Analysis) {
    document.heading("Legend", "");
    let mut facts: Vec<(String, String)> = Vec::new();
    let used: BTreeSet<_> = analysis.arms.iter().filter_map(|a| a.durability).collect();
    for rung in used.into_iter().rev() {
        facts.push((rung.to_string(), rung.meaning().to_owned()));
    }
    facts.push((
        "value".into(),
        "median over blocks [its 95 % interval]; [?] where there are too few blocks for one: 6 are the fewest".into(),
    ));
    facts.push((
        "ratio".into(),
        "to the baseline of the same block, Hodges–Lehmann [signed-rank interval]; all of one metric in a scenario \
         hold together at 95 %"
            .into(),
    ));
    facts.push((
        "verdict".into(),
        format!(
            "▲ better  ▼ worse  ≈ equivalent within {}  ~ not shown yet: how many more blocks it is likely to take",
            number::percent(analysis.tolerance)
        ),
    ));
    document.blocks.push(Block::Facts(facts));
}
