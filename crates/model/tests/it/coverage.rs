//! Every item of the studies' published sources is examined, or has a reason: the data in `docs/sources/*.toml`, and the
//! table made of it, `docs/sources/coverage.md`. `LITELAB_BLESS=1` writes the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use litelab_model::claim::Origin;
use litelab_model::library::{self, Kind};
use litelab_model::study::Study;
use serde::Deserialize;

/// Files of the sources, in the order of the table, with their numbers of items.
const SOURCES: [(&str, usize); 5] =
    [("prismq", 110), ("duroxide", 47), ("node-sqlite3", 55), ("rosetta", 31), ("sqlite3perf", 42)];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    source: String,
    document: String,
    study: String,
    items: Vec<Item>,
}

/// A configuration, parameter, figure, statement or recommendation of a source.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    /// Lines of the source.
    at: String,
    item: String,
    /// Names of scenarios of the source's study.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Names of claims of the source's study, or of another as `study/claim`.
    #[serde(default)]
    claims: Vec<String>,
    /// Paths from the root of the repository.
    #[serde(default)]
    files: Vec<String>,
    /// What differs from the source, and why.
    differently: Option<String>,
    /// Why it is not examined.
    not_examined: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> Vec<Source> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(root().join(format!("docs/sources/{name}.toml"))).expect(name);
        toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    SOURCES.iter().map(|(name, _)| read(name)).collect()
}

fn studies() -> BTreeMap<String, Study> {
    let named = |name: &&str| ((*name).to_owned(), library::study(name).expect("built in").0);
    Kind::Study.built_in().iter().map(named).collect()
}

/// Study and name of a claim of an item.
fn claim<'a>(source: &'a Source, name: &'a str) -> (&'a str, &'a str) {
    name.split_once('/').unwrap_or((&source.study, name))
}

/// What is wrong with an item; empty if nothing is.
fn faults(source: &Source, item: &Item, studies: &BTreeMap<String, Study>) -> Vec<String> {
    let mut faults = Vec::new();
    for name in &item.scenarios {
        let study = studies.get(&source.study);
        if !study.is_some_and(|study| study.scenarios.iter().any(|scenario| scenario.name == *name)) {
            faults.push(format!("no scenario {name}"));
        }
    }
    for name in &item.claims {
        let (study, name) = claim(source, name);
        if !studies.get(study).is_some_and(|study| study.claims.iter().any(|claim| claim.name == name)) {
            faults.push(format!("no claim {study}/{name}"));
        }
    }
    faults.extend(item.files.iter().filter(|path| !root().join(path).is_file()).map(|path| format!("no file {path}")));
    let examined = !(item.scenarios.is_empty() && item.claims.is_empty() && item.files.is_empty());
    let reason = |reason: &Option<String>| reason.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    match (examined, reason(&item.differently), reason(&item.not_examined)) {
        (true, _, false) | (false, false, true) => {}
        (true, _, true) => faults.push("it is examined and has a reason why not".into()),
        (false, true, _) => faults.push("it is examined differently, by nothing".into()),
        (false, false, false) => faults.push("neither examined nor a reason".into()),
    }
    faults
}

#[test]
fn every_item_is_examined_or_has_a_reason() {
    let studies = studies();
    for (source, (name, items)) in sources().iter().zip(SOURCES) {
        assert_eq!(source.items.len(), items, "{name}");
        for item in &source.items {
            let faults = faults(source, item, &studies);
            assert!(faults.is_empty(), "{name}, {}, {}: {faults:?}", item.at, item.item);
        }
    }
}

#[test]
fn an_item_without_evidence_or_reason_is_found() {
    let (studies, source) = (studies(), &sources()[0]);
    let found = |item: Item| faults(source, &item, &studies);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(Item::default()), ["neither examined nor a reason"]);
    assert_eq!(found(Item { not_examined: text(" "), ..Item::default() }), ["neither examined nor a reason"]);
    assert_eq!(found(Item { not_examined: text("no disk"), ..Item::default() }), [""; 0]);
    assert_eq!(found(Item { differently: text("x"), ..Item::default() }), ["it is examined differently, by nothing"]);
    let claims = |name: &str| Item { claims: vec![name.into()], ..Item::default() };
    assert_eq!(found(claims("balanced-single")), [""; 0]);
    assert_eq!(found(claims("leave-sqlite/beyond-10")), [""; 0]);
    assert_eq!(found(claims("beyond-10")), ["no claim task-queue/beyond-10"]);
    assert_eq!(found(Item { scenarios: vec!["x".into()], ..Item::default() }), ["no scenario x"]);
    assert_eq!(found(Item { files: vec!["x".into()], ..Item::default() }), ["no file x"]);
    let both = Item { not_examined: text("no disk"), ..claims("balanced-single") };
    assert_eq!(found(both), ["it is examined and has a reason why not"]);
}

#[test]
fn every_claim_of_a_source_belongs_to_an_item() {
    let sources = sources();
    let items = sources.iter().flat_map(|source| source.items.iter().map(move |item| (source, item)));
    let named: BTreeSet<(&str, &str)> =
        items.flat_map(|(source, item)| item.claims.iter().map(move |name| claim(source, name))).collect();
    for (name, study) in &studies() {
        for claim in study.claims.iter().filter(|claim| claim.origin != Origin::Own) {
            assert!(named.contains(&(name.as_str(), claim.name.as_str())), "{name}/{}: no item has it", claim.name);
        }
    }
}

#[test]
fn the_table_is_that_of_the_items() {
    let path = root().join("docs/sources/coverage.md");
    let table = table(&sources(), &studies());
    if std::env::var_os("LITELAB_BLESS").is_some() {
        std::fs::write(&path, &table).expect("write");
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == table, "docs/sources/coverage.md is out of date: LITELAB_BLESS=1 cargo test -p litelab-model");
}

fn table(sources: &[Source], studies: &BTreeMap<String, Study>) -> String {
    let mut out = String::from(
        "# Coverage of the sources\n\nMade of the files beside this page by `LITELAB_BLESS=1 cargo test -p litelab-model`. \
         An item is a configuration, a\nparameter, a figure, a statement or a recommendation of a published source. It is \
         *covered* where it is examined as the source had\nit, *differently* where something had to differ, and *not \
         examined* otherwise, both with the reason. Numbers are lines of the\nsource. Names are those of scenarios and claims \
         of the study; a claim carries the words of the source.\n\n\
         | source | study | items | covered | differently | not examined |\n| :-- | :-- | --: | --: | --: | --: |\n",
    );
    let mut all = [0; 4];
    for source in sources {
        let differently = source.items.iter().filter(|item| item.differently.is_some()).count();
        let not_examined = source.items.iter().filter(|item| item.not_examined.is_some()).count();
        let items = source.items.len();
        let counts = [items, items - differently - not_examined, differently, not_examined];
        all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        let [items, covered, differently, not_examined] = counts;
        let _ = writeln!(
            out,
            "| [{}](#{}) | `{}` | {items} | {covered} | {differently} | {not_examined} |",
            source.source,
            source.source.to_lowercase(),
            source.study
        );
    }
    let _ = writeln!(out, "| all | | {} | {} | {} | {} |", all[0], all[1], all[2], all[3]);
    out.push_str(
        "\nClaims by whose they are: results that a source states, its advice and expectations, which it did not measure, \
         and claims of the\nstudy itself.\n\n| study | source | advice | own |\n| :-- | --: | --: | --: |\n",
    );
    for (name, study) in studies.iter().filter(|(_, study)| !study.claims.is_empty()) {
        let count = |origin: Origin| study.claims.iter().filter(|claim| claim.origin == origin).count();
        let [of_source, advice, own] = Origin::ALL.map(count);
        let _ = writeln!(out, "| `{name}` | {of_source} | {advice} | {own} |");
    }
    for source in sources {
        let _ = writeln!(
            out,
            "\n## {}\n\n{}. Study `{}`.\n\n| line | item | examined by | |\n| :-- | :-- | :-- | :-- |",
            source.source, source.document, source.study
        );
        for item in &source.items {
            let by = item.scenarios.iter().map(|name| format!("scenario `{name}`"));
            let by = by.chain(item.claims.iter().map(|name| format!("`{name}`")));
            let by: Vec<String> = by.chain(item.files.iter().map(|path| format!("`{path}`"))).collect();
            let status = match (&item.differently, &item.not_examined) {
                (Some(reason), _) => format!("differently: {reason}"),
                (_, Some(reason)) => format!("not examined: {reason}"),
                _ => "covered".into(),
            };
            let _ = writeln!(out, "| {} | {} | {} | {status} |", item.at, item.item, by.join(", "));
        }
    }
    out
}
