//! Values of server settings: conversion from TOML to SQL, and from reported values.

use litelab_protocol::{Dialect, Value};

use super::Setting;
use super::expected::{Expected, on_or_off, same_word, switch, with_unit};
use super::vocabulary::{Scope, all};
use crate::error::{nearest, unknown};
use crate::quantity::Scalar;

/// Checks and parses a server setting of a profile.
///
/// # Errors
/// One line with an unknown name and the nearest known one, or with an invalid value and the valid ones.
pub(super) fn parse(dialect: Dialect, name: &str, value: &Scalar) -> Result<Setting, String> {
    let lower = name.to_ascii_lowercase();
    let (name, known) = all(dialect).get_key_value(&lower).ok_or_else(|| unknown_name(dialect, name))?;
    let wrong = |what: String| format!("{name} = {}: {what}", value.quoted());
    let (value, expected) = match (known.range, known.unit) {
        (None, _) if known.words.is_empty() => {
            let on = boolean(value).ok_or_else(|| wrong("allowed are on and off".into()))?;
            (if on { "on" } else { "off" }.to_owned(), Expected::Switch(on))
        }
        (None, _) => {
            let text = match value {
                Scalar::Bool(true) => "on".to_owned(),
                Scalar::Bool(false) => "off".to_owned(),
                other => other.to_string(),
            };
            let words = &known.words;
            let word = words.iter().find(|word| same_word(word, &text)).ok_or_else(|| {
                let near = nearest(&text, words.iter().map(String::as_str));
                let near = near.map(|word| format!("; did you mean {word:?}?")).unwrap_or_default();
                wrong(format!("allowed are {}{near}", words.join(", ")))
            })?;
            (word.clone(), Expected::Word(word.clone()))
        }
        (Some((min, max)), unit) => {
            let number = match (value, unit) {
                (Scalar::Integer(number), _) => Some(*number),
                (Scalar::Text(text), Some(unit)) => with_unit(text, unit),
                _ => None,
            };
            let allowed = || match unit {
                None => format!("allowed is a whole number from {min} to {max}"),
                Some(unit) => {
                    let (of, unit) = (if unit.is_time() { "duration" } else { "size" }, unit.name());
                    let example = min.max(10);
                    format!(
                        "allowed is a {of} such as \"{example}{unit}\", or a whole number of {unit}, from {min} to {max}"
                    )
                }
            };
            let number = number.filter(|n| (min..=max).contains(n)).ok_or_else(|| wrong(allowed()))?;
            let expected = match unit {
                None => Expected::Integer(number),
                Some(unit) if unit.is_time() => Expected::Duration(number, unit),
                Some(unit) => Expected::Size(number, unit),
            };
            (written(dialect, value, number), expected)
        }
    };
    let is_switch = matches!(expected, Expected::Switch(_));
    let sql = (known.scope == Scope::Session).then(|| sql(name, is_switch, &value));
    Ok(Setting { name: name.clone(), value, scope: known.scope, sql, expected: Some(expected) })
}

/// The statement that applies a setting to a connection. Numbers and switches need no quotes, and words of the
/// vocabulary contain none.
fn sql(name: &str, is_switch: bool, value: &str) -> String {
    let plain = is_switch || value.parse::<i64>().is_ok();
    let quote = if plain { "" } else { "'" };
    format!("SET SESSION {name} = {quote}{value}{quote}")
}

/// The value in SQL: for PostgreSQL with its given unit, for MySQL as a plain number.
fn written(dialect: Dialect, value: &Scalar, number: i64) -> String {
    match (value, dialect) {
        (Scalar::Text(text), Dialect::Postgres) => text.trim().replace(' ', ""),
        _ => number.to_string(),
    }
}

fn unknown_name(dialect: Dialect, name: &str) -> String {
    let other = [Dialect::Postgres, Dialect::Mysql]
        .into_iter()
        .find(|d| *d != dialect && all(*d).contains_key(&name.to_ascii_lowercase()));
    match other {
        Some(other) => format!("`{name}` is a setting of {other}, and this profile is one of {dialect}"),
        None => unknown(&format!("setting of {dialect}"), name, all(dialect).keys().map(String::as_str)),
    }
}

/// The boolean value of a switch in a profile.
fn boolean(value: &Scalar) -> Option<bool> {
    match value {
        Scalar::Bool(b) => Some(*b),
        Scalar::Integer(number) => switch(&Value::Integer(*number)),
        Scalar::Text(text) => on_or_off(text),
        Scalar::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Scalar {
        Scalar::Text(text.into())
    }

    /// The SQL text after `=`; empty for a setting that is not applied to connections.
    fn set_to(setting: &Setting) -> String {
        let sql = setting.sql.clone().unwrap_or_default();
        sql.rsplit(" = ").next().unwrap_or_default().to_owned()
    }

    fn postgres(name: &str, value: &Scalar) -> Result<Setting, String> {
        parse(Dialect::Postgres, name, value)
    }

    #[test]
    fn a_value_is_rendered_and_found_again() {
        let cases: [(&str, Scalar, &str, &[&str], &str); 6] = [
            ("synchronous_commit", Scalar::Bool(false), "'off'", &["off"], "on"),
            ("fsync", text("ON"), "", &["on", "1"], "off"),
            ("lock_timeout", text("10s"), "'10s'", &["10s", "10000ms", "10000"], "10ms"),
            ("lock_timeout", Scalar::Integer(60_000), "60000", &["1min"], "60"),
            ("work_mem", text("64 MB"), "'64MB'", &["64MB", "65536kB"], "64kB"),
            (
                "default_transaction_isolation",
                text("Read-Committed"),
                "'read committed'",
                &["read committed"],
                "serializable",
            ),
        ];
        for (name, value, sql, same, other) in cases {
            let parsed = postgres(name, &value).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(set_to(&parsed), sql);
            for reported in same {
                assert!(parsed.matches(&(*reported).into()), "{name}: {reported}");
            }
            assert!(!parsed.matches(&other.into()), "{name}: {other}");
            assert!(!parsed.matches(&Value::Null), "{name}");
        }
        let mysql = |name, value| parse(Dialect::Mysql, name, &value).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(set_to(&mysql("innodb_lock_wait_timeout", text("1min"))), "60");
        assert!(mysql("innodb_lock_wait_timeout", text("1min")).matches(&60.into()));
        assert!(mysql("innodb_doublewrite", Scalar::Bool(true)).matches(&"ON".into()));
        assert!(mysql("transaction_isolation", text("read committed")).matches(&"READ-COMMITTED".into()));
        assert_eq!(set_to(&mysql("TX_isolation", text("serializable"))), "'SERIALIZABLE'");
    }

    #[test]
    fn what_a_server_does_not_take_is_refused_with_what_it_takes() {
        let wrong = |name: &str, value: &Scalar| postgres(name, value).expect_err("it must be refused");
        assert!(wrong("synchronous_comit", &text("on")).contains("did you mean `synchronous_commit`?"));
        assert!(wrong("sync_binlog", &Scalar::Integer(1)).contains("a setting of mysql"));
        assert!(wrong("journal_mode", &text("wal")).contains("unknown setting of postgres"));
        let word = wrong("synchronous_commit", &text("remote_writes"));
        assert!(word.contains("did you mean \"remote_write\"?") && word.contains("local"), "{word}");
        assert!(wrong("fsync", &text("maybe")).contains("on and off"));
        assert!(wrong("commit_delay", &text("10ms")).contains("from 0 to 100000"));
        assert!(wrong("commit_delay", &Scalar::Integer(-1)).contains("from 0 to 100000"));
        for value in [text("5us"), text("10 parsecs"), text("1S"), Scalar::Real(0.5), text("-1")] {
            assert!(wrong("lock_timeout", &value).contains("such as \"10ms\""), "{value:?}");
        }
        assert!(wrong("work_mem", &text("10B")).contains("such as \"64kB\""));
    }

    proptest! {
        #[test]
        fn no_value_panics_and_none_can_end_its_literal(name in prop::sample::select(
            all(Dialect::Postgres).keys().map(String::as_str).collect::<Vec<_>>()
        ), value in "\\PC{0,12}") {
            if let Ok(parsed) = postgres(name, &text(&value)) {
                prop_assert!(!parsed.value.contains(['\'', ';', '\\']), "{}", parsed.value);
                prop_assert!(parsed.matches(&parsed.value.as_str().into()));
            }
        }

        #[test]
        fn a_duration_in_any_unit_is_the_same(ms in 1_i64..100_000) {
            let parsed = postgres("lock_timeout", &Scalar::Integer(ms)).expect("in range");
            let (same, other) = (format!("{ms}ms"), format!("{ms}s"));
            prop_assert!(parsed.matches(&same.into()));
            prop_assert!(!parsed.matches(&other.into()));
        }
    }
}
