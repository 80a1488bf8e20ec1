//! Every rule of an event fires on its own example, before any other rule, and every kind has one.

use std::collections::BTreeSet;

use litelab_record::recording::Event;
use litelab_watch::Explain;
use litelab_watch::event::{DatabaseFacts, EventFacts, Facts, Kind, ProcessFacts};
use minijinja::Value as Context;
use serde_json::{Map, Value};

/// Facts of a process and a database in which nothing is wrong.
fn usual() -> Map<String, Value> {
    let facts = Facts {
        event: EventFacts { kind: "none", ..EventFacts::default() },
        process: ProcessFacts {
            known: true,
            pid: 812,
            shown: "812 node api.js".into(),
            language: Some("node".into()),
            ..ProcessFacts::default()
        },
        database: DatabaseFacts { name: "app.db".into(), readers: 2, ..DatabaseFacts::default() },
    };
    serde_json::to_value(facts).unwrap().as_object().unwrap().clone()
}

/// Changes `facts`; the text `<unknown>` becomes null.
fn change(facts: &mut Map<String, Value>, by: &Map<String, Value>, at: &str) {
    for (name, value) in by {
        let place = format!("{at}.{name}");
        let old = facts.get_mut(name).unwrap_or_else(|| panic!("no such fact: {place}"));
        match (old, value) {
            (Value::Object(old), Value::Object(new)) => change(old, new, &place),
            (old, Value::String(text)) if text == "<unknown>" => *old = Value::Null,
            (old, new) => *old = new.clone(),
        }
    }
}

fn changed(by: &toml::Table, id: &str) -> Context {
    let mut facts = usual();
    change(&mut facts, serde_json::to_value(by).unwrap().as_object().unwrap(), id);
    Context::from_serialize(facts)
}

fn explained(explain: &Explain, facts: &Context) -> Option<Event> {
    explain.apply(facts, ["", "node"]).unwrap()
}

#[test]
fn each_rule_explains_its_example_and_not_the_other() {
    let explain = Explain::new().unwrap();
    let mut ids = BTreeSet::new();
    for rule in explain.rules() {
        let id = &rule.id;
        assert!(ids.insert(id.clone()) && id.starts_with("LL5") && id.len() == 5, "{id}");
        assert!(rule.source.starts_with("https://") && rule.because.ends_with('.'), "{id}");
        assert!(!rule.message.ends_with('.') && !rule.message.contains('\n') && rule.fix.contains_key("any"), "{id}");
        let event = explained(&explain, &changed(&rule.fires, id)).unwrap_or_else(|| panic!("{id} does not fire"));
        assert_eq!(&event.rule, id, "an earlier rule explains the example: {event:?}");
        assert!(!event.message.contains("none") && !event.fix.is_empty(), "{event:?}");
        let other = explained(&explain, &changed(&rule.silent, id)).map(|event| event.rule);
        assert_ne!(other.as_ref(), Some(id), "{id} explains its counter-example");
    }
}

#[test]
fn every_kind_has_a_rule_without_further_facts() {
    let explain = Explain::new().unwrap();
    for kind in Kind::ALL {
        let by = toml::Table::from_iter([(
            "event".to_owned(),
            toml::Value::Table(toml::Table::from_iter([
                ("kind".to_owned(), kind.name().into()),
                ("full_in".to_owned(), 60.0.into()),
            ])),
        )]);
        assert!(explained(&explain, &changed(&by, kind.name())).is_some(), "{}", kind.name());
    }
    assert!(explained(&explain, &changed(&toml::Table::new(), "usual")).is_none());
}

#[test]
fn the_fix_is_that_of_the_language() {
    let explain = Explain::new().unwrap();
    let by = "event = { kind = \"starved-checkpoint\", slot = 1, seconds = 41.0, bytes = 33000000 }".parse().unwrap();
    let event = explained(&explain, &changed(&by, "node")).unwrap();
    assert!(event.fix.contains("iterate()"), "{event:?}");
    assert_eq!(event.message, "812 node api.js reads a snapshot that is 41 s old and pins 33 MB of log");
}
