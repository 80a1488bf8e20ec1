//! The levels, and their derivation from real read-backs.

use litelab_protocol::{Dialect, Value};

use super::Durability::{D0, D1, D2, D3, D4, Volatile};
use super::{Durability, JournalMode, Level, Synchronous, caveat};
use crate::pragma::tests::{Bench, put, report};

/// One row per journal mode: the levels for OFF, NORMAL, FULL, EXTRA.
const LEVELS: [(&str, [Durability; 4]); 6] = [
    ("wal", [D1, D2, D4, D4]),
    ("delete", [D1, D1, D3, D4]),
    ("truncate", [D1, D1, D4, D4]),
    ("persist", [D1, D1, D4, D4]),
    ("memory", [D0, D0, D0, D0]),
    ("off", [D0, D0, D0, D0]),
];

fn of(journal: Value, synchronous: Value) -> Option<Durability> {
    let read = |name: &str| match name {
        "journal_mode" => Some(journal.clone()),
        _ => Some(synchronous.clone()),
    };
    Level::reported(Dialect::Sqlite, &read).map(|level| level.durability)
}

/// The level of a new file after both settings were set as text.
fn set(journal: &str, synchronous: &str) -> Option<Durability> {
    let mut bench = Bench::new();
    let connection = bench.fresh();
    put(&connection, "journal_mode", journal).expect("a journal mode");
    put(&connection, "synchronous", synchronous).expect("a level");
    of(report(&connection, "journal_mode"), report(&connection, "synchronous"))
}

#[test]
fn each_combination_reads_back_as_its_level() {
    for (journal, levels) in LEVELS {
        for (synchronous, expected) in ["off", "normal", "full", "extra"].into_iter().zip(levels) {
            assert_eq!(set(journal, synchronous), Some(expected), "{journal} {synchronous}");
        }
    }
}

#[test]
fn misread_values_get_the_level_of_what_they_do() {
    for (level, expected) in [("WAL", D2), ("4", D4), ("5", D4), ("7", D1)] {
        assert_eq!(set("wal", level), Some(expected), "{level}");
    }
    // Without EXTRA's sync of the directory, a deleted journal can come back.
    assert_eq!(set("delete", "4"), Some(D3));
}

#[test]
fn nonsense_has_no_level() {
    assert_eq!(of("wall".into(), 1.into()), None);
    assert_eq!(of("wal".into(), 7.into()), None);
    assert_eq!(of(Value::Null, 1.into()), None);
    assert_eq!(of("WAL".into(), "Normal".into()), Some(D2));
    assert_eq!(of("WAL".into(), "2".into()), Some(D4));
}

#[test]
fn levels_are_ordered_and_only_rollback_normal_has_a_caveat() {
    assert!([Volatile, D0, D1, D2, D3, D4].is_sorted());
    for journal in [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist] {
        assert!(caveat(journal, Synchronous::Normal).is_some());
        assert!(caveat(journal, Synchronous::Full).is_none());
    }
    assert!(caveat(JournalMode::Wal, Synchronous::Normal).is_none());
}

#[test]
fn levels_are_words_in_json() {
    assert_eq!(serde_json::to_string(&[Volatile, D3]).ok().as_deref(), Some(r#"["Volatile","D3"]"#));
}
