//! The text of every error: the problem, the effect in SQLite, and the remedy.

use super::super::{all, parse};
use super::{pairs, text_value};
use crate::Scalar;
use crate::setting::Expected;
use litelab_database::pragma::tried;

/// Errors about values. The part before " is " or " lacks " is the line of the profile.
const WRONG_VALUES: &[&str] = &[
    r#"synchronous = "WAL" is not one of its words: SQLite would silently take it as NORMAL; write off, normal, full or extra"#,
    r#"synchronous = true is not one of its words: SQLite would silently take it as NORMAL; write off, normal, full or extra"#,
    r#"synchronous = 7 is not one of its words: SQLite would silently take it as OFF; write off, normal, full or extra"#,
    r#"synchronous = 4 is not one of its words: SQLite would silently set level 4, which acts as FULL; write off, normal, full or extra"#,
    r#"journal_mode = "WALL" is not one of its words: SQLite would silently ignore it and keep the value it has; write delete, truncate, persist, memory, wal or off"#,
    r#"journal_mode = "" is not one of its words: SQLite would silently take it as DELETE; write delete, truncate, persist, memory, wal or off"#,
    r#"temp_store = "RAM" is not one of its words: SQLite would silently take it as DEFAULT; write default, file or memory"#,
    r#"secure_delete = 2 is not one of its words: SQLite would silently take it as ON; write off, on or fast"#,
    r#"encoding = "latin1" is not one of its words: SQLite would return an error; write UTF-8, UTF-16le or UTF-16be"#,
    r#"foreign_keys = "enabled" is not a boolean: SQLite would silently turn it off; write on or off"#,
    r#"foreign_keys = -1 is not a boolean: SQLite would silently turn it off; write on or off"#,
    r#"cache_size = "64MB" is not a whole number: SQLite would silently read 64 pages (256 KiB with 4096-byte pages); write -62500 (64 MB as KiB) or -65536 (64 MiB)"#,
    r#"cache_size = "64 MiB" is not a whole number: SQLite would silently read 64 pages (256 KiB with 4096-byte pages); write -65536 (64 MiB as KiB)"#,
    r#"cache_size = 9999999999 is outside -2147483648 to 2147483647: SQLite would silently read 0 pages (0 KiB with 4096-byte pages); write at most 2147483647"#,
    r#"cache_size = 1.5 is not a whole number: SQLite would silently read 1 page (4 KiB with 4096-byte pages); write a whole number of pages, or of KiB with a minus sign"#,
    r#"busy_timeout = "5 seconds" is not a whole number: SQLite would silently read 5 ms; write 5000"#,
    r#"busy_timeout = "forever" is not a whole number: SQLite would silently ignore it and keep the value it has; write a whole number of milliseconds"#,
    r#"mmap_size = "1GB" is not a whole number: SQLite would silently read 1 byte; write 1000000000 (1 GB) or 1073741824 (1 GiB)"#,
    r#"mmap_size = 30000000000 is outside 0 to 2147418112: SQLite would silently read 2147418112 bytes; write at most 2147418112"#,
    r#"mmap_size = -1 is outside 0 to 2147418112: SQLite would silently read 0 bytes; write at least 0"#,
    r#"wal_autocheckpoint = "4MiB" is not a whole number: SQLite would silently read 4 frames (16 KiB with 4096-byte pages); write 1024 (4 MiB in 4096-byte pages)"#,
    r#"page_size = "4KB" is not a power of two from 512 to 65536: SQLite would silently ignore it and keep the value it has; write 4096"#,
    r#"page_size = 5000 is not a power of two from 512 to 65536: SQLite would silently ignore it and keep the value it has; write 512, 1024, 2048 and so on up to 65536"#,
    r#"cache_spill = "often" is neither a boolean nor a whole number: SQLite would silently turn it on; write on, off or a whole number of pages (KiB if negative)"#,
    r#"user_version = "1_000" is not a whole number: SQLite would silently read 1; write 1000"#,
    r#"optimize = "all" is not a whole number; write a whole number with bit 0x02 set"#,
    r#"optimize = 65536 lacks bit 0x02; write 65538"#,
    r#"wal_checkpoint = "truncated" is not one of its words; write passive, full, restart, truncate or noop"#,
];

/// Errors about names, with their line of the profile.
const WRONG_NAMES: &[(&str, &str)] = &[
    (
        "synchronus = 1",
        r#"unknown PRAGMA "synchronus": SQLite would ignore it without an error; did you mean synchronous?"#,
    ),
    (
        "warp = 1",
        r#"unknown PRAGMA "warp": SQLite would ignore it without an error; PRAGMA pragma_list names those it knows"#,
    ),
    (
        "\"main.cache_size\" = 1",
        r#""main.cache_size" names a schema: a profile sets the main database; write cache_size"#,
    ),
    (
        "count_changes = true",
        "count_changes is deprecated and some builds ignore it without an error; use sqlite3_changes() through the driver",
    ),
    (
        "vdbe_trace = true",
        "vdbe_trace exists only in a SQLite built with SQLITE_DEBUG: others ignore it without an error; leave it out",
    ),
    ("page_count = 5", "page_count reports and sets nothing; leave it out of the profile"),
    (
        "shrink_memory = 5",
        "shrink_memory = 5: it takes no value and SQLite would run it whatever the value; write true or leave it out",
    ),
];

#[test]
fn wrong_values_and_names() {
    let of_value = |line: &'static str| (line.split(" is ").next().unwrap().split(" lacks ").next().unwrap(), line);
    for (toml, line) in WRONG_VALUES.iter().map(|line| of_value(line)).chain(WRONG_NAMES.iter().copied()) {
        let (name, input) = pairs(toml).remove(0);
        let refused = parse(&name, &input).unwrap_err();
        assert_eq!(refused.clone().explained(Some(tried)).to_string(), line);
        // Without a SQLite to query, the effect is left out.
        let (problem, remedy) = line.split_once("; ").unwrap();
        let without =
            problem.split(": SQLite would silently").next().unwrap().replace(": SQLite would return an error", "");
        assert_eq!(refused.to_string(), format!("{without}; {remedy}"));
    }
}

#[test]
fn an_unknown_pragma_really_is_ignored_without_an_error() {
    let mut bench = super::Bench::new();
    let connection = bench.fresh();
    super::put(&connection, "synchronus", "off").unwrap();
    assert_eq!(super::report(&connection, "synchronus"), litelab_protocol::Value::Null);
}

/// A number proposed as remedy is itself a valid value.
#[test]
fn remedies_are_accepted() {
    const TEXTS: [&str; 14] = [
        "64MB",
        "64 MiB",
        "1GB",
        "4k",
        "5 seconds",
        "500 ms",
        "2 min",
        "1_000",
        "1e6",
        "2000 pages",
        "-64MB",
        "512 bytes",
        "-3",
        "99999999999999",
    ];
    let mut checked = 0;
    for (pragma, text) in all().iter().flat_map(|pragma| TEXTS.map(|text| (pragma, text))) {
        let Err(refused) = parse(pragma.name, &text_value(text)) else { continue };
        let line = refused.to_string();
        let Some((_, remedy)) = line.split_once("; write ") else { continue };
        let numbers = remedy.trim_start_matches("at most ").trim_start_matches("at least ");
        for offer in numbers.split(" or ") {
            let number = offer.split(' ').next().unwrap();
            if number.parse::<i64>().is_ok() {
                assert!(parse(pragma.name, &text_value(number)).is_ok(), "{line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn canonical_forms() {
    for (toml, sql) in [
        ("Synchronous = 'FULL'", "PRAGMA synchronous = full"),
        ("synchronous = 2", "PRAGMA synchronous = full"),
        ("foreign_keys = true", "PRAGMA foreign_keys = on"),
        ("foreign_keys = 'No'", "PRAGMA foreign_keys = off"),
        ("secure_delete = true", "PRAGMA secure_delete = on"),
        ("cache_size = '-64000'", "PRAGMA cache_size = -64000"),
        ("application_id = '0x1000'", "PRAGMA application_id = 4096"),
        ("encoding = 'utf16be'", "PRAGMA encoding = 'UTF-16be'"),
        ("optimize = true", "PRAGMA optimize"),
        ("optimize = '0x10002'", "PRAGMA optimize = 65538"),
    ] {
        let (name, input) = pairs(toml).remove(0);
        assert_eq!(parse(&name, &input).unwrap().sql.as_deref(), Some(sql), "{toml}");
    }
    let full = parse("synchronous", &text_value("FULL")).unwrap();
    assert_eq!((full.value.as_str(), full.expected), ("full", Some(Expected::Integer(2))));
    let optimize = parse("optimize", &Scalar::Bool(true)).unwrap();
    assert_eq!((optimize.value.as_str(), optimize.expected), ("", None));
    assert_eq!(parse("cache_spill", &Scalar::Integer(100)).unwrap().expected, Some(Expected::AtLeast(100)));
}
