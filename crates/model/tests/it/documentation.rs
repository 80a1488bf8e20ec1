//! The files shown in the documentation are valid: they are extracted from the pages, stored together and resolved.

use std::path::Path;

use litelab_model::condition::KillPlan;
use litelab_model::library::{self, Text};
use litelab_model::{Options, Plan, Variant, resolve};
use litelab_protocol::Dialect;

use crate::support::{dialects, resolve_beside};

/// The TOML blocks of a page with their `name`.
fn blocks(page: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    let text = std::fs::read_to_string(path).expect("page");
    let mut found = Vec::new();
    for block in text.split("```toml\n").skip(1) {
        let toml = block.split("\n```").next().unwrap_or_default().to_owned();
        let name = toml.lines().find_map(|l| l.strip_prefix("name = \"")).and_then(|l| l.split('"').next());
        found.push((name.unwrap_or_default().to_owned(), toml));
    }
    found
}

/// The plan of a study on the pages of studies and workloads.
fn plan(study: &str, quick: bool) -> Plan {
    let files: Vec<_> = ["workloads.md", "studies.md"].into_iter().flat_map(blocks).collect();
    let toml = &files.iter().find(|(name, _)| name == study).unwrap_or_else(|| panic!("{study} is not there")).1;
    let files: Vec<_> = files.iter().map(|(name, toml)| (format!("{name}.toml"), toml)).collect();
    let files: Vec<_> = files.iter().map(|(name, toml)| (name.as_str(), toml.as_str())).collect();
    let options = Options { quick, dialects: dialects(), ..Options::default() };
    resolve_beside(&files, toml, &options).unwrap_or_else(|e| panic!("{study}: {e}"))
}

#[test]
fn the_examples_work_together() {
    for quick in [false, true] {
        let ours = plan("ours", quick);
        assert_eq!((ours.variants.len(), ours.claims.len(), ours.findings.len()), (6, 1, 1));
    }
    let claims = plan("published", false).claims;
    let bounds: Vec<_> = claims.iter().map(|claim| (claim.at_least, claim.at_most)).collect();
    assert_eq!(bounds, [(Some(3.0 / 1.25), Some(3.75)), (Some(5e5), Some(2e6))], "as the comments say");
    let (_, toml) = blocks("workloads.md").into_iter().find(|(name, _)| name == "patient").unwrap();
    let text = Text { file: "patient.toml".into(), directory: None, toml };
    let profile = library::parse(&text).unwrap();
    let retry = resolve::check_profile(&profile, &text, None).expect("the profile is right").retry;
    assert_eq!((retry.attempts, retry.backoff_us), (3, 100_000));
}

#[test]
fn the_examples_of_conditions_work_together() {
    let limits = plan("limits", false);
    assert_eq!((limits.variants.len(), limits.claims.len()), (2, 1));
    assert!(limits.variants.iter().all(|variant| variant.search.as_ref().is_some_and(|s| s.holds.len() == 2)));
    let writers = plan("writers", false);
    assert_eq!((writers.variants.len(), writers.scenarios[0].alerts.len()), (5, 2));
    assert_eq!(writers.scenarios[0].usl.as_deref(), Some("workers"));
    let crashes = plan("crashes", false);
    let kill = KillPlan::Processes { role: "writers".into(), processes: 2, after_ms: 500 };
    assert_eq!(crashes.variants[0].kill, Some(kill));
    let [only] = crashes.variants[0].invariants.as_slice() else {
        panic!("its own alone: {:?}", crashes.variants[0].invariants)
    };
    assert!(only.equals.is_none() && only.at_least.is_some());
}

#[test]
fn the_examples_of_servers_work_together() {
    let three = plan("three", false);
    let of = |variant: &Variant| (variant.dialect, variant.profile.clone(), variant.trial.retry.attempts);
    let expected = [
        (Dialect::Sqlite, "wal-full".to_owned(), 1),
        (Dialect::Postgres, "durable".to_owned(), 10),
        (Dialect::Mysql, "as-it-comes".to_owned(), 1),
    ];
    assert_eq!(three.variants.iter().map(of).collect::<Vec<_>>(), expected);
    let leave = plan("leave", false);
    assert_eq!((leave.variants.len(), leave.crossovers.len()), (10, 1));
    assert_eq!(leave.crossovers[0].others[0].variants.len(), 5);
    let nodes = plan("nodes", false);
    assert_eq!(nodes.variants[0].kill, Some(KillPlan::Node { node: 2, after_ms: 5000, back_ms: Some(5000) }));
}

#[test]
fn the_manifest_in_the_protocol_page_is_a_table() {
    let (name, toml) = blocks("protocol.md").into_iter().next().expect("a block");
    assert_eq!(name, "tokio");
    toml.parse::<toml::Table>().expect("TOML");
}
