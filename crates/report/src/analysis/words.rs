//! Plain names of variants: what differs within the scenario, in words.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use litelab_model::Scalar;
use litelab_model::durability::{JournalMode, Synchronous};
use litelab_protocol::{Executor, Sharing, Value};

use super::variant::VariantAnalysis;

/// Fills in [`VariantAnalysis::words`] of the variants of one scenario: `8 × own connection, WAL FULL` instead of
/// `profile=wal-full sharing=own-connection workers=8 executor=threads`. Two variants never share a name.
pub(super) fn name(variants: &mut [&mut VariantAnalysis]) {
    let varies: BTreeSet<String> = {
        let names = variants.iter().flat_map(|variant| variant.dimensions.keys());
        let first = |name: &&String| {
            let mut values = variants.iter().map(|variant| variant.dimensions.get(*name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        names.filter(first).cloned().collect()
    };
    let words: Vec<String> = variants.iter().map(|variant| words(&variant.dimensions, &varies)).collect();
    for (index, variant) in variants.iter_mut().enumerate() {
        let unique = words.iter().filter(|other| **other == words[index]).count() == 1;
        variant.words = if unique && !words[index].is_empty() { words[index].clone() } else { variant.label.clone() };
    }
}

fn words(dimensions: &IndexMap<String, Scalar>, varies: &BTreeSet<String>) -> String {
    let shown = |name: &str| dimensions.get(name).filter(|_| varies.contains(name));
    let mut parts = Vec::new();
    // A number of workers belongs to what they share: `8 × own connection`.
    match (shown("workers"), shown("sharing")) {
        (Some(workers), Some(sharing)) => parts.push(format!("{workers} × {}", value("sharing", sharing))),
        (Some(workers), None) if workers.to_string() == "1" => parts.push("1 worker".into()),
        (Some(workers), None) => parts.push(format!("{workers} workers")),
        (None, Some(sharing)) => parts.push(value("sharing", sharing)),
        (None, None) => {}
    }
    let others =
        dimensions.iter().filter(|(name, _)| varies.contains(*name) && *name != "workers" && *name != "sharing");
    parts.extend(others.map(|(name, of)| match name.as_str() {
        "driver" | "executor" | "profile" => value(name, of),
        other => format!("{} {of}", dimension(other)),
    }));
    parts.join(", ")
}

/// Name of a dimension in words.
#[must_use]
pub fn dimension(name: &str) -> String {
    match name {
        "profile" => "settings".into(),
        "executor" => "calls run".into(),
        other => other.trim_start_matches("pragma.").trim_start_matches("setting.").replace('_', " "),
    }
}

/// Value of a dimension in words: `WAL FULL` for the profile `wal-full`, `pool of 4` for the sharing `pool(4)`.
#[must_use]
pub fn value(name: &str, value: &Scalar) -> String {
    let text = value.to_string();
    let known = match name {
        "sharing" => text.parse().ok().map(sharing),
        "executor" => text.parse().ok().map(executor),
        "profile" => profile(&text),
        _ => None,
    };
    known.unwrap_or(text)
}

fn sharing(sharing: Sharing) -> String {
    match sharing {
        Sharing::OwnConnection => "own connection".into(),
        Sharing::OneConnection => "one connection".into(),
        Sharing::AppLock => "app lock".into(),
        Sharing::Pool { connections } => format!("pool of {connections}"),
        Sharing::WriterReaders { readers: 1 } => "1 writer + 1 reader".into(),
        Sharing::WriterReaders { readers } => format!("1 writer + {readers} readers"),
        Sharing::GroupCommit { readers: 1 } => "group commit".into(),
        Sharing::GroupCommit { readers } => format!("group commit + {readers} readers"),
    }
}

fn executor(executor: Executor) -> String {
    let words = match executor {
        Executor::Threads => "threads",
        Executor::Processes => "processes",
        Executor::Inline => "on the event loop",
        Executor::Offload => "in the runtime's pool",
        Executor::Dedicated => "on a database thread",
    };
    words.to_owned()
}

/// `WAL FULL` for a profile that is named after its journal mode and its `synchronous`.
fn profile(name: &str) -> Option<String> {
    if name == "as-it-comes" {
        return Some("driver defaults".into());
    }
    let (journal, synchronous) = name.split_once('-')?;
    JournalMode::reported(&Value::from(journal))?;
    Synchronous::reported(&Value::from(synchronous))?;
    Some(format!("{journal} {synchronous}").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(dimensions: &[(&str, Scalar)], varies: &[&str]) -> String {
        let dimensions = dimensions.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        words(&dimensions, &varies.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_name_holds_what_differs() {
        let text = |text: &str| Scalar::Text(text.into());
        let all = [
            ("profile", text("wal-full")),
            ("sharing", text("own-connection")),
            ("workers", Scalar::Integer(8)),
            ("executor", text("threads")),
            ("batch", Scalar::Integer(100)),
        ];
        assert_eq!(said(&all, &["profile", "sharing", "workers"]), "8 × own connection, WAL FULL");
        assert_eq!(said(&all, &["workers", "batch"]), "8 workers, batch 100");
        assert_eq!(said(&all, &["executor"]), "threads");
        assert_eq!(said(&all, &[]), "");
    }

    #[test]
    fn values_are_words() {
        for (name, of, expected) in [
            ("sharing", "pool(4)", "pool of 4"),
            ("sharing", "writer-readers(4)", "1 writer + 4 readers"),
            ("sharing", "group-commit", "group commit"),
            ("profile", "as-it-comes", "driver defaults"),
            ("profile", "delete-normal", "DELETE NORMAL"),
            ("profile", "wal-normal-10s", "wal-normal-10s"),
            ("executor", "offload", "in the runtime's pool"),
            ("query", "keyset", "keyset"),
        ] {
            assert_eq!(value(name, &Scalar::Text(of.into())), expected);
        }
        assert_eq!(dimension("pragma.wal_autocheckpoint"), "wal autocheckpoint");
    }
}
