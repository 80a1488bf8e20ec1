//! The files shown in the documentation are valid: they are extracted from the pages, stored together and resolved.

use std::path::Path;

use litelab_model::condition::KillPlan;
use litelab_model::library;
use litelab_model::{Options, resolve};
use litelab_protocol::Dialect;

/// The TOML blocks of a page with their `name`.
fn blocks(page: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).expect("page");
    let mut found = Vec::new();
    for block in text.split("```toml\n").skip(1) {
        let toml = block.split("\n```").next().unwrap_or_default().to_owned();
        let name = toml.lines().find_map(|l| l.strip_prefix("name = \"")).and_then(|l| l.split('"').next());
        found.push((name.unwrap_or_default().to_owned(), toml));
    }
    found
}

#[test]
fn the_examples_work_together() {
    let folder = tempfile::tempdir().expect("folder");
    for (name, toml) in blocks("WORKLOADS.md").into_iter().chain(blocks("STUDIES.md")) {
        std::fs::write(folder.path().join(format!("{name}.toml")), toml).expect("write");
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (study, text) = library::study(&path("ours.toml")).expect("the study parses");
    for quick in [false, true] {
        let options = Options { quick, ..Options::default() };
        let plan = resolve::resolve(&study, &text, &options).expect("the study resolves");
        assert_eq!((plan.variants.len(), plan.claims.len(), plan.findings.len()), (6, 1, 1));
    }
    let (profile, text) = library::profile(&path("patient.toml"), None).expect("the profile parses");
    let retry = resolve::check_profile(&profile, &text, None).expect("the profile is right").retry;
    assert_eq!((retry.attempts, retry.backoff_us), (3, 100_000));
}

#[test]
fn the_examples_of_servers_work_together() {
    let folder = tempfile::tempdir().expect("folder");
    for (name, toml) in blocks("WORKLOADS.md").into_iter().chain(blocks("STUDIES.md")) {
        std::fs::write(folder.path().join(format!("{name}.toml")), toml).expect("write");
    }
    let (study, text) = library::study(&folder.path().join("three.toml").display().to_string()).expect("it parses");
    let dialects = [("go:postgres", Dialect::Postgres), ("go:mysql", Dialect::Mysql)];
    let dialects = dialects.map(|(name, dialect)| (name.to_owned(), dialect)).into();
    let options = Options { dialects, ..Options::default() };
    let plan = resolve::resolve(&study, &text, &options).expect("it resolves");
    let of =
        |variant: &litelab_model::Variant| (variant.dialect, variant.profile.clone(), variant.trial.retry.attempts);
    let expected = [
        (Dialect::Sqlite, "wal-full".to_owned(), 1),
        (Dialect::Postgres, "durable".to_owned(), 10),
        (Dialect::Mysql, "as-it-comes".to_owned(), 1),
    ];
    assert_eq!(plan.variants.iter().map(of).collect::<Vec<_>>(), expected);
    let (study, text) = library::study(&folder.path().join("leave.toml").display().to_string()).expect("it parses");
    let plan = resolve::resolve(&study, &text, &options).expect("it resolves");
    assert_eq!((plan.variants.len(), plan.crossovers.len(), plan.crossovers[0].others[0].variants.len()), (10, 1, 5));

    let (study, text) = library::study(&folder.path().join("nodes.toml").display().to_string()).expect("it parses");
    let dialects = [("go:mysql".to_owned(), Dialect::Mysql)].into();
    let plan = resolve::resolve(&study, &text, &Options { dialects, ..Options::default() }).expect("it resolves");
    assert_eq!(plan.variants[0].kill, Some(KillPlan::Node { node: 2, after_ms: 5000, back_ms: Some(5000) }));
}

#[test]
fn the_manifest_in_the_protocol_page_is_a_table() {
    let (name, toml) = blocks("PROTOCOL.md").into_iter().next().expect("a block");
    assert_eq!(name, "tokio");
    toml.parse::<toml::Table>().expect("TOML");
}
