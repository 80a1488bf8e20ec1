//! The effects of PRAGMAs that are actions.

use super::super::parse;
use super::{Bench, profile, put, report, text_value};
use rusqlite::Connection;

/// Frames that `wal_checkpoint = 'text'` moved, and the size of the WAL afterwards.
fn checkpoint(bench: &mut Bench, text: &str) -> (i64, u64) {
    let connection = bench.with_profile(&profile(&[("journal_mode", "wal")]));
    let moved = connection.query_row(&format!("PRAGMA wal_checkpoint = '{text}'"), [], |row| row.get(2)).unwrap();
    let wal = format!("{}-wal", connection.path().unwrap());
    (moved, std::fs::metadata(wal).unwrap().len())
}

#[test]
fn an_argument_is_accepted_where_the_action_does_what_it_names() {
    let mut bench = Bench::new();
    let accepts = |name: &str, text: &str| parse(name, &text_value(text)).is_ok();

    assert!(!accepts("wal_checkpoint", "truncated") && accepts("wal_checkpoint", "truncate"));
    let (moved, size) = checkpoint(&mut bench, "truncated");
    assert!(moved > 0 && size > 0, "a passive checkpoint moves frames and keeps the file");
    assert_eq!(checkpoint(&mut bench, "truncate").1, 0);
    assert_eq!(checkpoint(&mut bench, "noop").0, 0);

    for (text, analyzed) in [("all", false), ("65536", false), ("0x10000", false), ("0x10002", true), ("65538", true)] {
        assert_eq!(accepts("optimize", text), analyzed, "{text}");
        let connection = bench.with_profile(&[]);
        connection.execute_batch("CREATE INDEX i ON t(x)").unwrap();
        put(&connection, "optimize", text).unwrap();
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables == 1, analyzed, "{text}");
    }

    for (text, freed) in [("1", Some(1)), ("7 pages", Some(7)), ("ten", None), ("0", None)] {
        assert_eq!(accepts("incremental_vacuum", text), text == "1", "{text}");
        let connection = bench.with_profile(&profile(&[("auto_vacuum", "incremental")]));
        connection.execute_batch("DELETE FROM t").unwrap();
        let free = |connection: &Connection| report(connection, "freelist_count").integer().unwrap();
        let before = free(&connection);
        put(&connection, "incremental_vacuum", text).unwrap();
        assert_eq!(before - free(&connection), freed.unwrap_or(before), "{text}");
    }
}
