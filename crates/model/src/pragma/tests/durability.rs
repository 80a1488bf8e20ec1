//! The ladder, and that real read-backs lead to it.

use super::super::Durability::{self, D0, D1, D2, D3, D4, Volatile};
use super::super::{JournalMode, Reported, Storage, Synchronous};
use super::{Bench, execute, profile, put, report};
use rusqlite::Connection;

/// One row per journal mode: the rungs for OFF, NORMAL, FULL, EXTRA.
const LADDER: [(&str, [Durability; 4]); 6] = [
    ("wal", [D1, D2, D4, D4]),
    ("delete", [D1, D1, D3, D4]),
    ("truncate", [D1, D1, D4, D4]),
    ("persist", [D1, D1, D4, D4]),
    ("memory", [D0, D0, D0, D0]),
    ("off", [D0, D0, D0, D0]),
];

fn reported(connection: &Connection, storage: Storage) -> Option<Durability> {
    Durability::reported(storage, &report(connection, "journal_mode"), &report(connection, "synchronous"))
}

#[test]
fn each_profile_reads_back_as_its_rung() {
    let mut bench = Bench::new();
    for (journal, rungs) in LADDER {
        for (synchronous, expected) in ["off", "normal", "full", "extra"].into_iter().zip(rungs) {
            let connection = bench.fresh();
            for value in profile(&[("journal_mode", journal), ("synchronous", synchronous)]) {
                execute(&connection, &value.statement()).unwrap();
            }
            assert_eq!(reported(&connection, Storage::File), Some(expected), "{journal} {synchronous}");
        }
    }
}

#[test]
fn misread_values_get_the_rung_of_what_they_do() {
    let mut bench = Bench::new();
    for (level, expected) in [("WAL", D2), ("4", D4), ("5", D4), ("7", D1)] {
        let connection = bench.fresh();
        put(&connection, "journal_mode", "wal").unwrap();
        put(&connection, "synchronous", level).unwrap();
        assert_eq!(reported(&connection, Storage::File), Some(expected), "{level}");
    }
    // Without EXTRA's sync of the directory, a deleted journal can come back.
    let connection = bench.fresh();
    put(&connection, "synchronous", "4").unwrap();
    assert_eq!(reported(&connection, Storage::File), Some(D3));
}

#[test]
fn memory_survives_nothing_and_nonsense_has_no_rung() {
    let connection = Connection::open_in_memory().unwrap();
    assert_eq!(reported(&connection, Storage::Memory), Some(Volatile));
    let text = |text: &str| Reported::Text(text.to_owned());
    assert_eq!(Durability::reported(Storage::File, &text("wall"), &Reported::Integer(1)), None);
    assert_eq!(Durability::reported(Storage::File, &text("wal"), &Reported::Integer(7)), None);
    assert_eq!(Durability::reported(Storage::File, &Reported::Nothing(()), &Reported::Integer(1)), None);
    assert_eq!(Durability::reported(Storage::File, &text("WAL"), &text("Normal")), Some(D2));
    assert_eq!(Durability::reported(Storage::File, &text("WAL"), &text("2")), Some(D4));
}

#[test]
fn rungs_are_ordered_and_only_rollback_normal_has_a_caveat() {
    assert!([Volatile, D0, D1, D2, D3, D4].is_sorted());
    for journal in [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist] {
        assert!(Durability::caveat(journal, Synchronous::Normal).is_some());
        assert!(Durability::caveat(journal, Synchronous::Full).is_none());
    }
    assert!(Durability::caveat(JournalMode::Wal, Synchronous::Normal).is_none());
}

#[test]
fn rungs_travel_as_json() {
    assert_eq!(serde_json::to_string(&[Volatile, D3]).unwrap(), r#"["Volatile","D3"]"#);
    assert_eq!(serde_json::from_str::<Durability>(r#""D4""#).unwrap(), D4);
}
