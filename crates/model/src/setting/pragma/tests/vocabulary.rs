//! The names of the vocabulary: complete, sorted, and found in any case.

use super::super::{Standing, all, find, parse};
use super::Bench;
use crate::Scalar;
use std::collections::BTreeSet;

fn listed() -> BTreeSet<String> {
    let mut bench = Bench::new();
    let connection = bench.fresh();
    let mut statement = connection.prepare("PRAGMA pragma_list").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Names that SQLite has and the vocabulary lacks, and current names that only the vocabulary has.
fn gaps(known: &[(&str, Standing)]) -> Vec<String> {
    let listed = listed();
    assert!(listed.len() > 60, "pragma_list gave {listed:?}");
    let names: BTreeSet<&str> = known.iter().map(|(name, _)| *name).collect();
    let unknown = listed.iter().filter(|name| !names.contains(name.as_str())).cloned();
    let missing = known.iter().filter(|(name, of)| *of == Standing::Current && !listed.contains(*name));
    unknown.chain(missing.map(|(name, _)| (*name).to_owned())).collect()
}

#[test]
fn the_vocabulary_has_every_pragma_of_the_linked_sqlite() {
    let known: Vec<_> = all().iter().map(|pragma| (pragma.name, pragma.standing)).collect();
    assert_eq!(gaps(&known), Vec::<String>::new());
    // Negative controls: a missing name, and an invented one.
    let without: Vec<_> = known.iter().copied().filter(|(name, _)| *name != "synchronous").collect();
    assert_eq!(gaps(&without), ["synchronous"]);
    let with: Vec<_> = known.into_iter().chain([("warp_speed", Standing::Current)]).collect();
    assert_eq!(gaps(&with), ["warp_speed"]);
}

#[test]
fn the_table_is_sorted_without_doubles() {
    assert!(all().windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn names_are_found_in_any_case_and_misspelt_ones_have_a_neighbour() {
    assert_eq!(find("Journal_Mode").unwrap().name, "journal_mode");
    assert!(find("journal_mod").is_none());
    let remedy = |wrong: &str| parse(wrong, &Scalar::Integer(1)).unwrap_err().to_string();
    for (wrong, right) in [
        ("synchronus", "synchronous"),
        ("journalmode", "journal_mode"),
        ("cachesize", "cache_size"),
        ("busy_timout", "busy_timeout"),
        ("foreign_key", "foreign_keys"),
        ("wal_auto_checkpoint", "wal_autocheckpoint"),
    ] {
        assert!(remedy(wrong).ends_with(&format!("did you mean {right}?")), "{wrong}");
    }
    for strange in ["warp", ""] {
        assert!(!remedy(strange).contains("did you mean"), "{strange}");
    }
}

#[test]
fn every_word_is_spelt_once_per_setting() {
    for pragma in all() {
        let Some(super::super::Values::Words { words, .. }) = pragma.values() else { continue };
        let spellings: Vec<String> = words.iter().copied().flatten().map(|word| word.to_ascii_lowercase()).collect();
        assert_eq!(spellings.iter().collect::<BTreeSet<_>>().len(), spellings.len(), "{}", pragma.name);
    }
}

#[test]
fn what_is_reported_is_said_in_words_where_there_are_some() {
    use litelab_protocol::Value::{self, Integer, Text};
    let said = |name: &str, reported: Value| find(name).unwrap().in_words(&reported);
    for (name, reported, expected) in [
        ("synchronous", Integer(2), "full"),
        ("synchronous", Text("1".into()), "normal"),
        ("synchronous", Integer(6), "6"),
        ("auto_vacuum", Integer(0), "none"),
        ("foreign_keys", Integer(1), "on"),
        ("foreign_keys", Integer(0), "off"),
        ("journal_mode", Text("wal".into()), "wal"),
        ("busy_timeout", Integer(0), "0"),
        ("page_count", Integer(1), "1"),
        ("encoding", Text("UTF-8".into()), "UTF-8"),
    ] {
        assert_eq!(said(name, reported), expected, "{name}");
    }
}
