//! Holds locks of a database for known times: see `scripts/stress/holders/holder.py`.

use std::error::Error;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("holder DATABASE")?;
    let db = Connection::open(path)?;
    let row = |sql: &str| db.query_row(sql, [], |_| Ok(()));
    row("SELECT count(*) FROM t")?;
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line?;
        let (what, seconds) = line.split_once(' ').ok_or("WHAT SECONDS")?;
        let pause = Duration::try_from_secs_f64(seconds.parse()?)?;
        if what == "checkpoint" {
            db.busy_timeout(pause)?;
            now()?;
            row("PRAGMA wal_checkpoint(FULL)")?;
            now()?;
            continue;
        }
        let write = what == "write";
        db.execute_batch(if write { "BEGIN IMMEDIATE" } else { "BEGIN" })?;
        if write {
            db.execute("INSERT INTO t VALUES (1)", [])?;
        } else {
            row("SELECT count(*) FROM t")?;
        }
        now()?;
        std::thread::sleep(pause);
        now()?;
        db.execute_batch("COMMIT")?;
    }
    Ok(())
}

fn now() -> Result<(), Box<dyn Error>> {
    println!("{:.6}", SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs_f64());
    Ok(())
}
