//! Tests of code that uses a database, each with one of its own: `cargo test --example testing`.

use onewriter::{Database, Options, Result};

/// Books a seat, if it is free. Returns whether it was.
pub fn book(db: &Database, seat: i64, name: &str) -> Result<bool> {
    let sql = "INSERT INTO booking(seat, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    Ok(db.execute(sql, (seat, name))? == 1)
}

fn open(options: Options) -> Result<Database> {
    let db = options.open()?;
    db.write(|tx| tx.execute_batch("CREATE TABLE IF NOT EXISTS booking(seat INTEGER PRIMARY KEY, name TEXT)"))?;
    Ok(db)
}

fn main() -> Result<()> {
    let db = open(Options::temporary()?)?;
    println!("{} {}", book(&db, 7, "Ada")?, book(&db, 7, "Grace")?);
    db.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_booked_once() -> Result<()> {
        let db = open(Options::temporary()?)?;
        assert!(book(&db, 7, "Ada")?);
        assert!(!book(&db, 7, "Grace")?);
        assert_eq!(db.query_row("SELECT name FROM booking", (), |row| row.get::<_, String>(0))?, "Ada");
        Ok(())
    }
}
