//! Exports: snapshots, and values that are read back.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use litelab_model::Plan;
use litelab_model::plan::Given;
use litelab_model::quantity::Scalar;
use litelab_report::document::of_run;
use litelab_report::export::{csv, json, markdown, splice};
use serde_json::Value;

#[test]
fn markdown_has_the_tables_of_the_terminal() {
    let (info, analysis) = common::study();
    let text = markdown::render(&of_run(&analysis, &info));
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
    let mut export: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(export, common::exported(&analysis, &info));
    assert_eq!(export["schema"], json::SCHEMA);
    assert!(!text.contains("runs/"), "a path may name a person");
    // One element of each list, and three metrics, show as much of the format as all.
    for place in ["/metrics", "/variants/0/metrics"] {
        let metrics = export.pointer_mut(place).and_then(Value::as_object_mut).unwrap();
        metrics.retain(|name, _| ["throughput", "p50", "failed"].contains(&name.as_str()));
    }
    shorten(&mut export);
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&export).unwrap());
}

/// Keeps the first element of each list.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(list) => {
            list.truncate(1);
            list.iter_mut().for_each(shorten);
        }
        Value::Object(map) => map.values_mut().for_each(shorten),
        _ => {}
    }
}

#[test]
fn json_holds_no_ratio_without_an_interval() {
    let (info, analysis) = common::study();
    let export = common::exported(&analysis, &info);
    let list = |of: &Value, name: &str| of[name].as_array().unwrap().clone();
    let metrics = |comparison: &Value| list(comparison, "metrics");
    let of_scenario = |scenario: &Value| -> Vec<Value> {
        list(scenario, "comparisons").iter().flat_map(metrics).chain(list(scenario, "aa")).collect()
    };
    let all: Vec<Value> = list(&export, "scenarios").iter().flat_map(of_scenario).collect();
    let is_known = |comparison: &&Value| comparison["ratio"]["value"].is_number();
    assert!(all.iter().any(|c| is_known(&c)) && all.iter().any(|c| !is_known(&c)));
    for comparison in &all {
        let ratio = &comparison["ratio"];
        assert_eq!(is_known(&comparison), ratio["reason"].is_null(), "{comparison}");
        assert_eq!(is_known(&comparison), ratio["bounds"]["interval"]["low"].is_number(), "{comparison}");
        assert_eq!(is_known(&comparison), ratio["p_value"].is_number(), "{comparison}");
    }
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

#[test]
fn tables_are_put_between_their_comments_again_and_again() {
    let (info, analysis) = common::study();
    let (study, scenario) = (&info.plan.study, &analysis.scenarios[0].name);
    let table = |text: &str| text.lines().filter(|l| l.starts_with('|')).map(str::to_owned).collect::<Vec<_>>();
    let marked = |what: &str| format!("before\n<!-- splice {what} -->\nbefore that\n<!-- end of splice -->\nafter\n");

    let (page, made) = splice::splice(&marked(&format!("{study}/{scenario}")), &analysis, &info).unwrap();
    assert_eq!(made, 1);
    assert!(page.starts_with("before\n") && page.ends_with("after\n") && !page.contains("before that"), "{page}");
    let whole = markdown::render(&of_run(&analysis, &info));
    let rows = table(&page);
    assert!(rows.len() > 2 && rows.iter().all(|row| whole.contains(row)), "{page}");
    let marks = |text: &str| ['¹', '²', '³'].map(|mark| text.contains(&format!("- {mark} "))).to_vec();
    let noted = |row: &String| ['¹', '²', '³'].iter().any(|mark| row.contains(*mark));
    assert_eq!(rows.iter().any(noted), marks(&page).contains(&true), "a mark and its footnote: {page}");
    assert!(page.contains(&format!("litelab run {study}")), "how it was made: {page}");
    assert_eq!(splice::splice(&page, &analysis, &info).unwrap().0, page, "a second time changes nothing");

    let (narrow, _) = splice::splice(&marked(&format!("{study}/{scenario}: p50")), &analysis, &info).unwrap();
    let columns = |row: &str| row.matches(" | ").count();
    assert!(columns(&table(&narrow)[0]) < columns(&rows[0]) && table(&narrow)[0].ends_with("| p50 |"), "{narrow}");
    let (claims, _) = splice::splice(&marked(&format!("{study}/claims")), &analysis, &info).unwrap();
    let groups = analysis.tally().len();
    assert_eq!((table(&claims).len(), groups), (analysis.claims.len() + 2 * groups, 3), "a table for each origin");
    let (found, _) = splice::splice(&marked(&format!("{study}/finding: profiles")), &analysis, &info).unwrap();
    assert!(found.contains(&analysis.findings[0][..20]), "{found}");
    let (made_with, _) = splice::splice(&marked(&format!("{study}/run")), &analysis, &info).unwrap();
    assert!(made_with.contains("SHA-256") && made_with.contains("**machine**"), "{made_with}");

    let both = marked("other-study/x") + &marked(&format!("{study}/{scenario}"));
    let (page, made) = splice::splice(&both, &analysis, &info).unwrap();
    assert!(made == 1 && page.starts_with(&marked("other-study/x")), "another study's is left alone: {page}");
}

#[test]
fn the_command_of_a_table_has_every_option_that_changed_the_plan() {
    let (mut info, analysis) = common::study();
    info.plan.study = "first-look".into();
    let mut command = |change: fn(&mut Plan)| {
        change(&mut info.plan);
        let marked = "<!-- splice first-look/sync -->\n<!-- end of splice -->\n";
        let (page, _) = splice::splice(marked, &analysis, &info).unwrap();
        page.split('`').rfind(|part| part.starts_with("litelab ")).unwrap().to_owned()
    };
    let enough = command(|plan| plan.scenarios.iter_mut().for_each(|scenario| scenario.rounds = 50));
    assert_eq!(enough, "litelab run first-look --seed 42");
    let given = command(|plan| {
        plan.quick = true;
        plan.drivers = vec!["go:mattn".into(), "python:sqlite3".into()];
        plan.given = Given {
            rounds: Some(20),
            only: vec!["sync".into(), "batch".into()],
            vars: [("rows".into(), Scalar::Integer(5)), ("text".into(), Scalar::Text("a b".into()))].into(),
            aa: true,
            ..Given::default()
        };
    });
    let expected = "litelab run first-look --quick --driver go:mattn --driver python:sqlite3 --set rows=5 \
        --set 'text=a b' --aa --only sync,batch --rounds 20 --seed 42";
    assert_eq!(given, expected);
    // A run file of an older version: fewer rounds than an interval takes were asked for.
    let short = command(|plan| {
        *plan = Plan { given: Given::default(), quick: false, drivers: vec![], ..plan.clone() };
        plan.scenarios.iter_mut().for_each(|scenario| scenario.rounds = 3);
    });
    assert_eq!(short, "litelab run first-look --rounds 3 --seed 42");
    // No study has the variants of two runs.
    let combined = command(|plan| plan.given.combined = true);
    assert_eq!(combined, "litelab repeat made-up.db");
}

#[test]
fn a_page_that_cannot_be_made_says_where_and_why() {
    let (info, analysis) = common::study();
    let (study, scenario) = (&info.plan.study, &analysis.scenarios[0].name);
    let error = |page: &str| splice::splice(page, &analysis, &info).unwrap_err().to_string();
    let marked = |what: &str| format!("x\n<!-- splice {what} -->\n<!-- end of splice -->\n");
    let open = error(&format!("<!-- splice {study}/{scenario} -->\n| a |\n"));
    assert!(open.contains("line 1") && open.contains("end of splice"), "{open}");
    let scenario_error = error(&marked(&format!("{study}/nowhere")));
    assert!(scenario_error.contains("line 2") && scenario_error.contains(scenario.as_str()), "{scenario_error}");
    let column = error(&marked(&format!("{study}/{scenario}: p51")));
    assert!(column.contains("`p51`") && column.contains("p50"), "{column}");
    let finding = error(&marked(&format!("{study}/finding: profile")));
    assert!(finding.contains("`profile`") && finding.contains("profiles"), "{finding}");
    assert!(error("no marker").contains(study.as_str()));
}
