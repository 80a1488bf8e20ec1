//! Content of generated databases, compared with independent computations.

use crate::common::{SCHEMAS, alter, check, count, make, of_schema, options, rows, scratch, settings, word};
use litelab_bulk::GenerateOptions;
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use std::process::Command;

/// The generator, implemented again from its description.
fn expected(seed: u64, count: u64) -> Vec<(i64, String, String)> {
    const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let name = "generate.rand".bytes();
    let fnv = name.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    let key = mix(seed.wrapping_add(GAMMA.wrapping_mul(fnv)));
    (0..count)
        .map(|row| {
            let word = mix(key.wrapping_add((row + 1).wrapping_mul(GAMMA)));
            let hash = Sha256::digest(word.to_be_bytes());
            (row as i64, format!("{word:016x}"), hash.iter().map(|byte| format!("{byte:02x}")).collect())
        })
        .collect()
}

#[test]
fn every_schema_holds_the_same_rows() {
    for schema in SCHEMAS {
        let (_folder, path) = scratch();
        let report = make(&GenerateOptions { batch: 700, ..of_schema(schema, &path, 5000) }).expect("made");
        assert_eq!((report.rows, report.batches), (5000, 8));
        assert_eq!(rows(&path), expected(1, 5000), "{schema}");
        let conn = Connection::open(&path).expect("opens");
        let sql: String = conn
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'bench'", [], |row| row.get(0))
            .expect("is there");
        assert_eq!(sql, of_schema(schema, &path, 1).schema);
        let seen = check(&path, 2).expect("verifies");
        assert_eq!((seen.rows, seen.mismatch_count), (5000, 0), "{schema}");
    }
}

#[test]
fn the_sizes_of_batches_change_nothing_but_the_commits() {
    // One row per batch; several batches per buffer; a batch of several buffers and a rest; one batch for all.
    for (batch, batches) in [(1, 7000), (900, 8), (2048, 4), (5000, 2), (1_000_000, 1)] {
        let (_folder, path) = scratch();
        let options = GenerateOptions {
            batch,
            // Fast and unsafe, because 7,000 commits are not under test.
            settings: settings(&[("synchronous", word("OFF"))]),
            ..options(&path, 7000)
        };
        assert_eq!(make(&options).expect("made").batches, batches);
        assert_eq!(rows(&path), expected(1, 7000), "batch {batch}");
    }
}

#[test]
fn a_vacuum_changes_no_row() {
    let (_folder, path) = scratch();
    let options = GenerateOptions { vacuum: true, batch: 3000, ..options(&path, 10_000) };
    let report = make(&options).expect("made");
    assert!(report.vacuum.is_some_and(|vacuum| !vacuum.is_zero()));
    assert_eq!(rows(&path), expected(1, 10_000));
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let (folder, path) = scratch();
    let again = folder.path().join("again.db");
    let other = folder.path().join("other.db");
    make(&GenerateOptions { seed: 7, ..options(&path, 3000) }).expect("made");
    make(&GenerateOptions { seed: 7, batch: 10, ..options(&again, 3000) }).expect("made");
    make(&GenerateOptions { seed: 8, ..options(&other, 3000) }).expect("made");
    assert_eq!(rows(&path), rows(&again));
    assert_eq!(rows(&path), expected(7, 3000));
    assert_ne!(rows(&path), rows(&other));
}

#[test]
fn the_file_is_closed_whole_and_in_the_mode_asked_for() {
    let (folder, path) = scratch();
    let report = make(&options(&path, 20_000)).expect("made");
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("lists").map(|entry| entry.expect("is").file_name()).collect();
    assert_eq!(names, ["bench.db"], "no log remains");
    assert_eq!(report.bytes, std::fs::metadata(&path).expect("is").len());
    let settings = [("busy_timeout", "5000"), ("journal_mode", "wal"), ("synchronous", "1")];
    assert_eq!(report.settings, settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(count(&path), 20_000);
    let mode: String =
        Connection::open(&path).expect("opens").query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("reads");
    assert_eq!(mode, "wal");
}

/// Python's own SQLite and hashlib: another client, another engine, another SHA-256.
#[test]
fn python_reads_and_agrees() {
    let (_folder, path) = scratch();
    make(&options(&path, 4000)).expect("made");
    let script = "
import sqlite3, hashlib, sys
rows = 0
for i, (id, rand, hash) in enumerate(sqlite3.connect(sys.argv[1]).execute('SELECT * FROM bench ORDER BY ID')):
    assert id == i and len(rand) == 16 and hash == hashlib.sha256(bytes.fromhex(rand)).hexdigest(), (id, rand, hash)
    rows += 1
print(rows)";
    let python = || Command::new("python3").args(["-c", script]).arg(&path).output();
    let Ok(output) = python() else {
        eprintln!("skipped: no python3 here");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "4000", "{errors}");
    // Negative control: the same script finds a wrong row.
    alter(&path, "UPDATE bench SET hash = replace(hash, 'a', 'b') WHERE ID = 3999");
    let output = python().expect("ran before");
    assert!(!output.status.success());
}
