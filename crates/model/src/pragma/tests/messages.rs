//! The text of every error: the problem, the effect in SQLite, and the remedy.

use super::super::{Canonical, PragmaError, all, parse};
use super::text_value;
use crate::Scalar;
use crate::setting::{Expected, Setting};
use litelab_database::pragma::tried;

fn refusal(name: &str, input: impl Into<Scalar>) -> String {
    parse(name, &input.into()).unwrap_err().explained(Some(tried)).to_string()
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        text_value(text)
    }
}

impl From<i64> for Scalar {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

#[test]
fn wrong_values() {
    let expected = [
        (
            refusal("synchronous", "WAL"),
            r#"synchronous = "WAL" is not one of its words: SQLite would silently take it as NORMAL; write off, normal, full or extra"#,
        ),
        (
            refusal("synchronous", true),
            r#"synchronous = true is not one of its words: SQLite would silently take it as NORMAL; write off, normal, full or extra"#,
        ),
        (
            refusal("synchronous", 7),
            r#"synchronous = 7 is not one of its words: SQLite would silently take it as OFF; write off, normal, full or extra"#,
        ),
        (
            refusal("synchronous", 4),
            r#"synchronous = 4 is not one of its words: SQLite would silently set level 4, which acts as FULL; write off, normal, full or extra"#,
        ),
        (
            refusal("journal_mode", "WALL"),
            r#"journal_mode = "WALL" is not one of its words: SQLite would silently ignore it and keep the value it has; write delete, truncate, persist, memory, wal or off"#,
        ),
        (
            refusal("journal_mode", ""),
            r#"journal_mode = "" is not one of its words: SQLite would silently take it as DELETE; write delete, truncate, persist, memory, wal or off"#,
        ),
        (
            refusal("temp_store", "RAM"),
            r#"temp_store = "RAM" is not one of its words: SQLite would silently take it as DEFAULT; write default, file or memory"#,
        ),
        (
            refusal("secure_delete", 2),
            r#"secure_delete = 2 is not one of its words: SQLite would silently take it as ON; write off, on or fast"#,
        ),
        (
            refusal("encoding", "latin1"),
            r#"encoding = "latin1" is not one of its words: SQLite would return an error; write UTF-8, UTF-16le or UTF-16be"#,
        ),
        (
            refusal("foreign_keys", "enabled"),
            r#"foreign_keys = "enabled" is not a boolean: SQLite would silently turn it off; write on or off"#,
        ),
        (
            refusal("foreign_keys", -1),
            r#"foreign_keys = -1 is not a boolean: SQLite would silently turn it off; write on or off"#,
        ),
        (
            refusal("cache_size", "64MB"),
            r#"cache_size = "64MB" is not a whole number: SQLite would silently read 64 pages (256 KiB with 4096-byte pages); write -62500 (64 MB as KiB) or -65536 (64 MiB)"#,
        ),
        (
            refusal("cache_size", "64 MiB"),
            r#"cache_size = "64 MiB" is not a whole number: SQLite would silently read 64 pages (256 KiB with 4096-byte pages); write -65536 (64 MiB as KiB)"#,
        ),
        (
            refusal("cache_size", 9_999_999_999),
            r#"cache_size = 9999999999 is outside -2147483648 to 2147483647: SQLite would silently read 0 pages (0 KiB with 4096-byte pages); write at most 2147483647"#,
        ),
        (
            refusal("cache_size", Scalar::Real(1.5)),
            r#"cache_size = 1.5 is not a whole number: SQLite would silently read 1 page (4 KiB with 4096-byte pages); write a whole number of pages, or of KiB with a minus sign"#,
        ),
        (
            refusal("busy_timeout", "5 seconds"),
            r#"busy_timeout = "5 seconds" is not a whole number: SQLite would silently read 5 ms; write 5000"#,
        ),
        (
            refusal("busy_timeout", "forever"),
            r#"busy_timeout = "forever" is not a whole number: SQLite would silently ignore it and keep the value it has; write a whole number of milliseconds"#,
        ),
        (
            refusal("mmap_size", "1GB"),
            r#"mmap_size = "1GB" is not a whole number: SQLite would silently read 1 byte; write 1000000000 (1 GB) or 1073741824 (1 GiB)"#,
        ),
        (
            refusal("mmap_size", 30_000_000_000),
            r#"mmap_size = 30000000000 is outside 0 to 2147418112: SQLite would silently read 2147418112 bytes; write at most 2147418112"#,
        ),
        (
            refusal("mmap_size", -1),
            r#"mmap_size = -1 is outside 0 to 2147418112: SQLite would silently read 0 bytes; write at least 0"#,
        ),
        (
            refusal("wal_autocheckpoint", "4MiB"),
            r#"wal_autocheckpoint = "4MiB" is not a whole number: SQLite would silently read 4 frames (16 KiB with 4096-byte pages); write 1024 (4 MiB in 4096-byte pages)"#,
        ),
        (
            refusal("page_size", "4KB"),
            r#"page_size = "4KB" is not a power of two from 512 to 65536: SQLite would silently ignore it and keep the value it has; write 4096"#,
        ),
        (
            refusal("page_size", 5000),
            r#"page_size = 5000 is not a power of two from 512 to 65536: SQLite would silently ignore it and keep the value it has; write 512, 1024, 2048 and so on up to 65536"#,
        ),
        (
            refusal("cache_spill", "often"),
            r#"cache_spill = "often" is neither a boolean nor a whole number: SQLite would silently turn it on; write on, off or a whole number of pages (KiB if negative)"#,
        ),
        (
            refusal("user_version", "1_000"),
            r#"user_version = "1_000" is not a whole number: SQLite would silently read 1; write 1000"#,
        ),
        (
            refusal("optimize", "all"),
            r#"optimize = "all" is not a whole number; write a whole number with bit 0x02 set"#,
        ),
        (refusal("optimize", 0x10000), r#"optimize = 65536 lacks bit 0x02; write 65538"#),
        (
            refusal("wal_checkpoint", "truncated"),
            r#"wal_checkpoint = "truncated" is not one of its words; write passive, full, restart, truncate or noop"#,
        ),
    ];
    for (line, expected) in expected {
        assert_eq!(line, expected);
    }
}

#[test]
fn wrong_names() {
    assert_eq!(
        refusal("synchronus", 1),
        r#"unknown PRAGMA "synchronus": SQLite would ignore it without an error; did you mean synchronous?"#
    );
    assert_eq!(
        refusal("warp", 1),
        r#"unknown PRAGMA "warp": SQLite would ignore it without an error; PRAGMA pragma_list names those it knows"#
    );
    assert_eq!(
        refusal("main.cache_size", 1),
        r#""main.cache_size" names a schema: a profile sets the main database; write cache_size"#
    );
    assert_eq!(
        refusal("count_changes", true),
        "count_changes is deprecated and some builds ignore it without an error; use sqlite3_changes() through the driver"
    );
    assert_eq!(
        refusal("vdbe_trace", true),
        "vdbe_trace exists only in a SQLite built with SQLITE_DEBUG: others ignore it without an error; leave it out"
    );
    assert_eq!(refusal("page_count", 5), "page_count reports and sets nothing; leave it out of the profile");
    assert_eq!(
        refusal("shrink_memory", 5),
        "shrink_memory = 5: it takes no value and SQLite would run it whatever the value; write true or leave it out"
    );
}

#[test]
fn an_unknown_pragma_really_is_ignored_without_an_error() {
    let mut bench = super::Bench::new();
    let connection = bench.fresh();
    super::put(&connection, "synchronus", "off").unwrap();
    assert_eq!(super::report(&connection, "synchronus"), litelab_protocol::Value::Null);
}

#[test]
fn without_a_sqlite_to_ask_the_rest_is_said() {
    assert_eq!(
        parse("busy_timeout", &"5 seconds".into()).unwrap_err().to_string(),
        "busy_timeout = \"5 seconds\" is not a whole number; write 5000"
    );
}

/// A number proposed as remedy is itself a valid value.
#[test]
fn remedies_are_accepted() {
    let mut checked = 0;
    for pragma in all() {
        for text in [
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
        ] {
            let Err(PragmaError::Value(misread)) = parse(pragma.name, &text.into()) else { continue };
            let remedy = misread.remedy;
            let numbers = remedy.strip_prefix("at most ").or(remedy.strip_prefix("at least ")).unwrap_or(&remedy);
            for offer in numbers.split(" or ") {
                let number = offer.split(' ').next().unwrap();
                if number.parse::<i64>().is_ok() {
                    assert!(parse(pragma.name, &number.into()).is_ok(), "{} = {text:?}: {remedy}", pragma.name);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn canonical_forms() {
    let text = |name: &str, input: Scalar| parse(name, &input).unwrap().statement();
    assert_eq!(text("Synchronous", "FULL".into()), "PRAGMA synchronous = full");
    assert_eq!(text("synchronous", 2.into()), "PRAGMA synchronous = full");
    assert_eq!(text("foreign_keys", true.into()), "PRAGMA foreign_keys = on");
    assert_eq!(text("foreign_keys", "No".into()), "PRAGMA foreign_keys = off");
    assert_eq!(text("secure_delete", true.into()), "PRAGMA secure_delete = on");
    assert_eq!(text("cache_size", "-64000".into()), "PRAGMA cache_size = -64000");
    assert_eq!(text("application_id", "0x1000".into()), "PRAGMA application_id = 4096");
    assert_eq!(text("encoding", "utf16be".into()), "PRAGMA encoding = 'UTF-16be'");
    assert_eq!(text("optimize", true.into()), "PRAGMA optimize");
    assert_eq!(text("optimize", "0x10002".into()), "PRAGMA optimize = 65538");
    assert_eq!(parse("optimize", &true.into()).unwrap().value(), Canonical::Run);
    assert_eq!(parse("cache_spill", &100.into()).unwrap().expected(), Some(Expected::AtLeast(100)));
}

#[test]
fn a_setting_has_what_runs_and_what_it_reads_back_as() {
    let setting = |name: &str, input: Scalar| Setting::from(parse(name, &input).unwrap());
    let full = setting("synchronous", "FULL".into());
    assert_eq!((full.value.as_str(), full.sql.as_deref()), ("full", Some("PRAGMA synchronous = full")));
    assert_eq!(full.expected, Some(Expected::Integer(2)));
    let optimize = setting("optimize", true.into());
    assert_eq!((optimize.sql.as_deref(), optimize.expected), (Some("PRAGMA optimize"), None));
}

#[test]
fn values_come_from_toml_as_they_are_written() {
    let table: std::collections::BTreeMap<String, Scalar> =
        toml::from_str("a = 1\nb = true\nc = \"wal\"\nd = 1.5").unwrap();
    let values: Vec<_> = table.into_values().collect();
    assert_eq!(values, [1.into(), true.into(), "wal".into(), Scalar::Real(1.5)]);
}
