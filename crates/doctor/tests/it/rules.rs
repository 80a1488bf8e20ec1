//! Every rule fires on its own example, and on nothing healthy or unknown.

use std::collections::BTreeSet;

use litelab_doctor::facts::{App, Facts, File, ForeignKey, Host, Index, Key, Process, Schema, Statement, Table};
use litelab_doctor::{Judge, Rule, Subject, rule};
use minijinja::Value as Item;
use serde_json::{Map, Value, json};

const SUBJECTS: [&str; 10] =
    ["file", "host", "schema", "table", "index", "foreign_key", "process", "app", "key", "statement"];

/// The facts of `healthy.toml`, by subject.
fn healthy() -> Map<String, Value> {
    let table: toml::Table = toml::from_str(rule::file("healthy.toml")).unwrap();
    json(&table).as_object().unwrap().clone()
}

/// TOML as JSON; the text `<unknown>` becomes null.
fn json(table: &toml::Table) -> Value {
    fn known(value: Value) -> Value {
        match value {
            Value::String(text) if text == "<unknown>" => Value::Null,
            Value::Array(items) => items.into_iter().map(known).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, known(value))).collect(),
            other => other,
        }
    }
    known(serde_json::to_value(table).unwrap())
}

/// Changes `facts` by `change`, table by table.
fn change(facts: &mut Map<String, Value>, by: &Map<String, Value>, at: &str) {
    for (name, value) in by {
        let place = format!("{at}.{name}");
        let old = facts.get_mut(name).unwrap_or_else(|| panic!("no such fact: {place}"));
        match (old, value) {
            (Value::Object(old), Value::Object(new)) => change(old, new, &place),
            (old, new) => *old = new.clone(),
        }
    }
}

fn changed(by: &toml::Table, id: &str) -> Map<String, Value> {
    let mut facts = healthy();
    change(&mut facts, json(by).as_object().unwrap(), id);
    facts
}

/// Context of a condition: the single facts, the item of the subject, and lists with one item each.
fn context(facts: &Map<String, Value>) -> Item {
    let mut all = facts.clone();
    all.insert("processes".into(), json!([facts["process"]]));
    for (list, item) in [("tables", "table"), ("indexes", "index"), ("foreign_keys", "foreign_key")] {
        all["schema"][list] = json!([facts[item]]);
    }
    all["app"]["keys"] = json!([facts["key"]]);
    Item::from_serialize(all)
}

fn fires(rule: &Rule, facts: &Map<String, Value>) -> Option<litelab_doctor::Finding> {
    let found = Judge::default().apply(rule, &context(facts), "x".into(), ["go:modernc", "go"], None);
    found.unwrap_or_else(|error| panic!("{}: {error:#}", rule.id))
}

#[test]
fn ids_are_unique_and_every_rule_is_complete() {
    let rules = rule::all().unwrap();
    let mut ids = BTreeSet::new();
    for rule in &rules {
        let id = &rule.id;
        assert!(ids.insert(id.clone()), "{id} is used twice");
        assert!(id.len() == 5 && id.starts_with("LL") && id[2..].bytes().all(|b| b.is_ascii_digit()), "{id}");
        assert!(rule.source.starts_with("https://"), "{id}: source");
        assert!(rule.because.ends_with('.'), "{id}: `because` is a sentence");
        assert!(!rule.title.is_empty() && !rule.message.ends_with('.'), "{id}: title, message");
        assert!(!rule.message.contains('\n') && rule.message.len() < 300, "{id}: the message is one line");
        assert!(rule.fix.contains_key("any"), "{id}: a fix for any driver");
    }
}

#[test]
fn conditions_with_two_ways_are_right_about_the_second() {
    let rules = rule::all().unwrap();
    let found = |id: &str, facts: &str| {
        let rule = rules.iter().find(|rule| rule.id == id).unwrap();
        fires(rule, &changed(&toml::from_str(facts).unwrap(), id)).map(|finding| (finding.message, finding.fix))
    };
    // Two drivers in one Go binary are one image.
    let one = r#"process = { drivers = ["mattn 1.14.32"], sqlite = [{ image = "app", version = "3.54.1", source_id = "" }] }"#;
    assert_eq!(found("LL303", one), None);
    let two = one.replace("32\"]", "32\", \"modernc 1.40.0\"]");
    assert!(found("LL303", &two).unwrap().0.contains("mattn 1.14.32, modernc 1.40.0"));
    // A negative number of frames is as good as 0.
    let negative =
        r#"statement = { verb = "PRAGMA", plan = [], pragma = ["wal_autocheckpoint", "-1"], wrong = "is outside" }"#;
    assert_eq!(found("LL415", negative), None);
    assert!(found("LL422", negative).is_some());
    assert!(found("LL415", &negative.replace("-1", "9999999999")).is_some());
    // Names that are no words of their own in SQL.
    let names = r#"foreign_key = { table = "order", columns = ["group", "item-id"], indexed = false, rows = 20000 }"#;
    let (_, fix) = found("LL241", names).unwrap();
    assert!(fix.contains(r#"CREATE INDEX "order_by_group_item-id" ON "order"("group", "item-id")"#), "{fix:?}");
}

#[test]
fn every_rule_fires_on_its_example_and_is_silent_on_the_other() {
    for rule in rule::all().unwrap() {
        let found = fires(&rule, &changed(&rule.fires, &rule.id));
        let found = found.unwrap_or_else(|| panic!("{} does not fire on its example", rule.id));
        assert!(!found.message.contains("none") && !found.fix.is_empty(), "{}: {found:?}", rule.id);
        let silent = fires(&rule, &changed(&rule.silent, &rule.id));
        assert!(silent.is_none(), "{} fires on its counter-example: {silent:?}", rule.id);
        assert_ne!(rule.silent, toml::Table::new(), "{}: the counter-example changes something", rule.id);
    }
}

#[test]
fn no_rule_fires_on_healthy_facts() {
    for rule in rule::all().unwrap() {
        let found = fires(&rule, &healthy());
        assert!(found.is_none(), "{found:?}");
    }
}

/// Nothing is known: every fact that may be absent is, and every list is empty.
#[test]
fn no_rule_fires_on_unknown_facts() {
    let facts = unknown();
    for rule in rule::all().unwrap() {
        let found = fires(&rule, &facts);
        assert!(found.is_none(), "{found:?}");
    }
}

/// The default of every structure, with words in place of empty text.
fn unknown() -> Map<String, Value> {
    let file =
        File { state: "database", readable: true, writable: true, folder_writable: true, links: 1, ..File::default() };
    let host = Host { os: "linux", filesystem_class: "unknown", sees_all_processes: true, ..Host::default() };
    let facts = [
        json!(file),
        json!(host),
        json!(Schema::default()),
        json!(Table { rowid_key: true, key: vec!["id".into()], analyzed_rows: None, ..Table::default() }),
        json!(Index::default()),
        json!(ForeignKey { indexed: true, parent_exists: true, parent_unique: true, ..ForeignKey::default() }),
        json!(Process { descriptors: 1, ..Process::default() }),
        json!(App { opened_file: true, settings: all_settings(), ..App::default() }),
        json!(Key { place: "query", file_prefix: true, ..Key::default() }),
        json!(Statement { verb: "SELECT".into(), ..Statement::default() }),
    ];
    SUBJECTS.into_iter().map(str::to_owned).zip(facts).collect()
}

fn all_settings() -> std::collections::BTreeMap<String, litelab_protocol::Value> {
    let names = healthy()["app"]["settings"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    names.into_iter().map(|name| (name, litelab_protocol::Value::Null)).collect()
}

/// `healthy.toml` has exactly the facts of the structures, so that a rule cannot be written about a fact that no code
/// produces.
#[test]
fn the_healthy_facts_are_those_of_the_structures() {
    let lists = ["tables", "indexes", "foreign_keys", "keys"];
    let names = |facts: &Map<String, Value>, subject: &str| -> BTreeSet<String> {
        facts[subject].as_object().unwrap().keys().filter(|name| !lists.contains(&name.as_str())).cloned().collect()
    };
    for subject in SUBJECTS {
        assert_eq!(names(&healthy(), subject), names(&unknown(), subject), "{subject}");
    }
    let _the_structure_is_whole = |facts: Facts| facts.app;
    assert_eq!(serde_json::to_value(Subject::ForeignKey).unwrap(), "foreign-key");
}
