//! Duration of a trial, its measured part, and the number of trials of a variant.

use litelab_model::library::{self, Kind};
use litelab_model::{Options, Plan, resolve};
use litelab_protocol::{Load, Role, Until};

use crate::support::{dialects, refused, resolve_beside};

const BY_TIME: &str = "role.w = { run = 'insert', for = '3s' }";

fn resolved_with(lines: &str, options: &Options) -> Plan {
    let toml = format!("name = 's'\ntitle = '?'\nworkload = 'insert'\nvars.preload = 10\n{lines}\n");
    resolve_beside(&[], &toml, options).unwrap_or_else(|e| panic!("{e}"))
}

fn resolved(lines: &str) -> Plan {
    resolved_with(lines, &Options::default())
}

/// Warm-up of the first variant and end times of its roles that end by time, in milliseconds.
fn times(lines: &str) -> (u64, Vec<u64>) {
    let plan = resolved(&format!("[[scenario]]\nname = 'one'\n{lines}"));
    let trial = &plan.variants[0].trial;
    let ends = trial.roles.iter().filter_map(|role| match role.until {
        Until::Time { ms } => Some(ms),
        _ => None,
    });
    (trial.warmup_ms, ends.collect())
}

#[test]
fn a_closed_loop_is_warm_before_its_time_begins() {
    let of = |time: &str| times(&format!("role.w = {{ run = 'insert', for = '{time}', think = '1ms' }}"));
    assert_eq!(of("3s"), (300, vec![3_300]));
    assert_eq!(of("250ms"), (100, vec![350]), "at least a tenth of a second");
    assert_eq!(of("60s"), (2_000, vec![62_000]), "at most two seconds");
    let roles = "role.w = { run = 'insert', for = '4s' }\nrole.r = { run = 'read', for = '2s', rate = 10 }";
    assert_eq!(times(roles), (400, vec![4_400, 2_400]), "a warm-up is of the trial, and so of all its roles");
    let plan = resolved(&format!("[[scenario]]\nname = 'one'\n{BY_TIME}"));
    assert_eq!(plan.variants[0].duration_ms, Some(3_300));
}

#[test]
fn a_stated_warm_up_is_taken_as_it_is() {
    assert_eq!(times(&format!("warmup = '0ms'\n{BY_TIME}")), (0, vec![3_000]));
    assert_eq!(times(&format!("warmup = '20 ms'\n{BY_TIME}")), (20, vec![3_020]));
    assert_eq!(times("warmup = '50ms'\nrole.w = { run = 'insert', for = '1s', rate = 10 }"), (50, vec![1_050]));
    let study = resolved(&format!("warmup = '0ms'\n[[scenario]]\nname = 'one'\n{BY_TIME}"));
    assert_eq!(study.variants[0].trial.warmup_ms, 0);
}

#[test]
fn nothing_is_left_out_of_a_count_a_given_rate_a_search_or_a_kill() {
    let search = "search = { rate = 'w', from = 10, holds = [{ metric = 'failed', at_most = 0 }] }";
    let kill = "executor = 'processes'\nkill = { role = 'w', processes = 1, after = '1s' }";
    for lines in [
        "role.w = { run = 'insert', count = 100 }",
        "role.w = { run = 'insert', count = 100 }\nrole.r = { run = 'read', for = '3s' }",
        "role.w = { run = 'insert', for = '3s', rate = 10 }\nrole.r = { run = 'read', until = 'w' }",
        &format!("{search}\n{BY_TIME}"),
        &format!("{kill}\nrole.w = {{ run = 'insert', workers = 2, for = '3s' }}"),
    ] {
        let (warmup, ends) = times(lines);
        assert_eq!(warmup, 0, "{lines}");
        assert!(ends.iter().all(|ms| *ms == 3_000), "{lines}: {ends:?}");
    }
}

#[test]
fn a_trial_waits_at_its_end_for_six_of_its_longest_pauses() {
    let drain = |hold: &str| {
        let statement = "{ sql = 'INSERT INTO t VALUES (1)', hold = '1 s' }";
        let workload = format!(
            "name = 'w'\n[schema]\nsql = 'CREATE TABLE t(x)'\n[transaction.write]\nhold = '{hold}'\nsql = [{statement}]\n"
        );
        let scenario = "[[scenario]]\nname = 'one'\nrole.w = { run = 'write', count = 1 }";
        let study = format!("name = 's'\ntitle = '?'\nworkload = 'w.toml'\n{scenario}\n");
        let plan = resolve_beside(&[("w.toml", &workload)], &study, &Options::default());
        plan.unwrap_or_else(|e| panic!("{e}")).variants[0].trial.drain_ms
    };
    assert_eq!(["100 ms", "1 s", "10 s"].map(drain), [10_000, 12_000, 66_000], "the pause of its statement included");
}

#[test]
fn a_scenario_has_the_rounds_that_its_intervals_need() {
    let rounds = |variants: &str, rounds: u32, options: &Options| {
        let lines = format!("rounds = {rounds}\nmetrics = ['p50']\n[[scenario]]\nname = 'one'\n{BY_TIME}\n{variants}");
        resolved_with(&lines, options).scenarios[0].rounds
    };
    let usual = Options::default();
    assert_eq!(rounds("vary.workers = [1, 2]", 2, &usual), 6);
    assert_eq!(rounds("vary.workers = [1, 2, 3]", 2, &usual), 7, "two ratios at 97.5 % each");
    let three = "vary.workers = [1, 2]\nmetrics = ['throughput']";
    assert_eq!(rounds(three, 2, &usual), 7, "one variant in the three metrics that go with throughput");
    assert_eq!(rounds("vary.workers = [1, 2, 3]", 20, &usual), 20, "what is more is kept");
    assert_eq!(rounds("", 1, &usual), 1, "nothing is compared");
    let claim = "[[claim]]\nname = 'c'\ntext = 'c'\nscenario = 'one'\nmetric = 'p50'\nat_most = '1 s'";
    assert_eq!(rounds(claim, 1, &usual), 6);
    assert_eq!(
        rounds("vary.workers = [1, 2]", 1, &Options { aa: true, ..usual.clone() }),
        6,
        "a twin is no variant more"
    );
    let asked = Options { rounds: Some(2), ..usual.clone() };
    let plan = resolved_with(
        &format!("metrics = ['p50']\n[[scenario]]\nname = 'one'\n{BY_TIME}\nvary.workers = [1, 2]"),
        &asked,
    );
    assert_eq!((plan.scenarios[0].rounds, plan.least_rounds(0)), (2, 6), "the command line has the last word");
    let quick = Options { quick: true, ..usual };
    assert_eq!(rounds("vary.workers = [1, 2]\nquick = { rounds = 1 }", 30, &quick), 6);
}

/// Scenarios of built-in studies whose closed loops are measured from their start on purpose.
const COLD: [(&str, &str); 7] = [
    ("cluster-fault", "undisturbed"),
    ("cluster-fault", "node-dies"),
    ("cluster-fault", "server-dies"),
    ("task-queue", "crash"),
    ("task-queue", "mixed"),
    ("task-queue", "mixed-writers"),
    ("task-queue", "recovery"),
];

/// No closed loop of a built-in study that ends by time is measured from a cold start by accident.
#[test]
fn built_in_studies_are_warm_at_both_scales() {
    for name in Kind::Study.built_in() {
        for quick in [false, true] {
            let (study, text) = library::study(name).unwrap();
            let options = Options { quick, dialects: dialects(), ..Options::default() };
            let plan = resolve::resolve(&study, &text, &options).unwrap();
            for variant in &plan.variants {
                let loops =
                    |role: &Role| matches!((&role.load, &role.until), (Load::Closed { .. }, Until::Time { .. }));
                let counted = variant.trial.roles.iter().any(|role| matches!(role.until, Until::Count { .. }));
                let warm = variant.trial.roles.iter().any(loops) && !counted;
                let cold = COLD.contains(&(name, plan.scenarios[variant.scenario].name.as_str()));
                assert_eq!(variant.trial.warmup_ms > 0, warm && !cold, "{name}, quick {quick}, {}", variant.label());
            }
        }
    }
}

#[test]
fn workers_are_divided_among_processes_that_are_stated() {
    let of = |lines: &str, workers: u32| {
        let toml = format!(
            "name = 's'\ntitle = '?'\nworkload = 'insert'\n[[scenario]]\nname = 'one'\nsharing = 'pool(1)'\n{lines}\n\
             role.w = {{ run = 'insert', workers = {workers}, for = '1s' }}"
        );
        resolve_beside(&[], &toml, &Options::default())
    };
    let plan = of("executor = 'processes'\nprocesses = 2", 5).expect("each process has a pool");
    assert_eq!(plan.variants[0].processes, Some(2));
    let varied = of("executor = 'processes'\nvary.processes = [1, 2]", 5).expect("a dimension");
    assert_eq!(varied.variants.iter().map(|v| v.processes).collect::<Vec<_>>(), [Some(1), Some(2)]);
    refused(of("executor = 'processes'", 5), &["sharing `pool(1)` has nothing to share", "how many `processes`"]);
    refused(of("processes = 2", 5), &["`processes` divides the workers of executor `processes`"]);
    refused(of("executor = 'processes'\nprocesses = 2", 1), &["processes: `2` is 2: allowed is 1 to 1"]);
    let kill = "executor = 'processes'\nprocesses = 2\nkill = { role = 'w', processes = 1, after = '100ms' }";
    refused(of(kill, 5), &["`processes` and `kill` exclude each other"]);
}
