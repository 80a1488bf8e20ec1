//! Crossovers and setups: valid input resolves to variants, invalid input is one line with its position.

use litelab_model::{Options, Plan};
use litelab_protocol::{Begin, Dialect};

use crate::support;

const WORKLOAD: &str = r#"
name = "w"
schema.sql = "CREATE TABLE t(id INTEGER PRIMARY KEY)"
content = ["t"]
[transaction.insert]
sql = "INSERT INTO t VALUES (:id)"
param.id = { sequence = {} }
"#;

const STUDY: &str = r#"
name = "s"
title = "A test?"
[[scenario]]
name = "one"
workload = "w.toml"
role.w = { run = "insert", count = 10 }
vary.workers = [1, 2, 8]
setup = [
  { sharing = "own-connection", profile = "wal-full" },
  { sharing = "writer-readers(2)", profile = "wal-full" },
  { sharing = "writer-readers(2)", profile = "wal-normal" },
]
quick.vary.workers = [2]
"#;

const CROSSOVER: &str = r#"
[[crossover]]
scenarios = ["one"]
over = "workers"
base = { sharing = "own-connection" }
others = [{ sharing = "writer-readers(2)", profile = "wal-full" }, { profile = "wal-normal" }]
metrics = ["throughput", "p99"]
"#;

fn resolved(toml: &str, options: &Options) -> Result<Plan, String> {
    support::resolve_beside(&[("w.toml", WORKLOAD)], toml, options)
}

/// Asserts that the study with this change is refused in one line that contains all parts.
fn refused(from: &str, to: &str, parts: &[&str]) {
    let toml = format!("{STUDY}{CROSSOVER}");
    assert!(toml.contains(from), "{from}");
    support::refused(resolved(&toml.replacen(from, to, 1), &Options::default()), parts);
}

#[test]
fn each_setup_is_combined_with_all_that_varies() {
    let plan = resolved(STUDY, &Options::default()).unwrap();
    let labels: Vec<String> = plan.variants.iter().map(litelab_model::Variant::label).collect();
    assert_eq!(labels.len(), 9);
    assert_eq!(labels[0], "sharing=own-connection profile=wal-full workers=1");
    assert_eq!(labels[8], "sharing=writer-readers(2) profile=wal-normal workers=8");
    assert_eq!((plan.variants[8].profile.as_str(), plan.variants[8].workers()), ("wal-normal", 8));
}

#[test]
fn the_small_scale_may_leave_setups_out() {
    let toml = STUDY.replace(
        "quick.vary",
        "quick.without = [{ sharing = \"writer-readers(2)\", profile = \"wal-full\" }]\nquick.vary",
    );
    assert_eq!(resolved(&toml, &Options::default()).unwrap().variants.len(), 9);
    let quick = Options { quick: true, ..Options::default() };
    let labels: Vec<String> =
        resolved(&toml, &quick).unwrap().variants.iter().map(litelab_model::Variant::label).collect();
    let expected =
        ["sharing=own-connection profile=wal-full workers=2", "sharing=writer-readers(2) profile=wal-normal workers=2"];
    assert_eq!(labels, expected);
    let error = resolved(&toml.replace("wal-full\" }]", "wal-of\" }]"), &quick).unwrap_err();
    assert!(error.contains("quick.without: no combination has sharing=writer-readers(2) profile=wal-of"), "{error}");
}

#[test]
fn a_scenario_may_hash_other_tables_than_its_workload() {
    let plan = resolved(STUDY, &Options::default()).unwrap();
    assert_eq!(plan.variants[0].content, ["t"]);
    let none = STUDY.replace("quick.vary", "content = []\nquick.vary");
    assert!(resolved(&none, &Options::default()).unwrap().variants[0].content.is_empty());
}

#[test]
fn a_crossover_finds_a_variant_at_each_value() {
    let plan = resolved(&format!("{STUDY}{CROSSOVER}"), &Options { aa: true, ..Options::default() }).unwrap();
    let [crossover] = plan.crossovers.as_slice() else { panic!("{:?}", plan.crossovers) };
    assert_eq!(
        (crossover.base.label.as_str(), crossover.others[0].label.as_str()),
        ("own-connection", "writer-readers(2) wal-full")
    );
    assert_eq!(crossover.base.variants, [(1, 0), (2, 1), (8, 2)]);
    assert_eq!(crossover.others[1].variants, [(1, 6), (2, 7), (8, 8)]);
    assert_eq!(crossover.metrics.len(), 2);
}

#[test]
fn what_the_command_line_leaves_out_has_no_crossover() {
    let toml = format!("{STUDY}{CROSSOVER}");
    let quick = Options { quick: true, ..Options::default() };
    assert_eq!(resolved(&toml, &quick).unwrap().crossovers, [], "one value is left of three");
    let two = toml.replace(
        "[[crossover]]",
        "[[scenario]]\nname = \"two\"\nworkload = \"w.toml\"\nrole.w = { run = \"insert\", count = 1 }\n[[crossover]]",
    );
    let only = Options { only: vec!["two".into()], ..Options::default() };
    assert_eq!(resolved(&two, &only).unwrap().crossovers, []);
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    refused("over = \"workers\"", "over = \"worker\"", &["crossover 1: scenario `one`:", "did you mean `workers`?"]);
    refused("over = \"workers\"", "over = \"sharing\"", &["`sharing` is what grows: leave it out"]);
    refused(
        "others = [{ sharing = \"writer-readers(2)\",",
        "others = [{ sharng = \"writer-readers(2)\",",
        &["did you mean `sharing`?"],
    );
    refused("{ profile = \"wal-normal\" }]", "{ profile = \"wal-off\" }]", &["no variant has profile=wal-off"]);
    refused(
        "{ profile = \"wal-normal\" }]",
        "{ sharing = \"writer-readers(2)\" }]",
        &["several variants have sharing=writer-readers(2) at workers=1"],
    );
    refused("{ profile = \"wal-normal\" }]", "{ sharing = \"own-connection\" }]", &["compared with itself"]);
    refused("scenarios = [\"one\"]", "scenarios = [\"on\"]", &["unknown scenario `on`", "`one`"]);
    refused("scenarios = [\"one\"]", "scenarios = []", &["must each have an entry"]);
    refused("\"throughput\", \"p99\"]", "\"throughptu\"]", &["did you mean `throughput`?"]);
    refused("base = {", "bse = {", &["unknown key `bse`: did you mean `base`?"]);
    refused("vary.workers = [1, 2, 8]", "vary.workers = [1]", &["fewer than two values"]);
    refused("vary.workers = [1, 2, 8]", "vary.profile = [\"wal-off\"]", &["`profile` stands in `vary` already"]);
}

/// The queue in the SQL of each database: no SQLite clock on a server, and claims that skip locked rows.
#[test]
fn the_queue_speaks_every_dialect() {
    let toml = r#"
name = "s"
title = "A test?"
[[scenario]]
name = "one"
workload = "task-queue-modern"
vary.driver = ["rusqlite", "go:postgres", "go:mysql"]
profile = "as-it-comes"
role.w = { run = ["enqueue", "enqueue-once", "schedule", "claim", "heartbeat", "complete", "fail", "reap"], count = 8 }
"#;
    let plan = support::resolved(toml).unwrap();
    let sql = |variant: &litelab_model::Variant, transaction: &str| {
        let found = variant.trial.transactions.iter().find(|t| t.name == transaction).unwrap();
        found.statements.iter().map(|s| s.sql.as_str()).collect::<Vec<_>>().join(";")
    };
    for variant in &plan.variants {
        let lite = variant.dialect.is_sqlite();
        assert_eq!(sql(variant, "claim").contains("FOR UPDATE SKIP LOCKED"), !lite, "{}", variant.driver);
        for transaction in &variant.trial.transactions {
            let sql = sql(variant, &transaction.name);
            assert_eq!(sql.contains("julianday"), lite, "{}: {sql}", variant.driver);
            assert!(variant.dialect != Dialect::Mysql || !sql.contains("RETURNING"), "{sql}");
        }
        // Only MariaDB needs two statements for a claim, and therefore a transaction.
        let claim = variant.trial.transactions.iter().find(|t| t.name == "claim").unwrap();
        let expected = if variant.dialect == Dialect::Mysql { (2, Begin::Immediate) } else { (1, Begin::None) };
        assert_eq!((claim.statements.len(), claim.begin), expected, "{}", variant.driver);
    }
}

#[test]
fn with_other_drivers_a_crossover_without_its_lines_is_left_out() {
    let toml = format!("{STUDY}{CROSSOVER}").replace("setup = [", "vary.driver = ['a', 'rusqlite']\nsetup = [");
    let toml = toml
        .replace("base = { sharing", "base = { driver = 'a', sharing")
        .replace("others = [{ sharing", "others = [{ driver = 'a', sharing")
        .replace("{ profile = \"wal-normal\" }]", "{ driver = 'a', profile = \"wal-normal\" }]");
    assert_eq!(resolved(&toml, &Options::default()).unwrap().crossovers.len(), 1);
    let options = Options { drivers: vec!["rusqlite".into()], ..Options::default() };
    assert!(resolved(&toml, &options).unwrap().crossovers.is_empty());
}
