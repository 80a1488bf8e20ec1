//! Values of settings: from TOML to SQL, and back from what a server reports.

use std::fmt;

use litelab_protocol::Dialect;

use super::vocabulary::{Kind, Known, Scope, Size, Time, all, find};
use crate::error::{nearest, unknown};
use crate::pragma::Reported;
use crate::quantity::Scalar;

/// A setting with a value that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingValue {
    known: &'static Known,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Boolean(bool),
    Word(String),
    /// In the setting's unit, and as it was written.
    Number(i64, String),
}

/// Checks a setting of a profile.
///
/// # Errors
/// One line: an unknown name with the nearest known one, or a value that it does not take with those that it does.
pub fn parse(dialect: Dialect, name: &str, value: &Scalar) -> Result<SettingValue, String> {
    let known = find(dialect, name).ok_or_else(|| unknown_name(dialect, name))?;
    let wrong = |what: String| format!("{} = {}: {what}", known.name, quoted(value));
    let value = match &known.kind {
        Kind::Boolean => Value::Boolean(boolean(value).ok_or_else(|| wrong("allowed are on and off".into()))?),
        Kind::Words { words } => {
            let text = match value {
                Scalar::Bool(true) => "on".to_owned(),
                Scalar::Bool(false) => "off".to_owned(),
                other => other.to_string(),
            };
            let word = words.iter().find(|word| same_word(word, &text)).ok_or_else(|| {
                let near = nearest(&text, words.iter().map(String::as_str));
                let near = near.map(|word| format!("; did you mean {word:?}?")).unwrap_or_default();
                wrong(format!("allowed are {}{near}", words.join(", ")))
            })?;
            Value::Word(word.clone())
        }
        Kind::Integer { min, max } => {
            let number = match value {
                Scalar::Integer(number) => Some(*number),
                _ => None,
            };
            let number = number.filter(|n| (min..=max).contains(&n));
            let number = number.ok_or_else(|| wrong(format!("allowed is a whole number from {min} to {max}")))?;
            Value::Number(number, number.to_string())
        }
        Kind::Duration { min, max, .. } | Kind::Size { min, max, .. } => {
            let number = number(&known.kind, value).filter(|n| (min..=max).contains(&n));
            let number = number.ok_or_else(|| wrong(form(&known.kind)))?;
            let written = match (value, dialect) {
                // MySQL's settings are plain numbers.
                (Scalar::Text(text), Dialect::Postgres) => text.trim().replace(' ', ""),
                _ => number.to_string(),
            };
            Value::Number(number, written)
        }
    };
    Ok(SettingValue { known, value })
}

fn unknown_name(dialect: Dialect, name: &str) -> String {
    let other = [Dialect::Postgres, Dialect::Mysql].into_iter().find(|d| *d != dialect && find(*d, name).is_some());
    match other {
        Some(other) => format!("`{name}` is a setting of {other}, and this profile is one of {dialect}"),
        None => unknown(&format!("setting of {dialect}"), name, all(dialect).iter().map(|known| known.name.as_str())),
    }
}

fn quoted(value: &Scalar) -> String {
    match value {
        Scalar::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// What a duration or a size may be.
fn form(kind: &Kind) -> String {
    let unit = |of: &str, name: &str, min: &i64, max: &i64| {
        format!(
            "allowed is a {of} such as \"{}{name}\", or a whole number of {name}, from {min} to {max}",
            (*min).max(10)
        )
    };
    match kind {
        Kind::Duration { unit: u, min, max } => unit("duration", name_of(&Time::ALL, *u), min, max),
        Kind::Size { unit: u, min, max } => unit("size", name_of(&Size::ALL, *u), min, max),
        _ => String::new(),
    }
}

fn name_of<U: Copy + PartialEq>(units: &[(U, &'static str, i64)], wanted: U) -> &'static str {
    units.iter().find(|(unit, ..)| *unit == wanted).map_or("", |(_, name, _)| name)
}

pub(super) fn boolean(value: &Scalar) -> Option<bool> {
    match value {
        Scalar::Bool(b) => Some(*b),
        Scalar::Integer(0) => Some(false),
        Scalar::Integer(1) => Some(true),
        Scalar::Text(text) => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Some(true),
            "off" | "false" | "no" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// "READ-COMMITTED", "read committed" and "read_committed" are one word.
pub(super) fn same_word(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.trim().to_ascii_lowercase().replace(['-', '_'], " ");
    plain(a) == plain(b)
}

/// In the setting's unit: a plain number, or text with a unit of a setting that has one.
fn number(kind: &Kind, value: &Scalar) -> Option<i64> {
    match (kind, value) {
        (_, Scalar::Integer(number)) => Some(*number),
        (Kind::Duration { unit, .. }, Scalar::Text(text)) => with_unit(text, &Time::ALL, *unit),
        (Kind::Size { unit, .. }, Scalar::Text(text)) => with_unit(text, &Size::ALL, *unit),
        (_, Scalar::Text(text)) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A whole number in a unit, from text with another; none where it would not be whole.
fn with_unit<U: Copy + PartialEq>(text: &str, units: &[(U, &'static str, i64)], wanted: U) -> Option<i64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(text.len());
    let number: i64 = text[..digits].parse().ok()?;
    let suffix = text[digits..].trim();
    let base = units.iter().find(|(unit, ..)| *unit == wanted)?.2;
    if suffix.is_empty() {
        return Some(number);
    }
    // As PostgreSQL does, units are told apart by case.
    let of = units.iter().find(|(_, name, _)| *name == suffix)?.2;
    let total = number.checked_mul(of)?;
    (total % base == 0).then_some(total / base)
}

impl SettingValue {
    /// The setting.
    #[must_use]
    pub fn known(&self) -> &'static Known {
        self.known
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        &self.known.name
    }

    /// For whom it holds.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.known.scope
    }

    /// The value as SQL, for `SET name = …`.
    #[must_use]
    pub fn render(&self) -> String {
        match &self.value {
            Value::Boolean(true) => "on".into(),
            Value::Boolean(false) => "off".into(),
            Value::Word(word) => format!("'{word}'"),
            Value::Number(_, written) if written.parse::<i64>().is_ok() => written.clone(),
            Value::Number(_, written) => format!("'{written}'"),
        }
    }

    /// Whether what a server reports is this value: `10s` is 10000 ms, `1` is `on`.
    #[must_use]
    pub fn matches(&self, reported: &Reported) -> bool {
        let scalar = match reported {
            Reported::Integer(number) => Scalar::Integer(*number),
            Reported::Text(text) => Scalar::Text(text.clone()),
            Reported::Nothing(()) => return false,
        };
        match &self.value {
            Value::Boolean(wanted) => boolean(&scalar) == Some(*wanted),
            Value::Word(wanted) => {
                let switch = boolean(&Scalar::Text(wanted.clone()));
                same_word(wanted, &scalar.to_string()) || switch.is_some() && boolean(&scalar) == switch
            }
            Value::Number(wanted, _) => number(&self.known.kind, &scalar) == Some(*wanted),
        }
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Boolean(true) => f.write_str("on"),
            Value::Boolean(false) => f.write_str("off"),
            Value::Word(word) => f.write_str(word),
            Value::Number(_, written) => f.write_str(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Scalar {
        Scalar::Text(text.into())
    }

    fn postgres(name: &str, value: &Scalar) -> Result<SettingValue, String> {
        parse(Dialect::Postgres, name, value)
    }

    #[test]
    fn a_value_is_rendered_and_found_again() {
        let cases: [(&str, Scalar, &str, &[&str], &str); 6] = [
            ("synchronous_commit", Scalar::Bool(false), "'off'", &["off"], "on"),
            ("fsync", text("ON"), "on", &["on", "1"], "off"),
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
            assert_eq!(parsed.render(), sql);
            for reported in same {
                assert!(parsed.matches(&Reported::Text((*reported).into())), "{name}: {reported}");
            }
            assert!(!parsed.matches(&Reported::Text(other.into())), "{name}: {other}");
            assert!(!parsed.matches(&Reported::Nothing(())), "{name}");
        }
        let mysql = |name, value| parse(Dialect::Mysql, name, &value).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(mysql("innodb_lock_wait_timeout", text("1min")).render(), "60");
        assert!(mysql("innodb_lock_wait_timeout", text("1min")).matches(&Reported::Integer(60)));
        assert!(mysql("innodb_doublewrite", Scalar::Bool(true)).matches(&Reported::Text("ON".into())));
        assert!(
            mysql("transaction_isolation", text("read committed")).matches(&Reported::Text("READ-COMMITTED".into()))
        );
        assert_eq!(mysql("TX_isolation", text("serializable")).render(), "'SERIALIZABLE'");
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
            all(Dialect::Postgres).iter().map(|k| k.name.as_str()).collect::<Vec<_>>()
        ), value in "\\PC{0,12}") {
            if let Ok(parsed) = postgres(name, &text(&value)) {
                let sql = parsed.render();
                let inside = sql.strip_prefix('\'').and_then(|s| s.strip_suffix('\'')).unwrap_or(&sql);
                prop_assert!(!inside.contains(['\'', ';', '\\']), "{}", sql);
                prop_assert!(parsed.matches(&Reported::Text(parsed.to_string())));
            }
        }

        #[test]
        fn a_duration_in_any_unit_is_the_same(ms in 1_i64..100_000) {
            let parsed = postgres("lock_timeout", &Scalar::Integer(ms)).expect("in range");
            let reported = Reported::Text(format!("{ms}ms"));
            prop_assert!(parsed.matches(&reported));
            let seconds = Reported::Text(format!("{ms}s"));
            prop_assert!(!parsed.matches(&seconds));
        }
    }
}
