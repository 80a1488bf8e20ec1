//! Checks of a server of which one node was killed: compares each node with what the server acknowledged.

use std::collections::BTreeMap;

use litelab_model::{Variant, expression};
use litelab_protocol::TrialResult;

use super::contents::{Contents, databases, expected, found};

/// Number of acknowledged transactions that are missing, by the invariants that require at least the committed count;
/// `None` if there is no such invariant.
///
/// # Errors
/// The error message of the database.
pub fn lost(variant: &Variant, contents: &mut dyn Contents, result: &TrialResult) -> Result<Option<u64>, String> {
    let mut lost = None;
    for invariant in &variant.invariants {
        let fail = |e: String| format!("invariant `{}`: {e}", invariant.about);
        let bounds = [&invariant.equals, &invariant.at_least].into_iter().flatten();
        for text in bounds.filter(|text| expression::names(text).iter().any(|name| name.starts_with("committed."))) {
            let missing = expected(text, contents.databases(), result).map_err(fail)?
                - found(contents, &invariant.sql).map_err(fail)?;
            // A sum over no rows is NULL, here NaN: all of it is missing.
            let missing = if missing.is_nan() { f64::INFINITY } else { missing.max(0.0) };
            lost = Some(lost.unwrap_or(0).max(missing as u64));
        }
    }
    Ok(lost)
}

/// Checks each node of a server after a kill: none may lack an acknowledged transaction, and all must hold the same
/// rows. Returns the content, and [`lost`].
///
/// # Errors
/// The first violation.
pub fn nodes(
    variant: &Variant,
    nodes: &mut [impl Contents],
    result: &TrialResult,
) -> Result<(BTreeMap<String, String>, Option<u64>), String> {
    let mut content: Option<BTreeMap<String, String>> = None;
    let mut most = None;
    for (index, node) in nodes.iter_mut().enumerate() {
        let here = |e: String| format!("node {}: {e}", index + 1);
        let lost = lost(variant, node, result).map_err(here)?;
        if let Some(lost @ 1..) = lost {
            return Err(here(format!("{lost} of the transactions that workers were told of are lost")));
        }
        most = most.max(lost);
        let found = databases(variant, node, result).map_err(here)?;
        if let Some(first) = &content
            && let Some((table, _)) = found.iter().find(|(table, hash)| first.get(*table) != Some(hash))
        {
            return Err(here(format!("table `{table}` holds other rows than node 1 has")));
        }
        content.get_or_insert(found);
    }
    Ok((content.unwrap_or_default(), most))
}
