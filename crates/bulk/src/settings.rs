//! PRAGMAs: set in order, read back, refused if not in effect.
//!
//! SQLite takes an unknown PRAGMA or value in silence (<https://sqlite.org/pragma.html>), so only what reads back
//! counts.

use crate::BulkError;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// One PRAGMA: what was asked for, or what SQLite reports.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// The PRAGMA's name.
    pub name: String,
    /// Its value: a keyword or a number.
    pub value: String,
}

impl Setting {
    /// A setting of a name to a value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// `journal_mode = WAL`, then `synchronous = NORMAL`: a database that survives the death of the process at any
/// time, and a loss of power but for its last batches.
#[must_use]
pub fn default_settings() -> Vec<Setting> {
    vec![Setting::new("journal_mode", "WAL"), Setting::new("synchronous", "NORMAL")]
}

/// Sets all of them in order, then reads all of them back: a later one can undo an earlier one.
///
/// Returns what SQLite reports. The first that differs is a [`BulkError::Setting`].
pub(crate) fn apply(conn: &Connection, settings: &[Setting]) -> Result<Vec<Setting>, BulkError> {
    for Setting { name, value } in settings {
        check_words(name, value)?;
        conn.execute_batch(&format!("PRAGMA {name} = {value}")).map_err(BulkError::doing("set a PRAGMA"))?;
    }
    settings.iter().map(|setting| read_back(conn, setting)).collect()
}

fn read_back(conn: &Connection, wanted: &Setting) -> Result<Setting, BulkError> {
    let name = &wanted.name;
    let found = conn.query_row(&format!("PRAGMA {name}"), [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("a {}", other.data_type()),
        })
    });
    let found = match found {
        Ok(found) => found,
        Err(rusqlite::Error::QueryReturnedNoRows) => "nothing".to_owned(),
        Err(error) => return Err(BulkError::sqlite("read a PRAGMA back", &error)),
    };
    if canonical(name, &wanted.value) == canonical(name, &found) {
        Ok(Setting::new(name, found))
    } else {
        Err(BulkError::Setting { name: name.clone(), wanted: wanted.value.clone(), found })
    }
}

/// A PRAGMA's parts cannot be bound, so they are held to words and numbers.
fn check_words(name: &str, value: &str) -> Result<(), BulkError> {
    let word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)) && !text.is_empty();
    let number = value.parse::<i64>().is_ok();
    if word(name) && !name.contains('-') && (number || word(value)) {
        Ok(())
    } else {
        Err(BulkError::Options(format!(
            "`{name} = {value}` is no PRAGMA: give a name, and a keyword or a whole number"
        )))
    }
}

/// The form in which a value asked for and a value reported are equal: SQLite takes keywords and reports numbers.
fn canonical(name: &str, value: &str) -> String {
    let value = value.trim_matches(['\'', '"', ' ']).to_ascii_lowercase();
    let keywords: &[&str] = match name.to_ascii_lowercase().as_str() {
        // These report the keyword itself.
        "journal_mode" | "locking_mode" | "encoding" => return value,
        "synchronous" => &["off", "normal", "full", "extra"],
        "temp_store" => &["default", "file", "memory"],
        "auto_vacuum" => &["none", "full", "incremental"],
        "secure_delete" => &["off", "on", "fast"],
        _ => &[],
    };
    if let Some(number) = keywords.iter().position(|keyword| *keyword == value) {
        return number.to_string();
    }
    match value.as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" => "0".to_owned(),
        // "+5" and "05" are 5.
        other => other.parse::<i64>().map_or_else(|_| other.to_owned(), |number| number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<String, BulkError> {
        let conn = Connection::open_in_memory().expect("in memory");
        apply(&conn, &[Setting::new(name, value)]).map(|mut found| found.remove(0).value)
    }

    #[test]
    fn keywords_and_numbers_mean_the_same() {
        for (name, value, reported) in [
            ("synchronous", "NORMAL", "1"),
            ("synchronous", "off", "0"),
            ("temp_store", "Memory", "2"),
            ("auto_vacuum", "incremental", "2"),
            ("foreign_keys", "off", "0"),
            ("foreign_keys", "YES", "1"),
            ("cache_size", "-4000", "-4000"),
            ("locking_mode", "EXCLUSIVE", "exclusive"),
            ("journal_mode", "OFF", "off"),
        ] {
            assert_eq!(set(name, value).expect(name), reported, "{name} = {value}");
        }
    }

    #[test]
    fn what_is_not_in_effect_is_refused() {
        // A value SQLite does not know, one that does not apply in memory, a misspelt name.
        for (name, value, found) in
            [("synchronous", "WAL", "1"), ("journal_mode", "WAL", "memory"), ("synchronus", "FULL", "nothing")]
        {
            match set(name, value) {
                Err(BulkError::Setting { found: seen, .. }) => assert_eq!(seen, found, "{name}"),
                other => panic!("{name} = {value}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_later_setting_that_undoes_an_earlier_one_is_seen() {
        let conn = Connection::open_in_memory().expect("in memory");
        let both = [Setting::new("cache_size", "100"), Setting::new("cache_size", "200")];
        assert!(matches!(apply(&conn, &both), Err(BulkError::Setting { .. })));
    }

    #[test]
    fn only_words_and_numbers_reach_sqlite() {
        for (name, value) in [("x; DROP TABLE t", "1"), ("cache_size", "1; SELECT 1"), ("", "1"), ("cache_size", "")] {
            assert!(matches!(set(name, value), Err(BulkError::Options(_))), "{name} = {value}");
        }
    }
}
