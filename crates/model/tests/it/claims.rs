//! Claims: whose they are, the words of their source, and the bounds made of a published figure.

use litelab_model::claim::Origin;
use litelab_model::plan::ClaimPlan;
use litelab_model::{Options, Plan};

use crate::support::{refused, resolve_beside};

/// A study with one scenario of two variants, and one claim with these lines.
fn study(lines: &str) -> Result<Plan, String> {
    let toml = format!(
        "name = 's'\ntitle = '?'\n[[scenario]]\nname = 'one'\nworkload = 'insert'\nrole.w = {{ run = 'insert', count = 1 }}\n\
         vary.workers = [1, 2]\n[[claim]]\nname = 'c'\ntext = 'c'\nscenario = 'one'\nvariant = {{ workers = 1 }}\n{lines}\n"
    );
    resolve_beside(&[], &toml, &Options::default())
}

fn claim(lines: &str) -> ClaimPlan {
    study(lines).unwrap_or_else(|e| panic!("{lines}: {e}")).claims.remove(0)
}

fn bounds(lines: &str) -> (Option<f64>, Option<f64>) {
    let claim = claim(lines);
    (claim.at_least, claim.at_most)
}

#[test]
fn a_claim_is_its_studys_own_unless_a_source_is_quoted() {
    let own = claim("metric = 'p50'\nat_most = '5 ms'");
    assert_eq!((own.origin, own.quote.as_str()), (Origin::Own, ""));
    for (word, origin) in [("source", Origin::Source), ("advice", Origin::Advice)] {
        let quoted =
            format!("metric = 'p50'\nat_most = '1 s'\norigin = '{word}'\nquote = 'It is fast.'\nplace = 'Results'");
        let claim = claim(&quoted);
        assert_eq!((claim.origin, &*claim.quote, &*claim.place), (origin, "It is fast.", "Results"));
        let bare = format!("metric = 'p50'\nat_most = '1 s'\norigin = '{word}'");
        refused(study(&bare), &[&format!("origin `{word}` needs the source's words in `quote`")]);
        refused(study(&format!("{bare}\nquote = 'x'")), &["`quote` needs its `place`"]);
    }
    refused(
        study("metric = 'p50'\nat_most = '1 s'\nquote = 'x'\nplace = 'y'"),
        &["a claim of one's own has no `quote`"],
    );
    refused(study("metric = 'memory:insert'\nat_most = '1 MiB'"), &["metric `memory:insert`", "write `memory`"]);
    refused(study("metric = 'p50'\nat_most = '1 s'\nplace = 'y'"), &["`place` is that of a `quote`"]);
}

#[test]
fn a_published_figure_has_a_band() {
    let against = "against = { workers = 2 }";
    assert_eq!(bounds("metric = 'throughput'\npublished = [400, 500]"), (Some(200.0), Some(1000.0)));
    assert_eq!(bounds(&format!("metric = 'throughput'\npublished = 1.6\n{against}")), (Some(1.28), Some(2.0)));
    assert_eq!(bounds("metric = 'p50'\npublished = '3 ms'"), (Some(1.5e6), Some(6e6)));
    assert_eq!(bounds("metric = 'wal_peak'\npublished = ['4 MB', '8 MB']"), (Some(3.2e6), Some(1e7)));
    let directed = format!("metric = 'throughput'\npublished = 1.1\nat_least = 1.05\n{against}");
    assert_eq!(bounds(&directed), (Some(1.05), Some(1.1 * 1.25)), "a stated bound takes the place of that end");
}

#[test]
fn a_figure_is_a_number_above_0_or_a_range() {
    let figure = |text: &str| study(&format!("metric = 'throughput'\npublished = {text}"));
    for wrong in ["0", "-1", "[2, 1]", "[1, 1]", "[1, 2, 3]", "[]"] {
        refused(figure(wrong), &["published: write a figure above 0, or a range as [low, high]"]);
    }
    refused(figure("'some 20 ms'"), &["published: `some 20 ms` is no number", "belong into `quote`"]);
    refused(study("metric = 'p50'"), &["it needs `published`, `at_least` or `at_most`"]);
    for nothing in ["metric = 'failed'\nat_most = '100 %'", "metric = 'p50'\nat_least = 0"] {
        refused(study(nothing), &["nothing could contradict it"]);
    }
    refused(study("metric = 'p50'\nat_most = '3 %'"), &["`3 %` is of another unit"]);
    refused(study("metric = 'p50'\nat_most = 20"), &["`20` has no unit", "\"20 ms\""]);
    refused(study("metric = 'failed'\nat_most = 20"), &["`20` is more than all", "\"5 %\""]);
    refused(
        study("metric = 'p50'\npublished = '1 ms'\nat_least = '3 ms'"),
        &["at_least 3000000 is above at_most 2000000"],
    );
}

#[test]
fn a_ratio_may_be_of_two_metrics() {
    let of_one = claim("metric = 'wait_p50'\nagainst_metric = 'period'\npublished = 38\nbeside = 'p50'");
    assert_eq!(of_one.against, Some(of_one.variant), "of one variant unless another is named");
    assert_eq!((of_one.at_least, of_one.at_most), (Some(38.0 / 1.25), Some(38.0 * 1.25)), "as wide as a ratio");
    let names: Vec<String> = of_one.metrics().map(ToString::to_string).collect();
    assert_eq!(names, ["wait_p50", "period", "p50"]);
    let of_two = claim("metric = 'p99'\nagainst_metric = 'p50'\nagainst = { workers = 2 }\nat_most = 9");
    assert!(of_two.against != Some(of_two.variant) && of_two.against_metric.is_some());
    refused(study("metric = 'p50'\nagainst_metric = 'throughput'\nat_most = 1"), &["is of another unit than `p50`"]);
    refused(study("metric = 'p50'\nagainst_metric = 'p5'\nat_most = 1"), &["did you mean"]);
    refused(study("metric = 'p50'\nbeside = 'p5'\nat_most = '1 s'"), &["did you mean"]);
    refused(study("metric = 'p50'\nagainst = { workers = 1 }\nat_most = 1"), &["it compares a variant with itself"]);
    refused(study("metric = 'p50'\nagainst_metric = 'p50'\nat_most = 1"), &["it compares `p50` with itself"]);
    let other = "metric = 'p50'\nagainst_scenario = 'one'\nat_most = 1";
    refused(study(other), &["`against_scenario` needs `against`", "`against = {}`"]);
}

#[test]
fn a_metric_is_about_a_transaction_that_is_run() {
    assert!(study("metric = 'p50:insert'\nat_most = '1 s'").is_ok());
    refused(study("metric = 'p50:insrt'\nat_most = '1 s'"), &["did you mean `insert`"]);
    refused(study("metric = 'p50'\nbeside = 'p50:insrt'\nat_most = '1 s'"), &["did you mean `insert`"]);
    let value = "scenario = 'one', variant = { workers = 1 }";
    let finding = |metric: &str| {
        let finding = format!("[[finding]]\ntext = '{{a}}'\nvalues.a = {{ metric = '{metric}', {value} }}");
        study(&format!("metric = 'p50'\nat_most = '1 s'\n{finding}"))
    };
    assert!(finding("p50:insert").is_ok());
    refused(finding("p50:insrt"), &["value `a`", "did you mean `insert`"]);
}

#[test]
fn the_name_of_a_finding_is_its_own() {
    let findings = |names: [&str; 2]| {
        let text = names.map(|name| format!("[[finding]]\nname = '{name}'\ntext = 'x'")).join("\n");
        study(&format!("metric = 'p50'\nat_most = '1 s'\n{text}"))
    };
    let names: Vec<String> = findings(["a", "b"]).unwrap().findings.into_iter().map(|finding| finding.name).collect();
    assert_eq!(names, ["a", "b"]);
    refused(findings(["a", "a"]), &["finding 2: another finding is named `a`"]);
}
