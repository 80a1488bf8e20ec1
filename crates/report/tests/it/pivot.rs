//! Tables of a run's variants: snapshots, and properties of any rows and columns.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{empty, metric, outcome, scenario, study, text, transaction, variant};
use crate::common::{Gives, Numbers, record};
use litelab_model::Scalar;
use litelab_model::plan::{Plan, Variant};
use litelab_protocol::Step;
use litelab_record::RunInfo;
use litelab_record::outcome::FailureKind;
use litelab_report::document::of_pivot;
use litelab_report::export::markdown;
use litelab_report::pivot::needed;
use litelab_report::{Analysis, Pivot, PivotOptions, Style, analysis::analyse_with, pivot, render};
use litelab_stats::Verdict;
use proptest::prelude::*;

/// | scenario | dimensions | transactions |
/// |---|---|---|
/// | queue | sharing: three; workers: 1, 8 | insert, done |
/// | reads | sharing: two of them; workers: 1, 8 | insert |
fn queue() -> Plan {
    let variant = |scenario: usize, sharing: &str, workers: i64, names: &[&str]| {
        let mut variant: Variant =
            variant(scenario, &[("sharing", text(sharing)), ("workers", Scalar::Integer(workers))]);
        variant.trial.transactions = names.iter().map(|name| transaction(name)).collect();
        let steps = 0..names.len() as u32;
        variant.trial.roles[0].steps =
            steps.map(|t| Step { transaction: t, weight: 1, stride: 2, offset: 0 }).collect();
        variant
    };
    let mut variants = Vec::new();
    for sharing in ["one-connection", "own-connection", "writer-readers(2)"] {
        variants.extend([1, 8].map(|workers| variant(0, sharing, workers, &["insert", "done"])));
    }
    for sharing in ["one-connection", "own-connection"] {
        variants.extend([1, 8].map(|workers| variant(1, sharing, workers, &["insert"])));
    }
    Plan {
        scenarios: vec![
            scenario("queue", 8, &["sharing", "workers"], 2, &["p50", "cpu"]),
            scenario("reads", 8, &["sharing", "workers"], 8, &["p50"]),
        ],
        variants,
        ..empty()
    }
}

/// Latency relative to `own-connection`: `one-connection` takes 2 times as long with one worker and 8 times with eight;
/// `writer-readers(2)` half and three times. The other transaction takes the same time everywhere.
fn factor(variant: usize) -> f64 {
    [2.0, 8.0, 1.0, 1.0, 0.5, 3.0, 2.0, 8.0, 1.0, 1.0][variant]
}

fn queue_gives(round: u32, variant: usize) -> Gives {
    // Small, of both signs, and different in any two rounds.
    let jitter = 1.0 + f64::from((round as i32 * 5 + variant as i32 * 3) % 8 - 4) / 2000.0;
    let others = if variant < 6 { vec![("done", 60, (20_000.0 * jitter) as u64)] } else { vec![] };
    Numbers { p50_ns: (100_000.0 * factor(variant) * jitter) as u64, others, ..Numbers::default() }.into()
}

fn analysed(plan: &Plan, options: &PivotOptions, gives: impl Fn(u32, usize) -> Option<Gives>) -> (RunInfo, Analysis) {
    let directory = tempfile::tempdir().unwrap();
    let (file, info) = record(&directory.path().join("run.db"), plan, |_| (), gives);
    let analysis = analyse_with(&file, &info, &needed(plan, options)).unwrap();
    (info, analysis)
}

fn queue_run(options: &PivotOptions) -> (RunInfo, Analysis) {
    analysed(&queue(), options, |round, variant| Some(queue_gives(round, variant)))
}

fn asked(rows: &[&str], columns: &[&str], filters: &[&str], metrics: &[&str]) -> PivotOptions {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    PivotOptions {
        rows: own(rows),
        columns: own(columns),
        filters: filters.iter().map(|f| f.parse().unwrap()).collect(),
        metrics: metrics.iter().map(|m| metric(m)).collect(),
    }
}

fn refused(options: &PivotOptions) -> String {
    let (info, analysis) = queue_run(options);
    pivot(&analysis, &info, options).unwrap_err().to_string()
}

const WIDE: Style = Style { color: false, width: 160 };

#[test]
fn a_run_by_its_own_dimensions() {
    let options = PivotOptions::default();
    let (info, analysis) = analysed(&study(), &options, outcome);
    let tables = pivot(&analysis, &info, &options).unwrap();
    insta::assert_snapshot!("pivot", render(&of_pivot(&tables, &analysis, &info), WIDE));
    let page = markdown::render(&of_pivot(&tables, &analysis, &info));
    assert_eq!(page.matches("| scenario |").count(), tables.grids.len(), "{page}");
}

#[test]
fn rows_by_scenario_and_transaction() {
    let options = asked(&[], &["sharing"], &[], &["p50"]);
    let (info, analysis) = queue_run(&options);
    let tables = pivot(&analysis, &info, &options).unwrap();
    insta::assert_snapshot!("pivot-transactions", render(&of_pivot(&tables, &analysis, &info), WIDE));
    let narrow = render(&of_pivot(&tables, &analysis, &info), Style { color: false, width: 80 });
    for line in narrow.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
    for head in ["own-connection", "one-connection", "writer-readers(2)"] {
        assert!(narrow.lines().any(|line| line.contains("workers") && line.contains(head)), "{head}:\n{narrow}");
    }
}

#[test]
fn verdicts_are_those_of_the_analysis_where_the_question_is_the_same() {
    let options = asked(&[], &["profile"], &["scenario=sync"], &[]);
    let (info, analysis) = analysed(&study(), &options, outcome);
    let tables = pivot(&analysis, &info, &options).unwrap();
    let mut compared = 0;
    for grid in &tables.grids {
        for cell in grid.lines.iter().flat_map(|line| line.cells.iter().flatten()) {
            let theirs = analysis.scenarios[0].comparisons.iter().find(|c| c.variant == cell.variant);
            let theirs = theirs.and_then(|c| c.metrics.iter().find(|m| m.metric == cell.metric));
            if let (Some(ours), Some(theirs)) = (&cell.change, theirs) {
                assert_eq!((&ours.ratio, ours.verdict), (&theirs.ratio, theirs.verdict));
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4, "two variants in throughput and p50");
}

fn changes(tables: &Pivot, column: &str) -> Vec<(Vec<String>, Verdict)> {
    let grid = &tables.grids[0];
    let at = grid.heads.iter().position(|head| head.join(" ") == column).unwrap();
    let change = |line: &litelab_report::pivot::GridRow| {
        Some((line.keys.clone(), line.cells[at].as_ref()?.change.as_ref()?.verdict))
    };
    grid.lines.iter().filter_map(change).collect()
}

#[test]
fn columns_stand_as_the_filter_has_them_and_transactions_as_it_names_them() {
    let options = asked(
        &["workers"],
        &["sharing"],
        &["sharing=one-connection,own-connection", "scenario=queue"],
        &["p50:insert"],
    );
    let (info, analysis) = queue_run(&options);
    let tables = pivot(&analysis, &info, &options).unwrap();
    assert_eq!(tables.grids[0].heads, [["one-connection"], ["own-connection"]]);
    let faster = |workers: &str| (vec![workers.to_owned()], Verdict::Faster);
    assert_eq!(changes(&tables, "own-connection"), [faster("1"), faster("8")]);
    // One transaction compared with another of the same variant, in the same rounds.
    let options = asked(
        &["workers"],
        &["transaction"],
        &["sharing=one-connection", "scenario=queue", "transaction=insert,done"],
        &["p50"],
    );
    let (info, analysis) = queue_run(&options);
    let tables = pivot(&analysis, &info, &options).unwrap();
    assert_eq!(tables.grids[0].heads, [["insert"], ["done"]]);
    assert_eq!(changes(&tables, "done"), [faster("1"), faster("8")]);
}

#[test]
fn a_metric_of_the_whole_process_has_no_transactions() {
    let options = asked(&["workers", "transaction"], &["sharing"], &["scenario=queue"], &["cpu"]);
    let (info, analysis) = queue_run(&options);
    let tables = pivot(&analysis, &info, &options).unwrap();
    let keys: Vec<String> = tables.grids[0].lines.iter().map(|line| line.keys.join(" ")).collect();
    assert_eq!(keys, ["1 all", "8 all"]);
    let options = asked(&[], &["sharing"], &["scenario=queue", "transaction=done"], &["cpu"]);
    let (info, analysis) = queue_run(&options);
    let tables = pivot(&analysis, &info, &options).unwrap();
    assert_eq!(
        (tables.grids.len(), tables.left_out.as_slice()),
        (0, &["cpu is of no transaction that is asked for".to_owned()][..])
    );
}

#[test]
fn a_mean_is_of_ratios_and_hides_nothing() {
    let mean = |column: &str, gives: &dyn Fn(u32, usize) -> Option<Gives>| {
        let options = asked(
            &["workers"],
            &["sharing"],
            &["scenario=queue", &format!("sharing=own-connection,{column}")],
            &["p50:insert"],
        );
        let (info, analysis) = analysed(&queue(), &options, gives);
        pivot(&analysis, &info, &options).unwrap().grids[0].means[0].clone()
    };
    let honest = |round: u32, variant: usize| Some(queue_gives(round, variant));
    let shared = mean("one-connection", &honest).unwrap();
    // The mean of 2 and 8.
    let ratio = shared.ratio.as_ref().unwrap().ratio;
    assert!((ratio.value - 4.0).abs() < 0.01 && ratio.interval().unwrap().contains(4.0), "{ratio:?}");
    assert_eq!(shared.verdict, Verdict::Slower);
    // The mean of a half and 3 would show only that it is slower, and hide that it is faster in some rows.
    assert_eq!(mean("writer-readers(2)", &honest).unwrap_err(), "it is better in some rows and worse in others");
    let failing = |round: u32, variant: usize| match (round, variant) {
        (3, 1) => Some(Gives::Failure(FailureKind::Runner, "it died")),
        _ => honest(round, variant),
    };
    assert_eq!(
        mean("one-connection", &failing).unwrap_err(),
        "trials of queue/sharing=one-connection workers=8 failed"
    );
    let few = |round: u32, variant: usize| if round < 4 { honest(round, variant) } else { None };
    assert_eq!(mean("one-connection", &few).unwrap_err(), "it needs ≥ 6 rounds");
}

#[test]
fn names_that_are_not_known_are_refused_with_those_that_are() {
    for (options, words) in [
        (
            asked(&["worker"], &[], &[], &[]),
            "--rows: unknown dimension `worker`: did you mean `workers`? (known: scenario, transaction, driver, profile, sharing, workers)",
        ),
        (asked(&[], &["zzz"], &[], &[]), "--columns: unknown dimension `zzz` (known: scenario,"),
        (asked(&[], &[], &["sharng=shared"], &[]), "--filter: unknown dimension `sharng`: did you mean `sharing`?"),
        (
            asked(&[], &[], &["sharing=one-conection"], &[]),
            "--filter: unknown sharing `one-conection`: did you mean `one-connection`? (known: one-connection, own-connection, writer-readers(2))",
        ),
        (
            asked(&[], &[], &["transaction=inzert"], &[]),
            "--filter: unknown transaction `inzert`: did you mean `insert`? (known: insert, done)",
        ),
        (
            asked(&[], &[], &[], &["p99:inzert"]),
            "--metric p99:inzert: unknown transaction `inzert`: did you mean `insert`?",
        ),
        (asked(&["sharing"], &["sharing"], &[], &[]), "`sharing` is a row and a column"),
        (asked(&["scenario"], &["sharing"], &[], &[]), "add `workers` to --rows or --columns"),
        (
            asked(&[], &[], &["scenario=reads", "sharing=writer-readers(2)"], &[]),
            "no variant of the run passes all filters",
        ),
    ] {
        let line = refused(&options);
        assert!(line.contains(words), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any options, every variant that passes is in exactly one cell of each table, or the tables are refused.
    #[test]
    fn no_variant_is_lost_or_mixed(
        rows in proptest::sample::subsequence(vec!["scenario", "sharing", "workers", "driver"], 0..=4).prop_shuffle(),
        columns in proptest::sample::subsequence(vec!["sharing", "workers", "scenario"], 0..=2).prop_shuffle(),
        workers in proptest::option::of(prop_oneof![Just("workers=1"), Just("workers=8"), Just("workers=8,1")]),
    ) {
        let options = asked(&rows, &columns, &workers.into_iter().collect::<Vec<_>>(), &["cpu"]);
        // CPU time is always computed, so that one run serves all cases.
        static RUN: std::sync::LazyLock<(RunInfo, Analysis)> = std::sync::LazyLock::new(|| queue_run(&PivotOptions::default()));
        let (info, analysis) = &*RUN;
        match pivot(analysis, info, &options) {
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.contains("several variants") || text.contains("a row and a column"), "{text}");
            }
            Ok(tables) => {
                let mut seen: Vec<usize> =
                    tables.grids.iter().flat_map(|g| &g.lines).flat_map(|l| l.cells.iter().flatten()).map(|c| c.variant).collect();
                seen.sort_unstable();
                let passes = |variant: &&litelab_report::analysis::VariantAnalysis| workers.is_none_or(|f| f.contains(',') || format!("workers={}", variant.dimensions["workers"]) == f);
                let all: Vec<usize> = analysis.variants.iter().filter(passes).map(|variant| variant.index).collect();
                prop_assert_eq!(seen, all);
                for grid in &tables.grids {
                    prop_assert!(grid.lines.iter().all(|l| l.cells.len() == grid.heads.len() && l.keys.len() == grid.rows.len()));
                    prop_assert!(grid.lines.iter().filter_map(|l| l.cells.first()).flatten().all(|c| c.change.is_none()));
                }
                prop_assert!(!render(&of_pivot(&tables, analysis, info), WIDE).is_empty());
            }
        }
    }
}
