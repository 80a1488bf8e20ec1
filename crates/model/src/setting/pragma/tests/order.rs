//! Every reported order has no effect, and harmless orders that look suspicious are not reported.

use super::super::{check_order, parse};
use super::{Bench, create_table, execute, profile, put, report};
use crate::Scalar;
use crate::setting::Setting;
use rusqlite::Connection;

/// The faults, each of them one line with a remedy.
fn faults(pairs: &[(&str, &str)]) -> Vec<String> {
    let faults = check_order(&profile(pairs));
    assert!(faults.iter().all(|line| line.contains("; ") && !line.contains('\n')), "{faults:?}");
    faults
}

/// Runs a profile and returns the settings that do not read back as expected.
fn without_effect(bench: &mut Bench, values: &[Setting]) -> Vec<String> {
    let connection = bench.with_profile(values);
    let lost = |value: &&Setting| !value.matches(&report(&connection, &value.name));
    values.iter().filter(lost).map(|value| value.name.clone()).collect()
}

const CREATORS: [(&str, &str); 6] = [
    ("journal_mode", "wal"),
    ("auto_vacuum", "full"),
    ("auto_vacuum", "incremental"),
    ("application_id", "7"),
    ("schema_version", "7"),
    ("user_version", "7"),
];

#[test]
fn what_a_new_file_fixes_has_no_effect_behind_what_creates_it() {
    let mut bench = Bench::new();
    for creator in CREATORS {
        for late in [("page_size", "8192"), ("auto_vacuum", "full")] {
            if creator.0 == late.0 {
                continue;
            }
            let wrong = [creator, late];
            let expected = format!(
                "{} comes after {} = {}, which creates the file and fixes it: no effect; put {} first",
                late.0, creator.0, creator.1, late.0
            );
            assert_eq!(faults(&wrong), [expected]);
            assert!(without_effect(&mut bench, &profile(&wrong)).contains(&late.0.to_owned()), "{wrong:?}");
            // Of two such settings one has to be first: page_size does not create the file, auto_vacuum does.
            if late.0 == "page_size" || creator.0 != "page_size" {
                let right = [late, creator];
                assert_eq!(faults(&right), [""; 0], "{right:?}");
                let lost = without_effect(&mut bench, &profile(&right));
                // The table created afterwards increments schema_version.
                assert!(lost.is_empty() || lost == ["schema_version"], "{right:?}: {lost:?}");
            }
        }
    }
}

#[test]
fn a_vacuum_applies_what_the_file_had_fixed_except_where_it_cannot() {
    let mut bench = Bench::new();
    for (journal, name, text, changes) in [
        ("delete", "page_size", "8192", true),
        ("wal", "page_size", "8192", false),
        ("delete", "auto_vacuum", "full", true),
        ("wal", "auto_vacuum", "full", true),
        ("delete", "encoding", "UTF-16be", false),
    ] {
        let connection = bench.with_profile(&profile(&[("journal_mode", journal)]));
        let value = &profile(&[(name, text)])[0];
        execute(&connection, value.sql.as_ref().unwrap()).unwrap();
        assert!(!value.matches(&report(&connection, name)), "{journal} {name}: at once");
        connection.execute_batch("VACUUM").unwrap();
        assert_eq!(value.matches(&report(&connection, name)), changes, "{journal} {name}");
    }
}

#[test]
fn an_action_creates_the_file_too() {
    let mut bench = Bench::new();
    let connection = bench.fresh();
    put(&connection, "auto_vacuum", "none").unwrap();
    execute(&connection, "PRAGMA incremental_vacuum").unwrap();
    put(&connection, "page_size", "8192").unwrap();
    create_table(&connection);
    assert_eq!(report(&connection, "page_size").integer(), Some(4096));
    let mut values = vec![parse("incremental_vacuum", &Scalar::Bool(true)).unwrap()];
    values.extend(profile(&[("page_size", "8192")]));
    assert!(check_order(&values).iter().any(|fault| fault.starts_with("page_size comes after incremental_vacuum, ")));
}

#[test]
fn orders_that_only_look_wrong_pass_and_work() {
    let mut bench = Bench::new();
    for pairs in [
        [("journal_mode", "wal"), ("encoding", "UTF-16le")],
        [("user_version", "3"), ("encoding", "UTF-16le")],
        [("journal_mode", "wal"), ("synchronous", "normal")],
        [("synchronous", "normal"), ("journal_mode", "wal")],
        [("synchronous", "extra"), ("page_size", "8192")],
        [("mmap_size", "1000000"), ("page_size", "8192")],
        [("cache_size", "-64000"), ("page_size", "8192")],
        [("journal_size_limit", "1000000"), ("journal_mode", "wal")],
        [("wal_autocheckpoint", "77"), ("journal_mode", "wal")],
        [("journal_mode", "truncate"), ("page_size", "8192")],
        [("locking_mode", "exclusive"), ("page_size", "8192")],
        [("max_page_count", "1000"), ("page_size", "8192")],
        [("locking_mode", "exclusive"), ("journal_mode", "wal")],
        [("journal_mode", "wal"), ("locking_mode", "exclusive")],
        [("temp_store", "memory"), ("page_size", "8192")],
        [("auto_vacuum", "none"), ("page_size", "8192")],
        [("journal_mode", "wal"), ("auto_vacuum", "none")],
        [("cache_size", "10"), ("cache_spill", "5000")],
    ] {
        assert_eq!(faults(&pairs), [""; 0], "{pairs:?}");
        assert_eq!(without_effect(&mut bench, &profile(&pairs)), [""; 0], "{pairs:?}");
    }
}

#[test]
fn a_setting_twice_is_told_and_an_action_twice_is_not() {
    let twice = [("cache_size", "100"), ("synchronous", "full"), ("cache_size", "200")];
    assert_eq!(faults(&twice), ["cache_size is set twice, to 100 and then to 200; keep one"]);
    assert_eq!(without_effect(&mut Bench::new(), &profile(&twice)), ["cache_size"]);
    assert_eq!(faults(&[("optimize", "2"), ("optimize", "2")]), [""; 0]);
}

#[test]
fn wal_settings_need_a_wal() {
    let mut bench = Bench::new();
    let wal_exists =
        |connection: &Connection| std::path::Path::new(&format!("{}-wal", connection.path().unwrap())).exists();
    let pairs = [("journal_mode", "delete"), ("wal_autocheckpoint", "10")];
    let expected = "wal_autocheckpoint has no effect with journal_mode = delete: there is no WAL; leave it out, or set journal_mode = wal";
    assert_eq!(faults(&pairs), [expected]);
    assert!(!wal_exists(&bench.with_profile(&profile(&pairs))));
    assert!(wal_exists(&bench.with_profile(&profile(&[("journal_mode", "wal"), ("wal_autocheckpoint", "10")]))));

    let checkpoint = faults(&[("journal_mode", "persist"), ("wal_checkpoint", "full")]);
    assert!(checkpoint.len() == 1 && checkpoint[0].contains("there is no WAL"), "{checkpoint:?}");
    let connection = bench.with_profile(&profile(&[("journal_mode", "persist")]));
    let frames: i64 = connection.query_row("PRAGMA wal_checkpoint = full", [], |row| row.get(1)).unwrap();
    assert_eq!(frames, -1, "there is nothing to checkpoint");

    // The file can already be in WAL mode.
    assert_eq!(faults(&[("wal_autocheckpoint", "10")]), [""; 0]);
}

/// Size in bytes of the rollback journal after a transaction of 50 pages.
fn journal_left(bench: &mut Bench, values: &[Setting]) -> Option<u64> {
    let connection = bench.with_profile(values);
    connection.execute_batch("UPDATE t SET x = randomblob(200000)").unwrap();
    std::fs::metadata(format!("{}-journal", connection.path().unwrap())).ok().map(|file| file.len())
}

#[test]
fn a_size_limit_needs_a_file_that_stays() {
    const LIMIT: u64 = 5000;
    let mut bench = Bench::new();
    for (journal, locking) in [
        ("delete", "normal"),
        ("truncate", "normal"),
        ("memory", "normal"),
        ("off", "normal"),
        ("truncate", "exclusive"),
        ("persist", "normal"),
        ("persist", "exclusive"),
        ("delete", "exclusive"),
    ] {
        let base = [("locking_mode", locking), ("journal_mode", journal)];
        let limited = [base[0], base[1], ("journal_size_limit", "5000")];
        let free = journal_left(&mut bench, &profile(&base));
        let cut = journal_left(&mut bench, &profile(&limited));
        let limits = free != cut;
        assert_eq!(faults(&limited).is_empty(), limits, "{journal} {locking}: {free:?} without, {cut:?} with a limit");
        if limits {
            assert!(free.unwrap() > LIMIT && cut.unwrap() <= LIMIT, "{journal} {locking}: {free:?}, {cut:?}");
        }
    }
    assert_eq!(faults(&[("journal_mode", "wal"), ("journal_size_limit", "5000")]), [""; 0]);
}

#[test]
fn incremental_vacuum_needs_its_mode() {
    let mut bench = Bench::new();
    for (mode, frees) in [("none", false), ("incremental", true)] {
        let connection = bench.with_profile(&profile(&[("auto_vacuum", mode)]));
        connection.execute_batch("DELETE FROM t").unwrap();
        let before = report(&connection, "freelist_count");
        execute(&connection, "PRAGMA incremental_vacuum").unwrap();
        assert_eq!(before != report(&connection, "freelist_count"), frees, "{mode}");
        let pairs = [("auto_vacuum", mode), ("incremental_vacuum", "5")];
        assert_eq!(faults(&pairs).is_empty(), frees, "{mode}");
    }
    // FULL frees pages at each commit, so that none remain.
    let connection = bench.with_profile(&profile(&[("auto_vacuum", "full")]));
    connection.execute_batch("DELETE FROM t").unwrap();
    assert_eq!(report(&connection, "freelist_count").integer(), Some(0));
    assert_eq!(faults(&[("auto_vacuum", "full"), ("incremental_vacuum", "5")]).len(), 1);
    // The file can already be in incremental mode.
    assert_eq!(faults(&[("incremental_vacuum", "5")]), [""; 0]);
}

#[test]
fn deferring_foreign_keys_ends_with_the_transaction() {
    let pairs = [("defer_foreign_keys", "on")];
    let expected = "defer_foreign_keys is off again after the first transaction; declare the constraints DEFERRABLE INITIALLY DEFERRED, or set it inside each transaction";
    assert_eq!(faults(&pairs), [expected]);
    assert_eq!(without_effect(&mut Bench::new(), &profile(&pairs)), ["defer_foreign_keys"]);
    assert_eq!(faults(&[("defer_foreign_keys", "off")]), [""; 0]);
}

#[test]
fn query_only_forbids_what_writes_the_file() {
    let mut bench = Bench::new();
    for (name, text, fails) in [
        ("user_version", "4", true),
        ("application_id", "4", true),
        ("auto_vacuum", "full", true),
        ("incremental_vacuum", "4", true),
        ("auto_vacuum", "none", false),
        ("page_size", "8192", false),
        ("journal_mode", "wal", false),
        ("cache_size", "100", false),
    ] {
        let connection = bench.fresh();
        put(&connection, "query_only", "on").unwrap();
        assert_eq!(put(&connection, name, text).is_err(), fails, "{name}");
        let told = faults(&[("query_only", "on"), (name, text)]);
        assert_eq!(told.iter().any(|fault| fault.contains("comes after query_only = on and fails")), fails, "{name}");
    }
    assert_eq!(faults(&[("query_only", "off"), ("user_version", "4")]), [""; 0]);
}
