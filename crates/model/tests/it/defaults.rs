//! Keys of a study apply to scenarios that do not set them.

use litelab_model::{Options, Plan};

use crate::support::{refused, resolve_beside};

const TOP: &str = r#"
name = "x"
title = "x"
workload = "drivers"
profile = "wal-full"
data_rows = 10
metrics = ["p50", "cpu"]
vary.driver = ["rusqlite", "mattn"]
"#;

fn plan_with(toml: String, options: &Options) -> Result<Plan, String> {
    resolve_beside(&[], &toml, options)
}

fn plan(toml: String) -> Result<Plan, String> {
    plan_with(toml, &Options::default())
}

fn scenario(name: &str, keys: &str) -> String {
    format!("\n[[scenario]]\nname = \"{name}\"\nrole.worker = {{ run = \"point\", count = 1 }}\n{keys}\n")
}

/// Label, profile and rows of each variant of a scenario.
fn variants(plan: &Plan, scenario: usize) -> Vec<(String, &str, u64)> {
    let rows = |a: &litelab_model::Variant| a.data.as_ref().map_or(0, |d| d.rows);
    plan.variants.iter().filter(|a| a.scenario == scenario).map(|a| (a.label(), a.profile.as_str(), rows(a))).collect()
}

#[test]
fn a_scenario_has_what_it_does_not_state_from_the_study() {
    let plan =
        plan(format!("{TOP}{}{}", scenario("a", ""), scenario("b", "data_rows = 3\nmetrics = [\"p99\"]"))).unwrap();
    let both =
        |rows| vec![("driver=rusqlite".to_owned(), "wal-full", rows), ("driver=mattn".to_owned(), "wal-full", rows)];
    assert_eq!(variants(&plan, 0), both(10));
    assert_eq!(variants(&plan, 1), both(3));
    let names = |s: usize| plan.scenarios[s].metrics.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((names(0), names(1)), (vec!["p50".into(), "cpu".into()], vec!["p99".to_owned()]));
    assert_eq!(plan.scenarios[0].dimensions, ["driver"]);
}

#[test]
fn dimensions_add_up_and_the_scenarios_own_values_win() {
    let more = scenario("a", "vary.profile = [\"wal-normal\", \"delete-full\"]");
    let other = scenario("b", "vary.driver = [\"modernc\"]");
    let plan = plan(format!("{TOP}{more}{other}")).unwrap();
    let labels: Vec<_> = variants(&plan, 0).into_iter().map(|(label, ..)| label).collect();
    assert_eq!(
        labels,
        [
            "driver=rusqlite profile=wal-normal",
            "driver=rusqlite profile=delete-full",
            "driver=mattn profile=wal-normal",
            "driver=mattn profile=delete-full"
        ]
    );
    assert_eq!(variants(&plan, 1), [("driver=modernc".to_owned(), "wal-full", 10)]);
}

#[test]
fn a_key_that_a_scenario_states_is_not_varied_by_the_study() {
    let vary = "vary.profile = [\"wal-off\", \"wal-normal\"]\nvary.span = [1, 2]\nvary.\"worker.workers\" = [1, 2]\n";
    let own = scenario("a", "driver = \"modernc\"\nprofile = \"delete-full\"\nvars.span = 7")
        .replace("count = 1", "count = 1, workers = 4");
    let free = scenario("b", "driver = \"modernc\"");
    refused(plan(format!("{TOP}{vary}{own}{free}")), &["vary.driver has no effect"]);

    let top = TOP.replace("vary.driver", "quick.vars.span = 1\n#");
    let plan = plan(format!("{top}{vary}{own}{free}")).unwrap();
    assert_eq!(variants(&plan, 0), [("only".to_owned(), "delete-full", 10)]);
    assert_eq!(plan.variants[0].trial.roles[0].workers, 4);
    assert_eq!(variants(&plan, 1).len(), 8);
}

#[test]
fn quick_replaces_values_of_the_studys_dimensions_too() {
    let toml = format!("{TOP}{}", scenario("a", "quick.vary.driver = [\"mattn\"]"));
    let quick = plan_with(toml.clone(), &Options { quick: true, ..Options::default() }).unwrap();
    assert_eq!(variants(&quick, 0), [("driver=mattn".to_owned(), "wal-full", 10)]);
    assert_eq!(variants(&plan(toml).unwrap(), 0).len(), 2);
}

#[test]
fn mistakes_are_named_with_the_nearest_key() {
    let a = scenario("a", "");
    for (toml, parts) in [
        (format!("{}{a}", TOP.replace("profile =", "profil =")), ["`profil`", "did you mean `profile`?"]),
        (format!("{}{a}", TOP.replace("vary.driver", "vary.drivr")), ["scenario `a`", "did you mean `driver`?"]),
        (
            format!("{}{a}", TOP.replace("workload = \"drivers\"\n", "")),
            ["scenario `a`", "no `workload`, nor has the study"],
        ),
        (format!("{}{a}", TOP.replace("\"p50\"", "\"p5\"")), ["scenario `a`", "p5"]),
        (
            format!("{}{a}", TOP.replace("[\"rusqlite\", \"mattn\"]", "[]")),
            ["scenario `a`", "vary.driver has no values"],
        ),
        // Negative control: a role belongs to a scenario and cannot be set by the study.
        (format!("{TOP}role.worker = {{ run = \"point\", count = 1 }}\n{a}"), ["`role`", "known:"]),
    ] {
        refused(plan(toml), &parts);
    }
}

#[test]
fn claims_that_quick_leaves_out_are_named_and_not_examined() {
    let keys =
        "vary.profile = [\"wal-normal\", \"delete-full\"]\nquick.vary.profile = \"wal-normal\"\nvary.driver = [\"c\"]";
    let claim = |name: &str, profile: &str| {
        let of =
            format!("scenario = \"a\"\nmetric = \"p50\"\nvariant = {{ profile = \"{profile}\" }}\nat_most = \"1 s\"\n");
        format!("[[claim]]\nname = \"{name}\"\ntext = \"x\"\n{of}")
    };
    let top = TOP.replace("profile = \"wal-full\"\n", "").replace("vary.driver = [\"rusqlite\", \"mattn\"]\n", "");
    let study = |claims: &str| format!("{top}{}{claims}", scenario("a", keys));
    let of_the_full_scale = claim("large", "wal-normal") + "quick = false\n";
    let all = study(&(claim("kept", "wal-normal") + &claim("lost", "delete-full") + &of_the_full_scale));
    let names = |plan: &Plan| plan.claims.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let quick = Options { quick: true, ..Options::default() };

    let whole = plan(all.clone()).unwrap();
    assert_eq!((names(&whole), whole.left_out), (["kept", "lost", "large"].map(str::to_owned).to_vec(), vec![]));
    let small = plan_with(all, &quick).unwrap();
    assert_eq!(
        (names(&small), small.left_out),
        (vec!["kept".to_owned()], ["lost", "large"].map(str::to_owned).to_vec())
    );
    // A variant that never existed is still an error.
    refused(plan_with(study(&claim("odd", "wal-full")), &quick), &["no variant has profile=wal-full"]);
}

#[test]
fn the_share_of_transactions_that_may_fail_is_a_percent_unless_stated() {
    let bound = |top: &str, keys: &str| {
        let plan = plan(format!("{TOP}{top}\n{}", scenario("a", keys)))?;
        Ok::<_, String>(plan.variants[0].failed_at_most)
    };
    assert_eq!(bound("", "").unwrap(), 0.01);
    assert_eq!(bound("failed_at_most = 1", "").unwrap(), 1.0);
    assert_eq!(bound("failed_at_most = 1", "failed_at_most = \"5 %\"").unwrap(), 0.05);
    assert_eq!(bound("", "vars.share = 0.25\nfailed_at_most = \"$share * 2\"").unwrap(), 0.5);
    for wrong in ["failed_at_most = 5", "failed_at_most = \"many %\"", "failed_at_most = -0.1"] {
        let refused = bound("", wrong).unwrap_err();
        assert!(refused.contains("failed_at_most"), "{refused}");
    }
}
