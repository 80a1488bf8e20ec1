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
    assert_eq!(measured("\"throughput\", \"p99\", \"cpu\"", ""), (100, false));
    for metric in ["probe_p50", "probe_max", "pool_wait_p99", "utilization"] {
        assert_eq!(measured(&format!("\"p50\", \"{metric}\""), ""), (10, false), "{metric}");
    }
    for metric in ["query", "first_row_p99"] {
        assert_eq!(measured(&format!("\"{metric}\""), ""), (100, true), "{metric}");
    }
}

#[test]
fn an_alert_asks_as_its_scenario_does() {
    let alert = |metric: &str| format!("\"p50\"]\nalert = [{{ metric = \"{metric}\", at_most = \"5 ms\" }}");
    assert_eq!(measured(&alert("probe_p99"), ""), (10, false));
    assert_eq!(measured(&alert("query"), ""), (100, true));
    assert_eq!(measured(&alert("p99"), ""), (100, false));
}

#[test]
fn a_claim_asks_as_its_scenario_does() {
    let claim = |metric: &str| {
        format!(
            "[[claim]]\nname = \"c\"\ntext = \"x\"\nscenario = \"s\"\nmetric = \"{metric}\"\nvariant = {{}}\nat_most = \"1 s\"\n"
        )
    };
    assert_eq!(measured("\"p50\"", &claim("probe_p99")), (10, false));
    assert_eq!(measured("\"p50\"", &claim("query")), (100, true));
    assert_eq!(measured("\"p50\"", &claim("p99")), (100, false));
}
