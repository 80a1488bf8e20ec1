//! Exports, to the letter, and read back.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod common;

use litelab_report::export::shape::{Export, SCHEMA};
use litelab_report::export::{csv, json, markdown};

#[test]
fn markdown_has_the_tables_of_the_terminal() {
    let (info, analysis) = common::study();
    let text = markdown::run(&analysis, &info);
    assert!(!text.contains('\u{1b}'));
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let cells: Vec<usize> =
            table.lines().filter(|l| l.starts_with('|')).map(|l| l.matches(" | ").count()).collect();
        assert!(cells.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
    }
    insta::assert_snapshot!("markdown", text);
}

#[test]
fn json_comes_back_and_keeps_its_shape() {
    let (info, analysis) = common::study();
    let text = json::text(&analysis, &info).unwrap();
    let export: Export = serde_json::from_str(&text).unwrap();
    assert_eq!(export, json::export(&analysis, &info));
    assert_eq!(export.schema, SCHEMA);
    assert!(!text.contains("runs/"), "a path may name a person");
    // Three metrics of one arm say as much of the shape as fifteen of seven.
    let mut short = export;
    short.arms.truncate(1);
    let shown = ["throughput", "p50", "wal_peak"];
    short.arms[0].metrics.retain(|name, _| shown.contains(&name.as_str()));
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&short).unwrap());
}

#[test]
fn json_holds_no_ratio_without_an_interval() {
    let (info, analysis) = common::study();
    let export = json::export(&analysis, &info);
    let all: Vec<_> = export.scenarios.iter().flat_map(|s| s.comparisons.iter().chain(&s.aa)).collect();
    assert!(all.iter().any(|c| c.ratio.is_some()) && all.iter().any(|c| c.ratio.is_none()));
    for comparison in all {
        assert_eq!(comparison.ratio.is_none(), comparison.reason.is_some(), "{comparison:?}");
        assert!(comparison.ratio.as_ref().is_none_or(|r| r.low.is_some() && r.high.is_some()), "{comparison:?}");
    }
}

#[test]
fn the_schema_names_every_field() {
    let schema = serde_json::to_value(json::schema()).unwrap();
    let (info, analysis) = common::study();
    let export = serde_json::to_value(json::export(&analysis, &info)).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    for field in export.as_object().unwrap().keys() {
        assert!(properties[field].is_object(), "{field}");
    }
    assert!(schema["$defs"]["Estimate"]["properties"]["confidence"]["description"].is_string());
}

#[test]
fn csv_has_a_row_for_each_operation_and_each_failure() {
    let (file, info, _keep) = common::study_file();
    let mut bytes = Vec::new();
    csv::trials(&file, &info, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().count(), 1 + 48);
    let head: Vec<&str> = text.lines().take(8).collect();
    insta::assert_snapshot!("csv", head.join("\n"));
    let failed: Vec<&str> = text.lines().filter(|line| line.contains("failed:invariant")).collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].contains("\"invariant `rows`: found 9, expected 10\""), "{}", failed[0]);
}
