//! Conditions on trials: alerts, searches, kills, scalability fits, invariants, and PRAGMAs as dimensions. Valid input
//! resolves to its stated meaning; invalid input is one line with its position.

use litelab_model::condition::KillPlan;
use litelab_model::plan::{InvariantPlan, Variant};
use litelab_model::{Options, Plan, Scalar};
use litelab_protocol::{Arrivals, Begin, Load};

use crate::support;

const WORKLOAD: &str = r#"
name = "w"
schema.sql = "CREATE TABLE t(id INTEGER PRIMARY KEY)"
[transaction.insert]
sql = "INSERT INTO t VALUES (:id)"
param.id = { sequence = {} }
[transaction.count]
sql = "SELECT count(*) FROM t"
[[invariant]]
about = "every insert is a row"
sql = "SELECT count(*) FROM t"
equals = "committed.insert"
"#;

/// A closed loop of the only role `w`; with `search` its rate is searched.
const BY_TIME: &str = "role.w = { run = \"insert\", workers = 4, for = \"1s\" }";
const HOLDS: &str = "holds = [{ metric = \"response_p99\", at_most = \"5 ms\" }]";

/// Resolves a study with one scenario of these lines.
fn resolved(lines: &[&str]) -> Result<Plan, String> {
    resolved_with(WORKLOAD, lines)
}

fn resolved_with(workload: &str, lines: &[&str]) -> Result<Plan, String> {
    let head = "name = \"s\"\ntitle = \"A test?\"\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\n";
    let study = format!("{head}{}\n", lines.join("\n"));
    support::resolve_beside(&[("w.toml", workload)], &study, &Options::default())
}

/// Asserts that these lines are refused in one line that names the scenario and contains all parts.
fn refused(lines: &[&str], parts: &[&str]) -> String {
    let error = support::refused(resolved(lines), parts);
    assert!(error.starts_with("s.toml: scenario `one`: "), "{error}");
    error
}

fn text(value: &str) -> Scalar {
    Scalar::Text(value.into())
}

fn pragmas(variant: &Variant) -> Vec<(&str, String)> {
    variant.settings.iter().map(|setting| (setting.name.as_str(), setting.value.clone())).collect()
}

#[test]
fn a_pragma_dimension_takes_the_place_of_the_profiles_and_a_new_one_comes_last() {
    let plan = resolved(&[
        BY_TIME,
        "profile = \"wal-normal\"",
        "vary.\"pragma.synchronous\" = [\"OFF\", \"full\"]",
        "vary.\"pragma.cache_size\" = [-4000]",
    ])
    .unwrap();
    let expected = |level: &str| {
        [("busy_timeout", "5000"), ("journal_mode", "wal"), ("synchronous", level), ("cache_size", "-4000")]
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec()
    };
    assert_eq!(plan.variants.len(), 2);
    assert_eq!(pragmas(&plan.variants[0]), expected("off"));
    assert_eq!(pragmas(&plan.variants[1]), expected("full"));
    // The settings sent to the runner and those read back follow in the same order.
    for variant in &plan.variants {
        let told: Vec<&str> = variant.trial.connection.settings.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(told, ["busy_timeout", "journal_mode", "synchronous", "cache_size"]);
        assert!(variant.trial.connection.read_back.contains(&"cache_size".to_owned()));
    }
    assert_ne!(plan.variants[0].trial.connection.settings, plan.variants[1].trial.connection.settings);
    assert_eq!(plan.variants[0].dimensions["pragma.synchronous"], text("OFF"));
    assert_eq!(plan.scenarios[0].dimensions, ["pragma.synchronous", "pragma.cache_size"]);
    // Without the dimension the profile has the values of its file.
    let plain = resolved(&[BY_TIME, "profile = \"wal-normal\""]).unwrap();
    assert_eq!(pragmas(&plain.variants[0])[2], ("synchronous", "normal".to_owned()));
    assert_eq!(plain.variants[0].settings.len(), 3);
}

#[test]
fn a_variant_may_have_options_of_its_own() {
    let plan = resolved(&[
        BY_TIME,
        "options = { cache = 1, size = \"$size\" }",
        "vars = { size = 4, other = \"far\" }",
        "vary.\"option.cache\" = [2, true]",
        "variant = [{ size = 5 }, { \"option.place\" = \"$other\" }]",
    ])
    .unwrap();
    let options: Vec<String> =
        plan.variants.iter().map(|variant| serde_json::to_string(&variant.trial.connection.options).unwrap()).collect();
    let expected = [
        r#"{"cache":2,"size":4}"#,
        r#"{"cache":true,"size":4}"#,
        r#"{"cache":1,"size":5}"#,
        r#"{"cache":1,"place":"far","size":4}"#,
    ];
    assert_eq!(options, expected);
    assert_eq!(plan.scenarios[0].dimensions, ["option.cache", "size", "option.place"]);
    refused(&[BY_TIME, "vary.\"option.a\" = [\"$nothing\"]"], &["options.a", "nothing"]);
}

#[test]
fn a_pragma_dimension_is_checked_like_a_profile() {
    let vary = |name: &str, value: &str| format!("vary.\"pragma.{name}\" = [{value}]");
    // The error names the dimension and the problem.
    refused(
        &[BY_TIME, &vary("synchronous", "\"WAL\"")],
        &["dimension `pragma.synchronous`", "is not one of its words"],
    );
    refused(&[BY_TIME, &vary("cache_size", "\"64MB\"")], &["dimension `pragma.cache_size`", "-65536 (64 MiB)"]);
    refused(
        &[BY_TIME, &vary("synchronus", "\"OFF\"")],
        &["dimension `pragma.synchronus`", "did you mean synchronous?"],
    );
    refused(&[BY_TIME, &vary("zzz", "1")], &["dimension `pragma.zzz`"]);
    // A valid setting can come too late: the profile has created the WAL by then.
    refused(
        &[BY_TIME, "profile = \"wal-normal\"", &vary("page_size", "8192")],
        &["profile `wal-normal` with `pragma.page_size`", "put page_size first"],
    );
    let alone = [BY_TIME, "profile = \"as-it-comes\"", &vary("page_size", "8192")];
    assert_eq!(pragmas(&resolved(&alone).unwrap().variants[0]).last().unwrap().0, "page_size");
}

#[test]
fn a_begin_that_no_transaction_takes_is_no_dimension() {
    let vary = "vary.begin = [\"deferred\", \"immediate\"]";
    refused(&[BY_TIME, vary], &["dimension `begin` has no effect on autocommits, such as `insert`"]);
    let begins = |workload: &str| {
        let plan = resolved_with(workload, &[BY_TIME, vary]).expect(workload);
        plan.variants.iter().map(|v| (v.trial.transactions[0].begin, v.own_begins.clone())).collect::<Vec<_>>()
    };
    let stated = WORKLOAD.replacen("[transaction.insert]", "[transaction.insert]\nbegin = \"exclusive\"", 1);
    let own = vec![Begin::Exclusive];
    assert_eq!(begins(&stated), [(Begin::Deferred, own.clone()), (Begin::Immediate, own)]);
}

#[test]
fn a_search_makes_its_role_one_of_arrivals() {
    let search = format!("search = {{ rate = \"w\", from = 50, {HOLDS} }}");
    let plan = resolved(&[BY_TIME, &search]).unwrap();
    let variant = &plan.variants[0];
    let found = variant.search.as_ref().unwrap();
    assert_eq!((found.role.as_str(), found.from, found.factor, found.precision), ("w", 50.0, 2.0, 0.1));
    assert_eq!((found.repeats, found.holds.len()), (3, 1));
    assert_eq!((found.holds[0].metric.to_string().as_str(), found.holds[0].at_most), ("response_p99", Some(5e6)));
    assert_eq!(variant.trial.roles[0].load, Load::Open { rate: 50.0, arrivals: Arrivals::Poisson });
    // The role's own rate only determines the distribution of arrivals.
    let role = "role.w = { run = \"insert\", for = \"1s\", rate = 7, arrivals = \"constant\" }";
    let stated =
        [role, "vars.start = 20", "search.rate = \"w\"", "search.from = \"$start * 2\"", "search.factor = 1.5"];
    let more =
        ["search.precision = 0.25", "search.repeats = 5", "search.holds = [{ metric = \"errors\", at_most = 0 }]"];
    let plan = resolved(&[&stated[..], &more[..]].concat()).unwrap();
    let found = plan.variants[0].search.as_ref().unwrap();
    assert_eq!((found.from, found.factor, found.precision, found.repeats), (40.0, 1.5, 0.25, 5));
    assert_eq!(plan.variants[0].trial.roles[0].load, Load::Open { rate: 40.0, arrivals: Arrivals::Constant });
    // Without a search the role is unchanged.
    let plain = resolved(&[BY_TIME]).unwrap();
    assert_eq!(
        (&plain.variants[0].search, &plain.variants[0].trial.roles[0].load),
        (&None, &Load::Closed { think_us: 0 })
    );
}

#[test]
fn a_metric_of_the_whole_trial_is_not_one_of_a_transaction() {
    let words = ["only the whole trial: write `wal_peak`"];
    refused(&[BY_TIME, "metrics = [\"p99:insert\", \"wal_peak:insert\"]"], &words);
    refused(&[BY_TIME, "alert = [{ metric = \"wal_peak:insert\", at_most = \"5 MiB\" }]"], &words);
    resolved(&[BY_TIME, "metrics = [\"p99:insert\", \"wal_peak\"]"]).unwrap();
}

#[test]
fn a_search_that_could_not_end_or_means_nothing_is_refused() {
    let search = |keys: &str| format!("search = {{ rate = \"w\", from = 50, {keys} }}");
    let role = |keys: &str| format!("role.w = {{ run = \"insert\", {keys} }}");
    let here = |role: &str, search: &str, parts: &[&str]| {
        let error = refused(&[role, search], parts);
        assert!(error.contains("search: "), "{error}");
    };
    let unknown = format!("search = {{ rate = \"wrtiers\", from = 50, {HOLDS} }}");
    here("role.writers = { run = \"insert\", for = \"1s\" }", &unknown, &["role `wrtiers`", "did you mean `writers`?"]);
    here(&role("for = \"1s\", think = \"5ms\""), &search(HOLDS), &["role `w`", "`think`"]);
    here(BY_TIME, &search("holds = []"), &["`holds` is empty"]);
    let itself = "holds = [{ metric = \"sustainable\", at_least = 5 }]";
    here(BY_TIME, &search(itself), &["`sustainable` is what is sought"]);
    here(&role("count = 100"), &search(HOLDS), &["role `w` must end by time", "`for`"]);
    for (factor, refused) in [("1", true), ("0.5", true), ("-2", true), ("1.01", false)] {
        let search = search(&format!("factor = {factor}, {HOLDS}"));
        if refused {
            here(BY_TIME, &search, &["factor", "above 1"]);
        } else {
            assert!(resolved(&[BY_TIME, &search]).is_ok(), "{search}");
        }
    }
    // No next rate, or the first kept rate would be the highest that may be tried.
    for factor in ["1.0000000000000002", "2000000"] {
        here(BY_TIME, &search(&format!("factor = {factor}, {HOLDS}")), &["factor", "from 1.01 to 10000"]);
    }
    here(BY_TIME, &search(&format!("precision = 0, {HOLDS}")), &["precision", "above 0"]);
    here(BY_TIME, &search(&format!("precision = 1e-17, {HOLDS}")), &["precision", "from 0.001 to 10"]);
    here(BY_TIME, &format!("search = {{ rate = \"w\", from = 0, {HOLDS} }}"), &["from", "above 0"]);
    here(BY_TIME, &format!("search = {{ rate = \"w\", from = \"$fro\", {HOLDS} }}"), &["from", "`fro`"]);
    for repeats in ["0", "100", "1.5"] {
        here(BY_TIME, &search(&format!("repeats = {repeats}, {HOLDS}")), &["repeats"]);
    }
    here(BY_TIME, &search("holds = [{ metric = \"response_p98\", at_most = 5 }]"), &["did you mean `response_p9"]);
    here(BY_TIME, &search("holds = [{ metric = \"errors\" }]"), &["`errors` needs `at_least` or `at_most`"]);
    here(
        BY_TIME,
        &search("holds = [{ metric = \"cpu:insert\", at_most = \"5 ms\" }]"),
        &["metric `cpu:insert`", "only the whole trial: write `cpu`"],
    );
    here(
        BY_TIME,
        &search("holds = [{ metric = \"p99:inzert\", at_most = \"5 ms\" }]"),
        &["`holds`", "did you mean `insert`?"],
    );
    here(BY_TIME, &format!("search = {{ rate = \"w\", from = 1e8, {HOLDS} }}"), &["from", "10000000"]);
    // Another role can wait for the searched one, but not the reverse.
    let beside = "role.r = { run = \"count\", until = \"w\" }";
    assert!(resolved(&[BY_TIME, beside, &search(HOLDS)]).is_ok());
    let turned = format!("search = {{ rate = \"r\", from = 50, {HOLDS} }}");
    here(&format!("{BY_TIME}\n{beside}"), &turned, &["role `r` must end by time"]);
}

#[test]
fn bounds_that_nothing_could_keep_or_break_are_refused() {
    let alert = |keys: &str| format!("alert = [{{ {keys} }}]");
    refused(&[BY_TIME, &alert("metric = \"p99\"")], &["alert: ", "`p99` needs `at_least` or `at_most`"]);
    refused(&[BY_TIME, &alert("metric = \"p98\", at_most = 1")], &["alert: ", "did you mean `p9"]);
    refused(&[BY_TIME, &alert("metric = \"p99\", at_most = \"5 parsecs\"")], &["alert: ", "5 parsecs"]);
    refused(
        &[BY_TIME, &alert("metric = \"p99\", at_least = \"5 ms\", at_most = \"5 us\"")],
        &["alert: ", "at_least", "above at_most"],
    );
    let bounds = "metric = \"p99:insert\", at_least = \"5 us\", at_most = \"5 ms\", text = \"Slow?\"";
    let plan = resolved(&[BY_TIME, &alert(bounds)]).unwrap();
    let [limit] = plan.scenarios[0].alerts.as_slice() else { panic!("{:?}", plan.scenarios[0].alerts) };
    assert_eq!((limit.at_least, limit.at_most, limit.text.as_str()), (Some(5e3), Some(5e6), "Slow?"));
    assert!(resolved(&[BY_TIME]).unwrap().scenarios[0].alerts.is_empty());
}

const KILL: &str = "kill = { role = \"w\", processes = 2, after = \"200ms\" }";
const PROCESSES: &str = "executor = \"processes\"";

#[test]
fn a_kill_is_resolved_and_counted_for_invariants() {
    let survive = "invariant = [{ sql = \"SELECT count(*) FROM t\", at_most = \"committed.insert + 10 * $killed\" }]";
    let plan = resolved(&[PROCESSES, BY_TIME, KILL, survive]).unwrap();
    let kill = KillPlan::Processes { role: "w".into(), processes: 2, after_ms: 200 };
    assert_eq!(plan.variants[0].kill.as_ref(), Some(&kill));
    assert_eq!(plan.variants[0].invariants[0].at_most.as_deref(), Some("committed.insert + 10 * 2"));
    // The number of kills can itself vary.
    let varied = "kill = { role = \"w\", processes = \"$victims\", after = \"200ms\" }";
    let lines = [PROCESSES, BY_TIME, varied, survive, "vars.victims = 0", "vary.victims = [1, 3]"];
    let plan = resolved(&lines).unwrap();
    let bounds: Vec<_> = plan.variants.iter().map(|variant| variant.invariants[0].at_most.clone().unwrap()).collect();
    assert_eq!(bounds, ["committed.insert + 10 * 1", "committed.insert + 10 * 3"]);
    // Without a kill there is no such variable.
    refused(&[PROCESSES, BY_TIME, survive], &["invariant 1", "`killed`"]);
}

#[test]
fn a_kill_that_cannot_happen_is_refused() {
    let here = |lines: &[&str], parts: &[&str]| {
        let error = refused(lines, parts);
        assert!(error.contains("kill: "), "{error}");
    };
    let kill = |role: &str, processes: u32, after: &str| {
        format!("kill = {{ role = \"{role}\", processes = {processes}, after = \"{after}\" }}")
    };
    here(&[BY_TIME, KILL], &["executor = \"processes\""]);
    here(&[PROCESSES, BY_TIME, &kill("ww", 1, "1ms")], &["unknown role `ww`"]);
    here(&[PROCESSES, BY_TIME, &kill("w", 4, "1ms")], &["role `w` has 4 workers", "one at least must stay"]);
    here(&[PROCESSES, BY_TIME, &kill("w", 5, "1ms")], &["role `w` has 4 workers"]);
    here(&[PROCESSES, BY_TIME, &kill("w", 0, "1ms")], &["processes"]);
    // Three kills need more than three times the pause; the role lasts one second.
    here(&[PROCESSES, BY_TIME, &kill("w", 3, "334ms")], &["3 kills", "334 ms apart", "1000 ms"]);
    assert!(resolved(&[PROCESSES, BY_TIME, &kill("w", 3, "333ms")]).is_ok());
    here(&[PROCESSES, BY_TIME, &kill("w", 1, "100us")], &["0 ms apart"]);
    let by_count = "role.w = { run = \"insert\", workers = 4, count = 100 }";
    here(&[PROCESSES, by_count, KILL], &["role `w` must end by time"]);
    let no_unit = "kill = { role = \"w\", processes = 2, after = 200 }";
    here(&[PROCESSES, BY_TIME, no_unit], &["after: ", "no unit"]);
}

#[test]
fn the_law_of_scalability_needs_three_whole_levels() {
    let over = |dimension: &str, values: &str| format!("usl = \"{dimension}\"\nvary.{dimension} = [{values}]");
    let plan = resolved(&[BY_TIME, &over("workers", "1, 2, 4")]).unwrap();
    assert_eq!(plan.scenarios[0].usl.as_deref(), Some("workers"));
    refused(&[BY_TIME, "usl = \"wrokers\"\nvary.workers = [1, 2, 4]"], &["usl: ", "did you mean `workers`?"]);
    refused(&[BY_TIME, "usl = \"workers\""], &["usl: ", "unknown dimension `workers`"]);
    refused(&[BY_TIME, &over("workers", "1, 2")], &["usl: ", "`workers` has 2 levels", "three parameters"]);
    let variable = |values: &str| format!("vars.n = 1\n{}", over("n", values));
    refused(&[BY_TIME, &variable("1, 2, 2.5")], &["usl: ", "`n` is `2.5`", "whole number"]);
    refused(&[BY_TIME, &variable("0, 1, 2, 3")], &["usl: ", "`n` is `0`", "at least 1"]);
    refused(&[BY_TIME, &variable("1, 2, \"many\"")], &["usl: ", "`n` is `many`"]);
    // The number of levels counts, not the number of variants.
    refused(&[BY_TIME, &over("workers", "1, 2"), "vary.prepare = [true, false]"], &["`workers` has 2 levels"]);
    assert_eq!(resolved(&[BY_TIME]).unwrap().scenarios[0].usl, None);
}

#[test]
fn an_invariant_needs_something_that_could_break_it() {
    let invariant = |keys: &str| format!("invariant = [{{ sql = \"SELECT count(*) FROM t\", {keys} }}]");
    refused(&[BY_TIME, &invariant("about = \"rows\"")], &["invariant 1: ", "`equals`, `at_least` or `at_most`"]);
    refused(&[BY_TIME, &invariant("at_least = \"comitted.insert\"")], &["invariant 1: ", "did you mean `committed`?"]);
    refused(&[BY_TIME, &invariant("at_most = \"committed.inzert\"")], &["invariant 1: ", "did you mean `insert`?"]);
    refused(&[BY_TIME, &invariant("at_most = \"$x\"")], &["invariant 1: ", "`x`"]);
    refused(&[BY_TIME, &invariant("at_most = \"1 +\"")], &["invariant 1: ", "ends where"]);
    // For an invariant of a workload the error names the workload.
    let workload = WORKLOAD.replace("equals = \"committed.insert\"", "");
    let error = resolved_with(&workload, &[BY_TIME]).unwrap_err();
    assert!(error.contains("workload `w`: invariant 1: it needs `equals`"), "{error}");
    // Each bound alone, and all together.
    for keys in ["equals = 1", "at_least = 1", "at_most = 1", "equals = 1, at_least = 1, at_most = 1"] {
        let found = resolved(&[BY_TIME, &invariant(keys)]).unwrap().variants[0].invariants.remove(0);
        let stated = [("equals", found.equals), ("at_least", found.at_least), ("at_most", found.at_most)];
        for (name, value) in stated {
            assert_eq!(value.is_some(), keys.contains(name), "{keys}: {name}");
        }
    }
}

#[test]
fn invariants_of_a_scenario_replace_those_of_its_workload() {
    let about = |lines: &[&str]| -> Vec<String> {
        let plan = resolved(lines).unwrap();
        plan.variants[0].invariants.iter().map(|i: &InvariantPlan| i.about.clone()).collect()
    };
    assert_eq!(about(&[BY_TIME]), ["every insert is a row"]);
    let own = "invariant = [{ about = \"mine\", sql = \"SELECT 1\", equals = 1 }, { sql = \"SELECT 2\", at_most = 2 }]";
    assert_eq!(about(&[BY_TIME, own]), ["mine", "SELECT 2"]);
}

#[test]
fn an_invariant_may_be_of_some_drivers_only() {
    let checked = |driver: &str, drivers: &str| {
        let own = format!("invariant = [{{ sql = \"SELECT 1\", equals = 1, drivers = [{drivers}] }}]");
        let plan = resolved(&[BY_TIME, &format!("driver = \"{driver}\""), &own]).unwrap();
        !plan.variants[0].invariants.is_empty()
    };
    for (driver, drivers, expected) in [
        ("sqlite3", "", true),
        ("sqlite3", "\"sqlite3\"", true),
        ("python:sqlite3", "\"sqlite3\"", true),
        ("python:sqlite3", "\"python:sqlite3\"", true),
        ("sqlite3", "\"python:sqlite3\"", true),
        ("node:sqlite", "\"node:sqlite\"", true),
        ("node:node:sqlite", "\"node:sqlite\"", true),
        ("python:sqlite3", "\"apsw\", \"sqlite3\"", true),
        ("python:apsw", "\"sqlite3\"", false),
        ("c:sqlite3", "\"python:sqlite3\"", false),
        ("better-sqlite3", "\"sqlite3\"", false),
        ("rusqlite", "\"sqlite3\"", false),
    ] {
        assert_eq!(checked(driver, drivers), expected, "{driver} and drivers = [{drivers}]");
    }
    // With drivers as a dimension, each variant is checked against its own driver.
    let own = "invariant = [{ sql = \"SELECT 1\", equals = 1, drivers = [\"sqlite3\"] }]";
    let plan = resolved(&[BY_TIME, own, "vary.driver = [\"rusqlite\", \"python:sqlite3\"]"]).unwrap();
    assert_eq!(plan.variants.iter().map(|variant| variant.invariants.len()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn what_has_no_effect_is_refused() {
    let search = format!("search = {{ rate = \"w\", from = 10, {HOLDS} }}");
    let rates = "vary.\"w.rate\" = [10, 20]";
    refused(&[BY_TIME, rates, &search], &["`w.rate` has no effect"]);
    let kill = "kill = { role = \"w\", processes = 1, after = \"1ms\" }";
    let processes = "executor = \"processes\"";
    refused(&[BY_TIME, processes, "vars.killed = 3", kill], &["`killed` is a variable already"]);
    // A metric of a transaction that no role runs would never have a value.
    refused(&[BY_TIME, "metrics = [\"p99:inserts\"]"], &["`inserts`", "did you mean `insert`"]);
    let alert = "alert = [{ metric = \"p99:cont\", at_most = \"1 s\" }]";
    refused(&[BY_TIME, alert], &["`cont`", "did you mean `count`"]);
}
