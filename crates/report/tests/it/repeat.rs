//! A study run twice: every verdict of both runs, and its change.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan::{outcome, study};
use crate::common::{Gives, Numbers, analysed, side};
use litelab_model::{Plan, Server};
use litelab_record::RunInfo;
use litelab_record::ServerRecord;
use litelab_record::outcome::FailureKind;
use litelab_report::compare::Unlike;
use litelab_report::compare::repeat::{Repeated, differences};
use litelab_report::document::of_repetition;
use litelab_report::{Analysis, Change, Repetition, ReportError, Style, render, repetition};

type Run = (RunInfo, Analysis);

/// A further run of the study; `change` modifies the numbers of each trial or replaces them by an outcome.
fn again(plan: &Plan, change: impl Fn(u32, usize, &mut Numbers) -> Option<Gives>) -> Run {
    let (mut info, analysis) = analysed(plan, |round, variant| {
        let mut gives = outcome(round, variant)?;
        match &mut gives {
            Gives::Numbers(numbers) => change(round, variant, numbers).or(Some(gives)),
            Gives::Failure(..) => Some(gives),
        }
    });
    info.path = "runs/again.db".into();
    (info, analysis)
}

fn judged(before: &Run, after: &Run) -> Repetition {
    repetition(side(before), side(after)).unwrap()
}

fn of(repetition: &Repetition, change: Change) -> Vec<String> {
    // The name of a variant begins with its scenario.
    let name = |verdict: &Repeated| match verdict.name.contains('/') {
        true => format!("{} {}", verdict.name, verdict.metric),
        false => verdict.name.clone(),
    };
    repetition.verdicts.iter().filter(|v| v.change == change).map(name).collect()
}

#[test]
fn the_same_numbers_again_change_no_verdict() {
    let before = common::study();
    // The seed, the number of rounds and the small noise of the trials may differ.
    let mut plan = study();
    plan.reseed(7);
    plan.raise_rounds(8);
    let after = again(&plan, |round, _, numbers| {
        numbers.p50_ns += u64::from(round % 3);
        None
    });
    let repetition = judged(&before, &after);
    assert_eq!((repetition.count(Change::Unchanged), repetition.count(Change::Undecided)), (8, 4));
    assert_eq!(repetition.verdicts.len(), 3 * 2 + 1 + 5, "comparisons by metric, and claims");
    assert_eq!(repetition.seeds, Some((42, 7)));
    let text = render(&of_repetition(&repetition), Style::PLAIN);
    assert!(text.contains("of 12 verdicts: 0 REVERSED, 4 undecided in both, 8 unchanged"), "{text}");
}

/// FULL is four times slower in the first run, and twice as fast in this one.
fn reversed() -> Run {
    again(&study(), |round, variant, numbers| {
        if variant == 1 {
            numbers.committed *= 8;
            numbers.p50_ns /= 8;
        }
        // DELETE has almost no noise in this run.
        if variant == 2 {
            numbers.committed = 12_000 + u64::from(round);
        }
        None
    })
}

#[test]
fn a_verdict_that_turned_into_its_opposite_is_called_reversed_and_stands_first() {
    let repetition = judged(&common::study(), &reversed());
    let names = ["sync/profile=wal-full throughput", "sync/profile=wal-full p50", "cheap", "free"];
    assert_eq!(of(&repetition, Change::Reversed), names);
    assert!(repetition.verdicts[..4].iter().all(|verdict| verdict.change == Change::Reversed));
    insta::assert_snapshot!("repeat", render(&of_repetition(&repetition), Style { color: false, width: 140 }));
    // In the other order the same verdicts are reversed.
    assert_eq!(judged(&reversed(), &common::study()).count(Change::Reversed), 4);
}

#[test]
fn what_a_failure_takes_away_is_lost_with_its_reason_and_not_reversed() {
    let after = again(&study(), |round, variant, _| {
        (variant == 1 && round == 3).then_some(Gives::Failure(FailureKind::Runner, "it died"))
    });
    let repetition = judged(&common::study(), &after);
    // Seven rounds are too few for the ratios of two variants in three metrics.
    let of_variant = ["throughput", "p50", "cpu"].map(|metric| format!("sync/profile=wal-full {metric}"));
    let lost = [&of_variant[0], &of_variant[1], &of_variant[2], "cheap", "free"];
    assert_eq!(
        (repetition.count(Change::Reversed), of(&repetition, Change::Lost)),
        (0, lost.map(str::to_owned).to_vec())
    );
    let text = render(&of_repetition(&repetition), Style::PLAIN);
    assert!(text.contains("? cheap: 1 of 8 trials of sync/profile=wal-full failed: it died"), "{text}");
    assert_eq!(of(&judged(&after, &common::study()), Change::Gained), lost);
    // A variant that was run and failed in all trials is not called absent.
    let after =
        again(&study(), |_, variant, _| (variant == 1).then_some(Gives::Failure(FailureKind::Runner, "it died")));
    let text = render(&of_repetition(&judged(&common::study(), &after)), Style::PLAIN);
    assert!(text.contains("8 of 8 trials of sync/profile=wal-full failed: it died"), "{text}");
    assert!(!text.contains("it is not in the second run"), "{text}");
}

#[test]
fn equivalent_and_slower_are_no_opposites() {
    let after = again(&study(), |_, variant, numbers| {
        if variant == 1 {
            numbers.cpu_ns = numbers.cpu_ns * 5 / 4;
        }
        None
    });
    let repetition = judged(&common::study(), &after);
    assert_eq!(of(&repetition, Change::Moved), ["sync/profile=wal-full cpu"]);
    assert_eq!(repetition.count(Change::Reversed), 0);
}

#[test]
fn runs_of_other_work_are_no_repetition_and_other_machines_are_said() {
    let before = common::study();
    let refused = |after: &Run| match repetition(side(&before), side(after)) {
        Err(error @ ReportError::NoRepetition(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let mut after = common::study();
    after.0.plan.study = "another".into();
    assert!(refused(&after).contains("one is of the study made-up, the other of another"));
    let mut after = common::study();
    after.0.plan.variants.pop();
    assert!(refused(&after).contains("do not have the same variants"));
    let mut after = common::study();
    after.0.plan.variants[1].trial.roles[0].workers = 9;
    assert!(refused(&after).contains("sync/profile=wal-full is not the same work in both"));
    let mut after = common::study();
    after.0.plan.claims[0].at_least = Some(3.0);
    assert!(refused(&after).contains("the same claims"));
    let mut after = common::study();
    after.0.environment.cpu.model = Some("Another CPU".into());
    after.0.runners[0].drivers[0].version = "9".into();
    let text = render(&of_repetition(&judged(&before, &after)), Style { color: false, width: 200 });
    assert!(text.contains("! unlike: the CPU is Made-up CPU 3000 in one and Another CPU in the other"), "{text}");
    assert!(text.contains("! unlike: driver rusqlite is 1.2.3 in one and 9 in the other"), "{text}");
}

#[test]
fn a_server_of_another_version_is_another_build() {
    let (mut before, _) = common::study();
    let record = |version: &str, own| ServerRecord { version: version.into(), url: "postgres://x".into(), own };
    before.servers = [(Server::Postgres, record("PostgreSQL 15.18", false))].into();
    let with = |server, other: ServerRecord| RunInfo { servers: [(server, other)].into(), ..before.clone() };
    let differences = |after: &RunInfo| differences(&before, after);
    assert_eq!(differences(&with(Server::Postgres, record("PostgreSQL 15.18", false))), []);
    for other in [record("PostgreSQL 16.2", false), record("PostgreSQL 15.18", true)] {
        let found = differences(&with(Server::Postgres, other));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].of == Unlike::Driver && found[0].to_string().contains("server postgres"), "{}", found[0]);
    }
    assert_eq!(
        differences(&with(Server::Mariadb, record("MariaDB 10.11.19", false))),
        [],
        "the variants differ in that"
    );
}
