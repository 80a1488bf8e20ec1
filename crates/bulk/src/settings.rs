//! Settings of a connection: applied in order, read back, and refused if they are not in effect.

use litelab_database::pragma;
use litelab_model::setting::Setting;
use rusqlite::Connection;

use crate::BulkError;

/// Applies all settings in order, then reads all of them back, because a later one can undo an earlier one. Returns the
/// names with the values that SQLite reports.
pub(crate) fn apply(connection: &Connection, settings: &[Setting]) -> Result<Vec<(String, String)>, BulkError> {
    for sql in settings.iter().filter_map(|setting| setting.sql.as_ref()) {
        connection.execute_batch(sql).map_err(BulkError::doing("set a PRAGMA"))?;
    }
    let mut found = Vec::new();
    for setting in settings {
        let Some(expected) = &setting.expected else { continue };
        let name = setting.name.clone();
        let reported = pragma::value(connection, &name).map_err(BulkError::doing("read a PRAGMA back"))?;
        if !expected.matches(&reported) {
            return Err(BulkError::Setting { name, wanted: setting.value.clone(), found: reported.to_string() });
        }
        found.push((name, reported.to_string()));
    }
    Ok(found)
}
