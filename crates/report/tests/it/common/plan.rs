//! A plan with every kind of outcome, and the outcomes.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use litelab_model::claim::Origin;
use litelab_model::plan::{ClaimPlan, FindingPlan, FindingValuePlan, Plan, ScenarioPlan, Variant};
use litelab_model::study::Location;
use litelab_model::{Metric, Scalar};
use litelab_protocol::{
    Begin, Connection, Executor, Load, Order, Prepare, Retry, Role, Sharing, Step, Transaction, Trial, Until,
};
use litelab_record::outcome::{FailureKind, Flag};

use super::{Gives, Numbers};

/// Disturbance of each round, the same for all its variants.
const NOISE: [f64; 8] = [1.0, 1.02, 0.99, 1.4, 0.7, 1.01, 1.03, 0.98];

pub fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

pub fn variant(scenario: usize, dimensions: &[(&str, Scalar)]) -> Variant {
    let role = Role {
        name: "writers".into(),
        workers: 2,
        first_worker: 0,
        first_in_role: 0,
        workers_in_role: 2,
        order: Order::Cycle,
        steps: vec![Step { transaction: 0, weight: 1, stride: 2, offset: 0 }],
        load: Load::Closed { think_us: 0 },
        until: Until::Time { ms: 1000 },
    };
    Variant {
        scenario,
        dimensions: dimensions.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        driver: "rusqlite".into(),
        profile: "wal-normal".into(),
        location: Location::File,
        databases: 1,
        schema: "CREATE TABLE t(x)".into(),
        data: None,
        trial: Trial {
            protocol: 1,
            id: String::new(),
            driver: "rusqlite".into(),
            executor: Executor::Threads,
            sharing: Sharing::OwnConnection,
            databases: vec![],
            connection: Connection { settings: vec![], read_back: vec![], options: BTreeMap::new() },
            prepare: Prepare::Once,
            retry: Retry::default(),
            seed: 42,
            transactions: vec![],
            roles: vec![role],
            warmup_ms: 0,
            drain_ms: 10_000,
            tick_ms: 100,
            probe_ms: 10,
            runtime_threads: None,
        },
        invariants: vec![],
        content: vec![],
        duration_ms: Some(1000),
        processes: None,
        search: None,
        dialect: Default::default(),
        server: None,
        settings: Vec::new(),
        kill: None,
        ceiling: None,
        failed_at_most: 0.01,
        vars: IndexMap::new(),
        own_begins: Vec::new(),
        skipped: None,
    }
}

/// A transaction that writes, without statements.
pub fn transaction(name: &str) -> Transaction {
    Transaction {
        name: name.into(),
        begin: Begin::Immediate,
        writes: true,
        hold_us: 0,
        timed_rows: false,
        params: vec![],
        statements: vec![],
    }
}

pub fn text(value: &str) -> Scalar {
    Scalar::Text(value.into())
}

pub fn scenario(name: &str, rounds: u32, dimensions: &[&str], baseline: usize, metrics: &[&str]) -> ScenarioPlan {
    ScenarioPlan {
        name: name.into(),
        question: format!("What does {name} cost?"),
        rounds,
        dimensions: dimensions.iter().map(|d| (*d).to_owned()).collect(),
        baseline,
        metrics: metrics.iter().map(|m| metric(m)).collect(),
        ..ScenarioPlan::default()
    }
}

pub fn empty() -> Plan {
    Plan {
        study: "made-up".into(),
        title: "What does durability cost?".into(),
        source: "https://example.org/claims".into(),
        seed: 42,
        tolerance: 0.05,
        ..Plan::default()
    }
}

/// A claim of the study's own about a variant, or about its ratio to another.
pub fn claim(
    variant: usize,
    against: Option<usize>,
    of: &str,
    at_least: Option<f64>,
    at_most: Option<f64>,
) -> ClaimPlan {
    ClaimPlan {
        name: "c".into(),
        origin: Origin::Own,
        text: "A claim.".into(),
        quote: String::new(),
        place: String::new(),
        note: String::new(),
        metric: metric(of),
        against_metric: None,
        beside: None,
        variant,
        against,
        at_least,
        at_most,
    }
}

/// | variant | scenario | role |
/// |---|---|---|
/// | 0 | sync | the baseline |
/// | 1 | sync | four times slower |
/// | 2 | sync | too noisy in throughput, slower in p50 |
/// | 3 | sync | the twin of 0 |
/// | 4, 5 | batch | four rounds only; one of 5 fails; both have footnotes |
/// | 6 | alone | in memory, without anything to compare with |
pub fn study() -> Plan {
    let profile = |name: &str| ("profile", text(name));
    Plan {
        scenarios: vec![
            scenario("sync", 8, &["profile", "aa"], 0, &["throughput", "p50", "p99"]),
            scenario("batch", 4, &["batch"], 4, &["p99", "wal_peak"]),
            scenario("alone", 8, &[], 6, &["rows_per_second"]),
        ],
        variants: vec![
            variant(0, &[profile("wal-normal")]),
            variant(0, &[profile("wal-full")]),
            variant(0, &[profile("delete-full")]),
            variant(0, &[profile("wal-normal"), ("aa", text("twin"))]),
            variant(1, &[("batch", Scalar::Integer(1))]),
            variant(1, &[("batch", Scalar::Integer(10))]),
            Variant { location: Location::MemoryShared, ..variant(2, &[]) },
        ],
        claims: vec![
            named("cheap", "NORMAL is at least twice as fast as FULL.", "throughput", (0, Some(1)), (Some(2.0), None)),
            named("free", "FULL costs nothing.", "p50", (1, Some(0)), (None, Some(1.1))),
            named("small", "A WAL stays below 1 MiB.", "wal_peak", (0, None), (None, Some(1_048_576.0))),
            named("even", "DELETE is as fast as WAL.", "throughput", (2, Some(0)), (Some(0.9), Some(1.1))),
            named("batches", "Batches make it slower.", "p99", (5, Some(4)), (Some(1.0), None)),
        ],
        findings: vec![FindingPlan {
            name: "profiles".into(),
            text: "The best profile is {best}; FULL takes {time}, that is {ratio}; a batch takes {few}.".into(),
            values: IndexMap::from([
                (
                    "best".to_owned(),
                    FindingValuePlan::Best {
                        metric: metric("throughput"),
                        variants: vec![0, 1, 2],
                        dimension: "profile".into(),
                    },
                ),
                ("time".to_owned(), FindingValuePlan::Value { metric: metric("p50"), variant: 1 }),
                ("ratio".to_owned(), FindingValuePlan::Ratio { metric: metric("p50"), variant: 1, against: 0 }),
                ("few".to_owned(), FindingValuePlan::Value { metric: metric("p99"), variant: 5 }),
            ]),
        }],
        ..empty()
    }
}

fn named(
    name: &str,
    sentence: &str,
    of: &str,
    (variant, against): (usize, Option<usize>),
    (at_least, at_most): (Option<f64>, Option<f64>),
) -> ClaimPlan {
    // One claim is this study's own, one is a source's advice, the others are a source's results.
    let origin = match name {
        "small" => Origin::Own,
        "even" => Origin::Advice,
        _ => Origin::Source,
    };
    let quoted = |text: &str| if origin == Origin::Own { String::new() } else { text.to_owned() };
    ClaimPlan {
        name: name.into(),
        origin,
        text: sentence.into(),
        quote: quoted("somebody's own figure"),
        place: quoted("Results"),
        note: if name == "small" { "Checkpoints may starve.".into() } else { String::new() },
        ..claim(variant, against, of, at_least, at_most)
    }
}

/// The [`outcome`], with numbers that `change` modifies.
pub fn changed(round: u32, variant: usize, change: impl FnOnce(&mut Numbers)) -> Option<Gives> {
    let mut gives = outcome(round, variant)?;
    if let Gives::Numbers(numbers) = &mut gives {
        change(numbers);
    }
    Some(gives)
}

/// Outcome of a variant of [`study`] in a round.
pub fn outcome(round: u32, variant: usize) -> Option<Gives> {
    if (variant == 4 || variant == 5) && round >= 4 {
        return None;
    }
    let noise = NOISE[round as usize % NOISE.len()];
    let times = |value: f64, factor: f64| (value * factor).round() as u64;
    // Small, different in each round, and of both signs.
    let jitter = 1.0 + f64::from((round as i32 * 7 + variant as i32 * 3) % 8 - 4) / 1000.0;
    let base = Numbers {
        committed: times(12_000.0, noise * jitter),
        p50_ns: times(80_000.0, 2.0 - jitter),
        p99_ns: times(900_000.0, 1.0 / noise),
        cpu_ns: times(30_000.0, jitter),
        ..Numbers::default()
    };
    let numbers = match variant {
        1 => Numbers {
            committed: base.committed / 4,
            p50_ns: base.p50_ns * 4,
            settings: vec![("wal", 2), ("wal", 2)],
            ..base
        },
        2 => Numbers {
            committed: times(base.committed as f64, [1.5, 0.6][round as usize % 2]),
            p50_ns: times(base.p50_ns as f64, 1.3),
            settings: vec![("delete", 2), ("delete", 1)],
            ..base
        },
        4 => Numbers {
            flags: vec![
                Flag::LittlesLaw { difference: -0.12 },
                Flag::Short { seconds: 0.2, ended: 70, median: Some(0.003) },
            ],
            ..base
        },
        5 if round == 2 => {
            return Some(Gives::Failure(FailureKind::Invariant, "invariant `rows`: found 9, expected 10"));
        }
        5 => Numbers {
            flags: vec![
                Flag::Short { seconds: 0.2, ended: 70, median: Some(0.003) },
                Flag::Failures { failed: 3, of: 100 },
            ],
            ..base
        },
        _ => base,
    };
    Some(numbers.into())
}
