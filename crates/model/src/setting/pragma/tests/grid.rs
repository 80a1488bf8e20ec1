//! Every setting with every kind of value: accepted values read back as expected.

use super::super::value::parse_as;
use super::super::{Kind, Pragma, Reports, Standing, Values, all, check_order, find, parse};
use super::{Bench, execute, put, report, text_value};
use crate::Scalar;
use crate::setting::Setting;
use litelab_protocol::Value;
use rusqlite::Connection;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// At least one value that each setting accepts, and near misses. The property tests try any text.
const TEXTS: &str = "on off TRUE no ON enabled full Full extra normal wal WALL del delete truncate persist memory RAM \
    file default exclusive none incremental fast UTF-8 utf8 UTF-16 utf16be utf-16le latin1 0 1 2 3 4 6 7 8 9 64 511 512 \
    4096 65536 131072 -0 -1 -64000 007 +5 1+ --1 64MB 5s 4k 1_000 1e6 1.5 .5 0x10 0X10 0x7fffffff 0x80000000 0x \
    -0x10 2147483647 2147483648 -2147483648 -2147483649 2147418112 2147418113 4294967294 4294967295 9999999999 \
    9223372036854775807 9223372036854775808 -9223372036854775808 0x7fffffffffffffff 0xffffffffffffffff";

/// Start values of a setting, so that a kept value differs from a default.
const STARTS: &[&str] = &["1", "2", "4096", "wal", "persist", "exclusive", "UTF-16be", "1073741824"];

/// Exclusive access to the heap limits, which belong to the process. Both limits are removed afterwards.
pub(super) struct HeapLimits(#[allow(dead_code, reason = "held, never read")] MutexGuard<'static, ()>);

static HEAP: Mutex<()> = Mutex::new(());

impl HeapLimits {
    pub(super) fn lock() -> Self {
        Self(HEAP.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lift() {
        // SAFETY: both functions are thread-safe and take plain numbers; 0 means no limit.
        unsafe {
            rusqlite::ffi::sqlite3_hard_heap_limit64(0);
            rusqlite::ffi::sqlite3_soft_heap_limit64(0);
        }
    }
}

impl Drop for HeapLimits {
    fn drop(&mut self) {
        Self::lift();
    }
}

pub(super) fn settings() -> impl Iterator<Item = &'static Pragma> {
    all().iter().filter(|pragma| pragma.standing == Standing::Current && matches!(pragma.kind, Kind::Setting { .. }))
}

/// Whether SQLite itself would no longer work: a hard heap limit of a few bytes would fail every other test, too.
fn starves(pragma: &Pragma, input: &Scalar) -> bool {
    let limit = |setting: Setting| setting.value.parse::<i64>().ok();
    pragma.name == "hard_heap_limit"
        && parse(pragma.name, input).ok().and_then(limit).is_some_and(|bytes| bytes < 0x4000_0000)
}

/// A connection on which the setting has a start value.
fn started(bench: &mut Bench, pragma: &Pragma, start: Option<&str>) -> Connection {
    HeapLimits::lift();
    let connection = bench.fresh();
    if pragma.name != "synchronous" {
        put(&connection, "synchronous", "off").unwrap();
    }
    if let Some(start) = start {
        put(&connection, pragma.name, start).unwrap();
    }
    connection
}

/// Descriptions of the cases in which an accepted value does not read back as expected.
pub(super) fn disagreements(bench: &mut Bench, pragma: &'static Pragma, input: &Scalar) -> Vec<String> {
    let Ok(value) = parse_as(pragma, input) else { return vec![] };
    if starves(pragma, input) {
        return vec![];
    }
    let accepted = |start: &&&str| parse_as(pragma, &text_value(start)).is_ok();
    // Settings that a new file fixes, or that can only be lowered, are tested from the default alone.
    let starts: Vec<_> = match pragma.name {
        "auto_vacuum" | "hard_heap_limit" => vec![None],
        _ => STARTS.iter().filter(accepted).take(2).map(|start| Some(*start)).chain([None]).collect(),
    };
    let mut found = Vec::new();
    for start in starts {
        let connection = started(bench, pragma, start);
        execute(&connection, value.sql.as_ref().unwrap()).unwrap();
        let reported = report(&connection, pragma.name);
        if !value.matches(&reported) {
            let expected = value.expected.as_ref().unwrap();
            found.push(format!("{} from {start:?} = {input:?}: expected {expected}, reported {reported}", pragma.name));
        }
    }
    found
}

fn inputs() -> Vec<Scalar> {
    let texts = TEXTS.split_whitespace().chain(["", " 5", "5 ", "5\t", "1 2", "it's"]).map(text_value);
    let numbers = [0, 1, -1, 4096, -64000, i64::MAX, i64::MIN].map(Scalar::Integer);
    let others = [Scalar::Bool(true), Scalar::Bool(false), Scalar::Real(1.5), Scalar::Real(1e9)];
    texts.chain(numbers).chain(others).collect()
}

#[test]
fn what_is_accepted_reads_back_as_promised() {
    let _heap = HeapLimits::lock();
    let mut bench = Bench::new();
    let mut found = Vec::new();
    let mut accepted = 0;
    for pragma in settings() {
        for input in inputs() {
            accepted += usize::from(parse(pragma.name, &input).is_ok());
            found.extend(disagreements(&mut bench, pragma, &input));
        }
    }
    assert!(accepted > 400, "only {accepted} accepted");
    assert!(found.is_empty(), "{}\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_current_setting_accepts_something_and_refuses_something() {
    for pragma in settings() {
        let (yes, no): (Vec<_>, Vec<_>) = inputs().into_iter().partition(|input| parse(pragma.name, input).is_ok());
        assert!(!yes.is_empty() && !no.is_empty(), "{}: {} accepted, {} refused", pragma.name, yes.len(), no.len());
    }
}

/// A table entry with an error, as an edit of the table could cause.
fn spoilt(name: &str, spoil: impl FnOnce(&mut Values)) -> &'static Pragma {
    let mut pragma = *find(name).unwrap();
    if let Kind::Setting { values, .. } = &mut pragma.kind {
        spoil(values);
    }
    Box::leak(Box::new(pragma))
}

#[test]
fn a_wrong_entry_is_caught() {
    let _heap = HeapLimits::lock();
    let mut bench = Bench::new();
    let mut caught = |pragma, input: &Scalar| disagreements(&mut bench, pragma, input);

    let wrong_code = spoilt("synchronous", |values| {
        let words = &[&["off"] as &[_], &["full"], &["normal"]];
        *values = Values::Words { words, reports: Reports::Code { input: 0 } };
    });
    assert!(caught(wrong_code, &text_value("normal"))[0].contains("expected 2, reported 1"));

    let wrong_report = spoilt("temp_store", |values| {
        if let Values::Words { reports, .. } = values {
            *reports = Reports::Word;
        }
    });
    assert!(!caught(wrong_report, &text_value("memory")).is_empty());

    let wrong_range = spoilt("mmap_size", |values| {
        if let Values::Integer { max, .. } = values {
            *max = i64::MAX;
        }
    });
    assert!(!caught(wrong_range, &Scalar::Integer(1 << 40)).is_empty());

    let right = find("synchronous").unwrap();
    assert_eq!(caught(right, &text_value("normal")), Vec::<String>::new());
}

#[test]
fn a_memory_database_cannot_pass_for_wal() {
    let connection = Connection::open_in_memory().unwrap();
    let wal = parse("journal_mode", &text_value("wal")).unwrap();
    execute(&connection, wal.sql.as_ref().unwrap()).unwrap();
    assert!(!wal.matches(&report(&connection, "journal_mode")));
}

#[test]
fn drivers_that_report_numbers_as_text_are_understood_and_no_row_is_no_match() {
    let full = parse("synchronous", &text_value("FULL")).unwrap();
    assert!(full.matches(&Value::from("2")));
    assert!(!full.matches(&Value::from("1")));
    assert!(!full.matches(&Value::Null));
}

#[test]
fn the_hard_heap_limit_cuts_the_soft_one() {
    let _heap = HeapLimits::lock();
    let mut bench = Bench::new();
    let (low, high) = ("1099511627776", "2199023255552");
    for (soft, hard, cut) in [(high, low, true), ("0", low, true), (low, high, false)] {
        let (soft, hard) = (("soft_heap_limit", soft), ("hard_heap_limit", hard));
        for pairs in [[soft, hard], [hard, soft]] {
            HeapLimits::lift();
            let connection = bench.with_profile(&super::profile(&pairs));
            let effective = report(&connection, "soft_heap_limit").to_string();
            assert_eq!(effective, if cut { hard.1 } else { soft.1 }, "{pairs:?}");
            assert_eq!(!check_order(&super::profile(&pairs)).is_empty(), cut, "{pairs:?}");
        }
    }
}
