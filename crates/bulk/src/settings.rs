//! The PRAGMAs of a profile: set in order, read back, refused if not in effect.

use litelab_model::pragma::{self, PragmaValue, Reported};
use litelab_model::profile::Profile;
use litelab_model::resolve::input;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use crate::BulkError;

/// Sets all of them in order, then reads all of them back: a later one can undo an earlier one. Returns names and what
/// SQLite reports.
pub(crate) fn apply(connection: &Connection, profile: &Profile) -> Result<Vec<(String, String)>, BulkError> {
    if !profile.dialect.is_sqlite() {
        let (name, dialect) = (&profile.name, profile.dialect);
        return Err(BulkError::Options(format!("profile `{name}` is one of {dialect}: choose one of SQLite")));
    }
    let parsed = profile.pragma.iter().map(|(name, value)| pragma::parse(name, &input(value)));
    let values =
        parsed.map(|value| value.map_err(|e| BulkError::Options(e.to_string()))).collect::<Result<Vec<_>, _>>()?;
    for value in &values {
        connection.execute_batch(&value.statement()).map_err(BulkError::doing("set a PRAGMA"))?;
    }
    values.iter().filter(|value| value.pragma().is_setting()).map(|value| read_back(connection, value)).collect()
}

fn read_back(connection: &Connection, wanted: &PragmaValue) -> Result<(String, String), BulkError> {
    let name = wanted.name().to_owned();
    let found = connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).optional();
    let reported = match found.map_err(BulkError::doing("read a PRAGMA back"))? {
        Some(Value::Integer(number)) => Reported::Integer(number),
        Some(Value::Text(text)) => Reported::Text(text),
        _ => Reported::Nothing(()),
    };
    let found = reported.to_string();
    match wanted.read_back_matches(&reported) {
        true => Ok((name, found)),
        false => Err(BulkError::Setting { name, wanted: wanted.render(), found }),
    }
}
