//! Content of a file, independent of its schema.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::database::File;
use crate::error::{At, Result};

/// Every row of every table, each as the bytes of its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content(Vec<Vec<u8>>);

impl Content {
    /// Reads the whole file in one transaction.
    pub fn read(file: &File) -> Result<Self> {
        read(&file.open()?).map(Self).at(file.0.display())
    }

    /// Total size of all rows, in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|row| row.len() as u64).sum()
    }

    /// Number of rows that contain this text, also inside a value that the library has encoded.
    pub fn rows_with(&self, payload: &str) -> usize {
        let has = |row: &&Vec<u8>| row.windows(payload.len()).any(|part| part == payload.as_bytes());
        self.0.iter().filter(has).count()
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<Vec<u8>>> {
    let transaction = connection.unchecked_transaction()?;
    let tables: Vec<String> = transaction
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut all = Vec::new();
    for table in tables {
        let mut statement = transaction.prepare(&format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut bytes = table.clone().into_bytes();
            for column in 0..columns {
                // Separates the cells, so that no match spans two of them.
                bytes.push(0);
                match row.get_ref(column)? {
                    ValueRef::Null => bytes.extend(b"NULL"),
                    ValueRef::Integer(i) => bytes.extend(i.to_string().bytes()),
                    ValueRef::Real(r) => bytes.extend(r.to_string().bytes()),
                    ValueRef::Text(cell) | ValueRef::Blob(cell) => bytes.extend(cell),
                }
            }
            all.push(bytes);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_found_in_any_table_and_wrapping() {
        let folder = tempfile::tempdir().expect("folder");
        let schema = "CREATE TABLE \"a \"\"b\"(x, y); CREATE TABLE c(z);
                      INSERT INTO \"a \"\"b\" VALUES (1, 'abc'), (NULL, x'00616263ff'), ('ab', 'c'); INSERT INTO c VALUES ('xabcx')";
        let file = File::create(folder.path().join("x.db"), schema).expect("made");
        let before = Content::read(&file).expect("read");
        assert_eq!((before.rows_with("abc"), before.rows_with("abd")), (3, 0));
        file.open().expect("opened").execute_batch("UPDATE c SET z = NULL").expect("changed");
        assert_ne!(Content::read(&file).expect("read"), before);
    }
}
