//! Snapshots of the text for a terminal.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use litelab_report::{Style, show};

#[test]
fn the_whole_run_at_its_usual_width() {
    let (info, analysis) = common::study();
    insta::assert_snapshot!("show-100", show(&analysis, &info, Style::PLAIN));
}

#[test]
fn a_narrow_terminal_loses_no_column() {
    let (info, analysis) = common::study();
    let text = show(&analysis, &info, Style { color: false, width: 80 });
    insta::assert_snapshot!("show-80", text);
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
}

#[test]
fn a_wide_terminal_has_it_all_in_one_table() {
    let (info, analysis) = common::study();
    let text = show(&analysis, &info, Style { color: false, width: 240 });
    let of_variant = |line: &&str| line.starts_with("  wal-full") && line.contains("k/s [") && line.contains("× [");
    assert_eq!(text.lines().filter(of_variant).count(), 1);
    insta::assert_snapshot!("show-240", text);
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let (info, analysis) = common::study();
    let plain = show(&analysis, &info, Style { color: false, width: 120 });
    let colour = show(&analysis, &info, Style { color: true, width: 120 });
    assert!(!plain.contains('\u{1b}') && colour.contains("\u{1b}[32m✔ HOLDS ·"));
    let mut stripped = String::new();
    let mut rest = colour.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
    insta::assert_snapshot!("show-colour", colour.replace('\u{1b}', "␛"));
}
