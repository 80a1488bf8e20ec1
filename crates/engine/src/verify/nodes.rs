//! Checks of a server one of whose nodes was killed: what each of them has, against what the workers were told.

use std::collections::BTreeMap;

use litelab_model::{Arm, expression};
use litelab_protocol::TrialResult;

use super::contents::{Contents, databases, expected, found};

/// Transactions that the workers were told of and that are not there, by the invariants that ask for no less than what was
/// committed; none where there is no such invariant.
///
/// # Errors
/// What the database says.
pub fn lost(arm: &Arm, contents: &mut dyn Contents, result: &TrialResult) -> Result<Option<u64>, String> {
    let mut lost = None;
    for invariant in &arm.invariants {
        let fail = |e: String| format!("invariant `{}`: {e}", invariant.about);
        let bounds = [&invariant.equals, &invariant.at_least].into_iter().flatten();
        for text in bounds.filter(|text| expression::names(text).iter().any(|name| name.starts_with("committed."))) {
            let missing = expected(text, contents.databases(), result).map_err(fail)?
                - found(contents, &invariant.sql).map_err(fail)?;
            // Nothing at all is NULL: not a number, and all of it missing.
            let missing = if missing.is_nan() { f64::INFINITY } else { missing.max(0.0) };
            lost = Some(lost.unwrap_or(0).max(missing as u64));
        }
    }
    Ok(lost)
}

/// Checks the databases of a server whose node was killed, as each of its nodes has them: none must lack what a worker
/// was told of, and all must hold the same. Returns the content, and [`lost`].
///
/// # Errors
/// The first thing that is not as it must be.
pub fn nodes(
    arm: &Arm,
    nodes: &mut [impl Contents],
    result: &TrialResult,
) -> Result<(BTreeMap<String, String>, Option<u64>), String> {
    let mut content: Option<BTreeMap<String, String>> = None;
    let mut most = None;
    for (index, node) in nodes.iter_mut().enumerate() {
        let here = |e: String| format!("node {}: {e}", index + 1);
        let lost = lost(arm, node, result).map_err(here)?;
        if let Some(lost @ 1..) = lost {
            return Err(here(format!("{lost} of the transactions that workers were told of are lost")));
        }
        most = most.max(lost);
        let found = databases(arm, node, result).map_err(here)?;
        if let Some(first) = &content
            && let Some((table, _)) = found.iter().find(|(table, hash)| first.get(*table) != Some(hash))
        {
            return Err(here(format!("table `{table}` holds other rows than node 1 has")));
        }
        content.get_or_insert(found);
    }
    Ok((content.unwrap_or_default(), most))
}
