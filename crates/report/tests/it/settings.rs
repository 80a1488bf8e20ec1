//! Columns of settings in which variants differ, without the settings of another kind of database.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{empty, scenario, text, variant};
use crate::common::{Numbers, analysed};
use litelab_model::Plan;
use litelab_protocol::Dialect;
use litelab_report::{Style, show_all};

/// Titles of the first scenario's table, for two variants whose connections have different settings.
fn titles(dialects: [Dialect; 2]) -> String {
    let mut variants = ["one", "two"].map(|name| variant(0, &[("driver", text(name))])).to_vec();
    for (variant, dialect) in variants.iter_mut().zip(dialects) {
        variant.dialect = dialect;
    }
    let plan = Plan { scenarios: vec![scenario("s", 6, &["driver"], 0, &["p50"])], variants, ..empty() };
    let (info, analysis) = analysed(&plan, |_, variant| {
        let settings = vec![if variant == 0 { ("wal", 1) } else { ("delete", 2) }];
        Some(Numbers { settings, ..Numbers::default() }.into())
    });
    let shown = show_all(&analysis, &info, Style { color: false, width: 400 });
    shown.lines().find(|line| line.trim_start().starts_with("driver") && line.contains("p50")).unwrap().to_owned()
}

#[test]
fn two_variants_of_one_database_are_told_apart_by_their_settings() {
    let titles = titles([Dialect::Sqlite; 2]);
    assert!(titles.contains("journal_mode") && titles.contains("synchronous"), "{titles}");
    assert!(!titles.contains("cache_size"), "the same in both: {titles}");
}

#[test]
fn what_only_another_database_has_is_no_difference() {
    let titles = titles([Dialect::Sqlite, Dialect::Postgres]);
    assert!(!titles.contains("journal_mode") && !titles.contains("synchronous"), "{titles}");
    assert!(titles.contains("durability"), "{titles}");
}
