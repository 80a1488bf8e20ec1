//! A schema in versions, upgraded when the program starts: `cargo run --example migrations`.

use onewriter::{Database, Error, Options, Result};

/// The steps from each version of the schema to the next.
const STEPS: [&str; 3] = [
    "CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
     CREATE TABLE invoice(id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customer, cents INTEGER);
     INSERT INTO customer VALUES (1, 'Ada'); INSERT INTO invoice VALUES (1, 1, 100)",
    "ALTER TABLE customer ADD COLUMN mail TEXT",
    // A column gets another type: a new table takes the place of the old one, while nothing checks references to it
    // (https://sqlite.org/lang_altertable.html#otheralter).
    "CREATE TABLE customer_new(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE, mail TEXT) STRICT;
     INSERT INTO customer_new SELECT id, name, mail FROM customer;
     DROP TABLE customer;
     ALTER TABLE customer_new RENAME TO customer",
];

fn migrate(db: &Database) -> Result<usize> {
    db.exclusive(|connection| {
        // The connection is closed after this closure, so the setting ends with it.
        connection.pragma_update(None, "foreign_keys", false)?;
        let done: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        for (version, step) in (1_u32..).zip(STEPS).skip(done as usize) {
            let tx = connection.transaction()?;
            tx.execute_batch(step)?;
            let broken: i64 = tx.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
            if broken > 0 {
                return Err(Error::ForeignKey);
            }
            tx.pragma_update(None, "user_version", version)?;
            tx.commit()?;
        }
        Ok(STEPS.len().saturating_sub(done as usize))
    })
}

fn main() -> Result<()> {
    let db = Options::temporary()?.open()?;
    println!("{} steps at the first start", migrate(&db)?);
    println!("{} steps at the next", migrate(&db)?);
    let names: Vec<String> = db.query_map("SELECT name FROM customer", (), |row| row.get(0))?;
    println!("{names:?}");
    db.close()
}
