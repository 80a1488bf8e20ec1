//! Expensive measurements are taken only if a study requests them.

use crate::support::resolved;

/// Interval of the host probe in milliseconds in scenario `s`, and whether its statements are timed internally.
fn measured(metrics: &str, rest: &str) -> (u64, bool) {
    let scenario = |name: &str, metrics: &str| {
        let role = "workload = \"drivers\"\ndata_rows = 10\nrole.r = { run = \"point\", count = 1 }";
        format!("[[scenario]]\nname = \"{name}\"\n{role}\nmetrics = [{metrics}]\n")
    };
    let other = scenario("other", "\"p50\"");
    let toml = format!("name = \"x\"\ntitle = \"x\"\n{}{other}{rest}", scenario("s", metrics));
    let plan = resolved(&toml).unwrap();
    let trial = |scenario: usize| &plan.variants.iter().find(|variant| variant.scenario == scenario).unwrap().trial;
    assert_eq!(trial(1).probe_ms, 100, "what is asked of one scenario is not of another");
    (trial(0).probe_ms, trial(0).transactions.iter().all(|t| t.timed_rows))
}

#[test]
fn metrics_of_the_host_look_at_it_closely_and_those_of_rows_time_statements() {
    let usual = [("p99", (100, false)), ("cpu", (100, false))];
    let of_host = ["probe_p50", "probe_p99", "probe_max", "pool_wait_p99", "utilization"].map(|m| (m, (10, false)));
    let of_rows = ["query", "first_row_p99"].map(|m| (m, (100, true)));
    for (metric, expected) in usual.into_iter().chain(of_host).chain(of_rows) {
        assert_eq!(measured(&format!("\"p50\", \"{metric}\""), ""), expected, "{metric}");
        // An alert or a claim asks as its scenario does. A share has no unit.
        let bound = if metric == "utilization" { "0.5" } else { "\"1 s\"" };
        let alert = format!("\"p50\"]\nalert = [{{ metric = \"{metric}\", at_most = {bound} }}");
        assert_eq!(measured(&alert, ""), expected, "an alert of {metric}");
        let claim = format!(
            "[[claim]]\nname = \"c\"\ntext = \"x\"\nscenario = \"s\"\nmetric = \"{metric}\"\nvariant = {{}}\nat_most = {bound}\n"
        );
        assert_eq!(measured("\"p50\"", &claim), expected, "a claim of {metric}");
    }
}
