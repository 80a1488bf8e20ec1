//! Content of a file, independent of its schema.

use std::collections::BTreeMap;

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
        self.with(payload).count()
    }

    /// The rows that contain this name, without the name and without decimal digits, and how often each occurs. So rows
    /// about different names are equal if they differ only in numbers and times.
    pub fn shapes(&self, name: &str) -> Shapes {
        let mut shapes = Shapes::new();
        for row in self.with(name) {
            *shapes.entry(shape(row, name.as_bytes())).or_default() += 1;
        }
        shapes
    }

    fn with(&self, text: &str) -> impl Iterator<Item = &Vec<u8>> {
        self.0.iter().filter(|row| row.windows(text.len()).any(|part| part == text.as_bytes()))
    }
}

/// Rows about one name, and how often each occurs: see [`Content::shapes`].
pub type Shapes = BTreeMap<Vec<u8>, usize>;

fn shape(mut row: &[u8], name: &[u8]) -> Vec<u8> {
    let mut shape = Vec::new();
    while let Some((first, rest)) = row.split_first() {
        if let Some(after) = row.strip_prefix(name) {
            row = after;
            continue;
        }
        if !first.is_ascii_digit() {
            shape.push(*first);
        }
        row = rest;
    }
    shape
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

    #[test]
    fn rows_about_two_names_have_the_same_shapes() {
        let folder = tempfile::tempdir().expect("folder");
        let schema = "CREATE TABLE event(instance, number, text);
                      INSERT INTO event VALUES ('a1', 1, 'began'), ('a1', 2, 'a1:work'), ('a1', 3, 'a1:work'),
                          ('a1', 9, 'done'), ('b2', 14, 'began'), ('b2', 15, 'b2:work'), ('b2', 16, 'b2:work')";
        let content = Content::read(&File::create(folder.path().join("x.db"), schema).expect("made")).expect("read");
        let (mut a, b) = (content.shapes("a1"), content.shapes("b2"));
        assert_eq!(a.values().collect::<Vec<_>>(), [&2, &1, &1]);
        assert_eq!(a.remove(&b"event\0\0\0done"[..]), Some(1));
        assert_eq!(a, b);
        assert_eq!(content.shapes("c3"), Shapes::new());
    }
}
