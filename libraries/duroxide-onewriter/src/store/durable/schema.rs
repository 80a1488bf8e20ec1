//! The tables.

use std::path::Path;

use onewriter::Database;

use crate::error::Error;

/// The tables of version [`VERSION`].
const SCHEMA: &str = include_str!("schema.sql");

/// As in the file's header (<https://sqlite.org/pragma.html#pragma_user_version>).
const VERSION: i64 = 1;

/// "onew" in the file's header, so that a file of another program is not taken for ours.
const APPLICATION: i64 = 0x6f6e_6577;

/// Makes the tables in an empty file.
///
/// # Errors
/// Where the file is another program's, or of a version that this one does not know.
pub fn prepare(database: &Database, path: &Path) -> Result<(), Error> {
    let found = database.write(|connection| {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        if tables == 0 {
            connection.execute_batch(SCHEMA)?;
            connection
                .execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))?;
        }
        Ok::<_, onewriter::Error>((number("PRAGMA application_id")?, number("PRAGMA user_version")?))
    })?;
    match found {
        (APPLICATION, VERSION) => Ok(()),
        (APPLICATION, version) => Err(Error::Version { path: path.into(), version, known: VERSION }),
        _ => Err(Error::Foreign { path: path.into() }),
    }
}
