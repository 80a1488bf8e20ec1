//! Notes on the content that variants with the same work left.

use super::Marked;
use crate::analysis::{ContentCheck, ScenarioAnalysis, VariantAnalysis};
use crate::number;
use crate::style::Tone;

/// Number of printed digits of a hash, enough to distinguish contents by eye.
const DIGITS: usize = 12;

/// Note on a variant that left a different content than the others.
pub(super) fn remark(scenario: &ScenarioAnalysis, variant: &VariantAnalysis) -> Option<String> {
    let checks: Vec<&ContentCheck> = scenario.content.iter().filter(|c| c.odd.contains(&variant.index)).collect();
    let first = checks.first()?;
    let tables: Vec<String> = checks.iter().map(|c| format!("`{}`", c.table)).collect();
    let others = number::counted((first.variants.len() - first.odd.len()) as u64, "variant");
    let tables = tables.join(", ");
    Some(if first.variants.len() == first.odd.len() {
        format!(
            "self-check failed: what its trials left in {tables} is not the same in all of them, nor in any other variant with the \
             same work; its numbers are of no one work"
        )
    } else {
        format!(
            "self-check failed: what it left in {tables} is not what {others} with the same work left; its numbers are of \
             other work"
        )
    })
}

/// One line for each table: whether all variants left the same content, or how many did not.
pub(super) fn lines(scenario: &ScenarioAnalysis) -> Vec<Marked> {
    let noun = if scenario.dimensions == ["driver"] { "driver" } else { "variant" };
    let mut tables: Vec<&str> = scenario.content.iter().map(|c| c.table.as_str()).collect();
    tables.sort_unstable();
    tables.dedup();
    tables.into_iter().map(|table| line(table, noun, scenario)).collect()
}

fn line(table: &str, noun: &str, scenario: &ScenarioAnalysis) -> Marked {
    let checks: Vec<&ContentCheck> = scenario.content.iter().filter(|c| c.table == table).collect();
    let (odd, all) = checks.iter().fold((0, 0), |(odd, all), c| (odd + c.odd.len(), all + c.variants.len()));
    let hash = match checks.as_slice() {
        [only] => format!(" (SHA-256 {}…)", only.hash.chars().take(DIGITS).collect::<String>()),
        several => format!(", in each of {} with the same work", number::counted(several.len() as u64, "group")),
    };
    if odd == 0 {
        return Marked::new(
            "=",
            Tone::Good,
            format!("content: all {all} {noun}s left the same bytes in `{table}`{hash}"),
        );
    }
    let text = format!("content: {odd} of {all} {noun}s left other bytes in `{table}` than the rest{hash}");
    Marked::new("✘", Tone::Bad, text)
}
