//! Snapshots of the text for a terminal.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use litelab_report::{Style, show, show_all};

#[test]
fn the_answer_at_the_least_width() {
    let (info, analysis) = common::study();
    insta::assert_snapshot!("answer-80", show(&analysis, &info, Style { color: false, width: 80 }));
}

#[test]
fn the_whole_run_at_its_usual_width() {
    let (info, analysis) = common::study();
    insta::assert_snapshot!("show-100", show_all(&analysis, &info, Style::PLAIN));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let (info, analysis) = common::study();
    let style = Style { color: false, width: 80 };
    for line in show(&analysis, &info, style).lines().chain(show_all(&analysis, &info, style).lines()) {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
}

#[test]
fn a_wide_terminal_has_it_all_in_one_table() {
    let (info, analysis) = common::study();
    let text = show_all(&analysis, &info, Style { color: false, width: 240 });
    let of_variant = |line: &&str| line.starts_with("  wal-full") && line.contains("k/s [") && line.contains("× [");
    assert_eq!(text.lines().filter(of_variant).count(), 1);
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let (info, analysis) = common::study();
    for render in [show, show_all] {
        let plain = render(&analysis, &info, Style { color: false, width: 120 });
        let colour = render(&analysis, &info, Style { color: true, width: 120 });
        assert!(!plain.contains('\u{1b}') && colour.contains("\u{1b}[32m✔"));
        let mut stripped = String::new();
        let mut rest = colour.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            stripped.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        stripped.push_str(rest);
        let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
        assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
    }
}
