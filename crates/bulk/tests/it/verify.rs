//! Verification of tables, and detection of wrong rows.

use crate::common::{SCHEMAS, alter, check, make, of_schema, options, scratch};
use litelab_bulk::{BulkError, VerifyOptions, verify};
use litelab_database::SourceError;
use proptest::prelude::*;
use rusqlite::{Connection, types::Value};
use std::fs;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ROWS: u64 = 60_000;

#[test]
fn threads_share_the_table_and_see_each_row_once() {
    for schema in SCHEMAS {
        let (_folder, path) = scratch();
        make(&of_schema(schema, &path, ROWS)).expect("made");
        for threads in 1..=3 {
            let seen = check(&path, threads).expect("verifies");
            assert_eq!((seen.rows, seen.mismatch_count, seen.threads), (ROWS, 0, threads), "{schema}");
        }
    }
}

#[test]
fn every_kind_of_wrong_row_is_found_and_named() {
    for schema in SCHEMAS {
        let (_folder, path) = scratch();
        make(&of_schema(schema, &path, ROWS)).expect("made");
        let cases = [
            (0, "hash = replace(hash, substr(hash, 1, 1), 'g')", "hash"),
            (1, "rand = '0000000000000000'", "hash"),
            (2, "rand = 'not hexadecimal!'", "rand"),
            (3, "rand = NULL", "rand"),
            (30_000, "hash = NULL", "hash"),
            (30_001, "rand = CAST(rand AS BLOB)", "rand"),
            (30_002, "hash = x'00'", "hash"),
            (59_998, "hash = upper(hash)", "hash"),
            (59_999, "rand = ''", "rand"),
        ];
        for (id, set, _) in cases {
            alter(&path, &format!("UPDATE bench SET {set} WHERE ID = {id}"));
        }
        for threads in [1, 2] {
            let seen = check(&path, threads).expect("verifies");
            let found: Vec<_> = seen.mismatches.iter().map(|wrong| (wrong.id.clone(), wrong.column)).collect();
            let expected: Vec<_> = cases.iter().map(|(id, _, column)| (id.to_string(), *column)).collect();
            assert_eq!(found, expected, "{schema}, {threads} threads");
            assert_eq!((seen.rows, seen.mismatch_count), (ROWS, cases.len() as u64));
        }
    }
}

#[test]
fn the_first_mismatches_are_shown_and_all_counted() {
    let (_folder, path) = scratch();
    make(&options(&path, ROWS)).expect("made");
    alter(&path, "UPDATE bench SET hash = '' WHERE ID >= 20");
    let seen = check(&path, 2).expect("verifies");
    assert_eq!(seen.mismatch_count, ROWS - 20);
    let ids: Vec<_> = seen.mismatches.iter().map(|wrong| wrong.id.parse()).collect();
    assert_eq!(ids, (20..30).map(Ok).collect::<Vec<Result<u64, _>>>());
}

#[test]
fn uneven_keys_and_foreign_ids_are_all_read() {
    // Text sorts after every number, and NULL before; a rowid may be any integer.
    for (schema, sql, rows) in [
        ("int", "UPDATE bench SET ID = NULL WHERE ID < 3; UPDATE bench SET ID = 'x' WHERE ID = 9", ROWS),
        ("without-rowid", "UPDATE bench SET ID = 'x' WHERE ID = 9; UPDATE bench SET ID = -1.5 WHERE ID = 10", ROWS),
        ("integer", "UPDATE bench SET ID = 9223372036854775807 WHERE ID = 5", ROWS),
        ("integer", "UPDATE bench SET ID = -9223372036854775808 WHERE ID = 5", ROWS),
        ("integer", "DELETE FROM bench WHERE ID BETWEEN 10 AND 50000", ROWS - 49_991),
        ("without-rowid", "DELETE FROM bench", 0),
        ("int", "DELETE FROM bench", 0),
    ] {
        let (_folder, path) = scratch();
        make(&of_schema(schema, &path, ROWS)).expect("made");
        alter(&path, sql);
        let seen = check(&path, 2).expect(sql);
        assert_eq!((seen.rows, seen.mismatch_count), (rows, 0), "{sql}");
    }
}

#[test]
fn other_shapes_of_the_table_are_read_too() {
    for sql in [
        "CREATE TABLE bench(hash TEXT, rand TEXT, id, rowid TEXT, _rowid_ TEXT, oid TEXT)",
        "CREATE TABLE bench(rand TEXT, hash TEXT, ID INT, PRIMARY KEY(rand, ID)) WITHOUT ROWID",
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE Bench(ID, Rand TEXT, Hash TEXT)",
    ] {
        let (_folder, path) = scratch();
        alter(
            &path,
            &format!(
                "{sql}; INSERT INTO bench(ID, rand, hash) VALUES
                 (1, '0001020304050607', '8a851ff82ee7048ad09ec3847f1ddf44944104d2cbd17ef4e3db22c6785a0d45'),
                 (2, '0001020304050608', '8a851ff82ee7048ad09ec3847f1ddf44944104d2cbd17ef4e3db22c6785a0d45')"
            ),
        );
        let seen = check(&path, 2).expect(sql);
        assert_eq!((seen.rows, seen.mismatch_count), (2, 1), "{sql}");
        assert_eq!(seen.mismatches[0].id, "2");
    }
}

#[test]
fn what_is_no_such_database_is_said_to_be_none() {
    let (folder, path) = scratch();
    assert!(matches!(check(&path, 1), Err(BulkError::Missing { .. })));
    assert!(!path.exists(), "opening read-only creates nothing");
    assert!(matches!(check(folder.path(), 1), Err(BulkError::Source(SourceError::NoFile(_)))));
    fs::write(&path, "a letter, longer than the header of a database, which has 100 bytes: ".repeat(9))
        .expect("written");
    assert!(matches!(check(&path, 1), Err(BulkError::Source(SourceError::NotADatabase(_)))));
    fs::write(&path, "").expect("written");
    assert!(matches!(check(&path, 1), Err(BulkError::NoTable { .. })));
    for (sql, what) in [
        ("CREATE TABLE other(ID, rand, hash)", "table `bench`"),
        ("CREATE VIEW bench AS SELECT 1 AS ID, 2 AS rand, 3 AS hash", "table `bench`"),
        ("DROP VIEW bench; CREATE TABLE bench(ID, rand)", "column `hash`"),
    ] {
        alter(&path, sql);
        let error = check(&path, 1).expect_err(sql).to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn damage_is_an_error_not_a_shorter_table() {
    let (_folder, path) = scratch();
    make(&options(&path, ROWS)).expect("made");
    let whole = fs::read(&path).expect("read");

    fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    let error = check(&path, 2).expect_err("cut short");
    assert!(error.to_string().contains("SQLITE_CORRUPT"), "{error}");

    // A page of zeros in the middle of the file, which is found only by reading it.
    let mut holed = whole.clone();
    let middle = whole.len() / 2 / 4096 * 4096;
    holed[middle..middle + 4096].fill(0);
    fs::write(&path, &holed).expect("written");
    for threads in [1, 2] {
        match check(&path, threads) {
            Err(error) => assert!(error.to_string().contains("SQLITE_CORRUPT"), "{error}"),
            // The page belongs to the index, which is not read.
            Ok(seen) => panic!("{} rows and nothing seen", seen.rows),
        }
    }

    fs::write(&path, &whole).expect("written");
    assert_eq!(check(&path, 2).expect("whole again").rows, ROWS);
}

#[test]
fn cancelling_ends_at_once() {
    let (_folder, path) = scratch();
    make(&options(&path, ROWS)).expect("made");
    let result = verify(&VerifyOptions::new(&path), &mut |_| {}, &AtomicBool::new(true));
    assert!(matches!(result, Err(BulkError::Cancelled { rows: 0 })), "{result:?}");

    let cancel = AtomicBool::new(false);
    let options = VerifyOptions {
        threads: NonZeroUsize::new(2).expect("not zero"),
        report_every: Duration::from_micros(200),
        ..VerifyOptions::new(&path)
    };
    let mut reports = 0;
    let mut stop = |_| {
        reports += 1;
        cancel.store(true, Ordering::Relaxed);
    };
    // On a busy machine both threads may end before the first report, but not every time.
    let cancelled = (0..5).find_map(|_| {
        cancel.store(false, Ordering::Relaxed);
        match verify(&options, &mut stop, &cancel) {
            Err(BulkError::Cancelled { rows }) => (rows < ROWS).then_some(rows),
            Ok(report) => {
                assert_eq!(report.rows, ROWS);
                None
            }
            Err(other) => panic!("{other:?}"),
        }
    });
    assert!(cancelled.is_some());
    assert!(reports > 0);
}

#[test]
fn the_database_is_not_written_to() {
    let (_folder, path) = scratch();
    make(&options(&path, ROWS)).expect("made");
    let before = (fs::read(&path).expect("read"), fs::metadata(&path).expect("is").modified().expect("known"));
    check(&path, 2).expect("verifies");
    assert!(before == (fs::read(&path).expect("read"), fs::metadata(&path).expect("is").modified().expect("known")));
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Real),
        any::<String>().prop_map(Value::Text),
        "[0-9a-fA-F]{14,18}".prop_map(Value::Text),
        "[0-9a-f]{64}".prop_map(Value::Text),
        proptest::collection::vec(any::<u8>(), 0..200).prop_map(Value::Blob),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any content of a row is counted, and is wrong, because no hash is guessed.
    #[test]
    fn any_content_is_read_and_found_wrong(
        content in proptest::collection::vec((value(), value()), 1..20),
        as_text in any::<bool>(),
    ) {
        let (_folder, path) = scratch();
        let conn = Connection::open(&path).expect("opens");
        conn.execute_batch("PRAGMA journal_mode = OFF; CREATE TABLE bench(ID int PRIMARY KEY, rand, hash)").expect("made");
        // Bytes that are cast to text need not be UTF-8.
        let sql = if as_text {
            "INSERT INTO bench VALUES (?1, CAST(?2 AS TEXT), CAST(?3 AS TEXT))"
        } else {
            "INSERT INTO bench VALUES (?1, ?2, ?3)"
        };
        for (id, (rand, hash)) in content.iter().enumerate() {
            conn.execute(sql, (id as i64, rand, hash)).expect("inserted");
        }
        drop(conn);
        let seen = check(&path, 2).expect("verifies");
        prop_assert_eq!((seen.rows, seen.mismatch_count), (content.len() as u64, content.len() as u64));
        prop_assert_eq!(seen.mismatches.len(), content.len().min(10));
    }
}
