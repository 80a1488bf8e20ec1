//! Every setting with every kind of value: what is accepted reads back as promised, and what is not does in SQLite
//! what the refusal says.

use super::super::value::parse_as;
use super::super::vocabulary::Word;
use super::super::{
    Effect, Kind, Pragma, PragmaInput, ReadBack, Reader, Reported, Reports, Standing, Values, all, check_order, find,
    parse,
};
use super::{Bench, execute, put, report};
use rusqlite::Connection;
use std::sync::{Mutex, MutexGuard, PoisonError};

const TEXTS: &[&str] = &[
    "",
    "on",
    "off",
    "true",
    "false",
    "yes",
    "no",
    "ON",
    "enabled",
    "disabled",
    "t",
    "null",
    "reset",
    "full",
    "Full",
    "extra",
    "normal",
    "wal",
    "WAL",
    "WALL",
    "w",
    "o",
    "del",
    "delete",
    "truncate",
    "persist",
    "memory",
    "MEMORY",
    "RAM",
    "file",
    "default",
    "exclusive",
    "none",
    "incremental",
    "fast",
    "UTF-8",
    "utf8",
    "UTF-16",
    "utf16be",
    "utf-16le",
    "latin1",
    "é",
    "it's",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "16",
    "64",
    "99",
    "100",
    "511",
    "512",
    "1000",
    "4096",
    "65536",
    "131072",
    "-0",
    "-1",
    "-2",
    "-64000",
    "007",
    "+5",
    " 5",
    "5 ",
    "5\t",
    "5\rx",
    "1 2",
    "1+",
    "--1",
    "64MB",
    "64 MB",
    "1GB",
    "5 seconds",
    "5s",
    "500ms",
    "4k",
    "4KB",
    "1_000",
    "1e6",
    "1.5",
    ".5",
    "0x10",
    "0X10",
    "0x10002",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "0x100000000",
    "0x",
    "0x1g",
    "-0x10",
    "0x0000000000000000000010",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "2147418112",
    "2147418113",
    "4294967294",
    "4294967295",
    "9999999999",
    "99999999999",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999999999999999999999999",
    "0x7fffffffffffffff",
    "0xffffffffffffffff",
    "0x10000000000000000",
    "000000000000000000000000000000005",
];

/// Values to start from, so that "keeps the value it had" differs from "takes some default".
const STARTS: &[&str] = &["1", "2", "4096", "wal", "persist", "exclusive", "UTF-16be", "1073741824"];

/// The heap limits belong to the process: one test at a time, and both are off again afterwards.
pub(super) struct HeapLimits(#[allow(dead_code, reason = "held, never read")] MutexGuard<'static, ()>);

static HEAP: Mutex<()> = Mutex::new(());

impl HeapLimits {
    pub(super) fn lock() -> Self {
        Self(HEAP.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lift() {
        // SAFETY: both functions are thread-safe and take plain numbers; 0 is no limit.
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
    let readable = |pragma: &&Pragma| match pragma.kind {
        Kind::Setting { reader, .. } => reader != Reader::Path && pragma.name != "case_sensitive_like",
        _ => false,
    };
    all().iter().filter(|pragma| pragma.standing != Standing::SpecialBuild).filter(readable)
}

/// Whether SQLite itself could no longer work: a hard heap limit of a few bytes fails every other test, too.
fn starves(pragma: &Pragma, text: &str) -> bool {
    pragma.name == "hard_heap_limit"
        && matches!(Reader::HardHeapLimit.read(text), Effect::Takes(ReadBack::Integer(..0x4000_0000)))
}

/// A connection with the setting at a start value.
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

/// Where the vocabulary and SQLite differ about one entry and one value; empty if they agree.
pub(super) fn disagreements(bench: &mut Bench, pragma: &'static Pragma, input: &PragmaInput) -> Vec<String> {
    let Some((_, reader)) = pragma.values() else { return vec![] };
    let text = input.text();
    if starves(pragma, &text) {
        return vec![];
    }
    let accepted = |start: &&&str| parse_as(pragma, &PragmaInput::Text((**start).to_string())).is_ok();
    // What a new file fixes, and what can only be lowered, is tried from the default alone.
    let starts: Vec<_> = match pragma.name {
        "auto_vacuum" | "hard_heap_limit" => vec![None],
        _ => STARTS.iter().filter(accepted).take(2).map(|start| Some(*start)).chain([None]).collect(),
    };
    let mut found = Vec::new();
    for start in starts {
        let mut complain = |what: String| found.push(format!("{} from {start:?} = {input:?}: {what}", pragma.name));
        if let Ok(value) = parse_as(pragma, input) {
            let connection = started(bench, pragma, start);
            execute(&connection, &value.statement()).unwrap();
            let reported = report(&connection, pragma.name);
            if !value.read_back_matches(&reported) {
                complain(format!("accepted, expected {}, reported {reported}", value.expected_read_back()));
            }
        }
        let connection = started(bench, pragma, start);
        let before = report(&connection, pragma.name);
        let result = put(&connection, pragma.name, &text);
        let after = report(&connection, pragma.name);
        let effect = reader.read(&text);
        let as_said = match effect {
            Effect::Takes(taken) => result.is_ok() && taken.matches(&after),
            Effect::Keeps => result.is_ok() && after == before,
            Effect::BuildDefault => result.is_ok() && after == report(&started(bench, pragma, None), pragma.name),
            Effect::Fails => result.is_err() && after == before,
        };
        if !as_said {
            complain(format!("said {effect:?}, was {before} and is {after} ({result:?})"));
        }
    }
    found
}

fn inputs() -> Vec<PragmaInput> {
    let texts = TEXTS.iter().map(|text| PragmaInput::Text((*text).to_owned()));
    let numbers = [0, 1, -1, 4096, -64000, i64::MAX, i64::MIN].map(PragmaInput::Integer);
    let others =
        [PragmaInput::Boolean(true), PragmaInput::Boolean(false), PragmaInput::Float(1.5), PragmaInput::Float(1e9)];
    texts.chain(numbers).chain(others).collect()
}

#[test]
fn sqlite_does_what_the_vocabulary_says() {
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
    for pragma in settings().filter(|pragma| pragma.standing == Standing::Current) {
        let (yes, no): (Vec<_>, Vec<_>) = inputs().into_iter().partition(|input| parse(pragma.name, input).is_ok());
        assert!(!yes.is_empty() && !no.is_empty(), "{}: {} accepted, {} refused", pragma.name, yes.len(), no.len());
    }
}

/// An entry with something wrong in it, as an edit of the table could leave it.
fn spoilt(name: &str, spoil: impl FnOnce(&mut Values, &mut Reader)) -> &'static Pragma {
    let mut pragma = *find(name).unwrap();
    if let Kind::Setting { values, reader, .. } = &mut pragma.kind {
        spoil(values, reader);
    }
    Box::leak(Box::new(pragma))
}

#[test]
fn a_wrong_entry_is_caught() {
    const SWAPPED: &[Word] =
        &[Word { text: "normal", aliases: &[], code: 2 }, Word { text: "full", aliases: &[], code: 1 }];
    let _heap = HeapLimits::lock();
    let mut bench = Bench::new();
    let text = |text: &str| PragmaInput::Text(text.to_owned());
    let mut caught = |pragma, input: &PragmaInput| disagreements(&mut bench, pragma, input);

    let wrong_code = spoilt("synchronous", |values, _| {
        *values = Values::Words { words: SWAPPED, reports: Reports::Code, numbers: &[] };
    });
    assert!(caught(wrong_code, &text("normal"))[0].contains("expected 2, reported 1"));

    let wrong_report = spoilt("temp_store", |values, _| {
        if let Values::Words { reports, .. } = values {
            *reports = Reports::Word;
        }
    });
    assert!(!caught(wrong_report, &text("memory")).is_empty());

    let wrong_range = spoilt("mmap_size", |values, _| {
        if let Values::Integer { max, .. } = values {
            *max = i64::MAX;
        }
    });
    assert!(!caught(wrong_range, &PragmaInput::Integer(1 << 40)).is_empty());

    let wrong_reader = spoilt("synchronous", |_, reader| *reader = Reader::Flag);
    assert!(!caught(wrong_reader, &text("full")).is_empty());

    let right = find("synchronous").unwrap();
    assert_eq!(caught(right, &text("normal")), Vec::<String>::new());
}

#[test]
fn a_memory_database_cannot_pass_for_wal() {
    let connection = Connection::open_in_memory().unwrap();
    let wal = parse("journal_mode", &PragmaInput::Text("wal".into())).unwrap();
    execute(&connection, &wal.statement()).unwrap();
    assert!(!wal.read_back_matches(&report(&connection, "journal_mode")));
}

#[test]
fn drivers_that_report_numbers_as_text_are_understood_and_no_row_is_no_match() {
    let full = parse("synchronous", &PragmaInput::Text("FULL".into())).unwrap();
    assert!(full.read_back_matches(&Reported::Text("2".into())));
    assert!(!full.read_back_matches(&Reported::Text("1".into())));
    assert!(!full.read_back_matches(&Reported::Nothing(())));
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
