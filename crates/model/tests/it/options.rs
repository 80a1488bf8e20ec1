//! Options of a driver, and the throughput limit from a scenario's own pauses.

use litelab_model::Plan;
use serde_json::json;

use crate::support::{refused, resolved};

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
