//! Options of a driver, and the throughput limit from a scenario's own pauses.

use litelab_model::{Options, Plan, Scalar};
use litelab_protocol::Until;
use serde_json::json;

use crate::support::{refused, resolve_beside, resolved};

fn plan(keys: &str) -> Result<Plan, String> {
    let scenario = format!(
        "name = \"x\"\ntitle = \"x\"\n[[scenario]]\nname = \"s\"\nworkload = \"orchestration\"\nrole.r = {{ run = \
         \"fan-out\", count = 1 }}\n{keys}\n"
    );
    resolved(&scenario)
}

#[test]
fn options_are_as_they_stand_or_variables() {
    let keys = "options = { concurrency = \"$n\", wait = \"$kind-$n\", quick = true, size = 1.5 }\nvars = { n = 2, kind = \"told\" }\nvary.n = [2, 8]";
    let plan = plan(keys).unwrap();
    let options = |variant: usize| serde_json::to_value(&plan.variants[variant].trial.connection.options).unwrap();
    assert_eq!(options(0), json!({ "concurrency": 2, "wait": "told-2", "quick": true, "size": 1.5 }));
    assert_eq!(options(1), json!({ "concurrency": 8, "wait": "told-8", "quick": true, "size": 1.5 }));
}

#[test]
fn pauses_are_a_ceiling_where_there_are_any() {
    let plan =
        plan("pauses = \"$delay * $activities / $n ms\"\nvars.n = 1\nvary.n = [2, 8]\nvary.delay = [10, 0]").unwrap();
    let ceilings: Vec<_> = plan.variants.iter().map(|variant| variant.ceiling).collect();
    assert_eq!(ceilings, [Some(40.0), None, Some(160.0), None]);
}

#[test]
fn pauses_are_a_time() {
    refused(plan("pauses = \"$delay * $activities\""), &["pauses", "duration"]);
    let part = plan("metrics = [\"timer_time:back-off\"]");
    assert!(part.is_ok(), "a timer is no transaction");
    assert!(plan("metrics = [\"p50:back-off\"]").is_err());
}

/// A study of one scenario on the workload `insert`, with these lines of the study and of the scenario.
fn inserts(study: &str, scenario: &str, options: &Options) -> Result<Plan, String> {
    let toml =
        format!("name = 's'\ntitle = '?'\n{study}\n[[scenario]]\nname = 'one'\nworkload = 'insert'\n{scenario}\n");
    resolve_beside(&[], &toml, options)
}

#[test]
fn a_variable_without_effect_is_refused() {
    let role = "role.w = { run = 'insert', count = 10 }";
    let misspelt = ["did you mean `preload`"];
    refused(inserts("vars.prelaod = 5", role, &Options::default()), &misspelt);
    refused(inserts("", &format!("vars.prelaod = 5\n{role}"), &Options::default()), &misspelt);
    refused(inserts("quick.vars.prelaod = 5", role, &Options::default()), &misspelt);
    assert!(inserts("vars.preload = 5", role, &Options::default()).is_ok());
    let own = "role.w = { run = 'insert', count = '$n' }";
    assert!(inserts("vars.n = 5\nquick.vars.n = 2", own, &Options::default()).is_ok());
    let options = Options { vars: [("preload".to_owned(), Scalar::Integer(5))].into(), ..Options::default() };
    let varied = format!("vary.preload = [0, 10]\n{role}");
    refused(inserts("", &varied, &options), &["`preload` is a dimension", "--set"]);
}

#[test]
fn a_dimension_of_a_variables_name_sets_the_variable() {
    let lines = "vars.workers = 1\nrole.w = { run = 'insert', workers = '$workers', count = '12 / $workers' }\nvary.workers = [1, 4]";
    let plan = inserts("", lines, &Options::default()).unwrap();
    let role = &plan.variants[1].trial.roles[0];
    assert_eq!((role.workers, &role.until), (4, &Until::Count { transactions: 3 }));
}
