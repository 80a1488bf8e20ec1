//! Threads that write at the same time, and how few commits that takes: `cargo run --example threads`.

use std::thread;

use onewriter::{Options, Result};

fn main() -> Result<()> {
    let db = Options::new(std::env::temp_dir().join("onewriter-threads.db")).open()?;
    db.write(|tx| {
        tx.execute_batch(
            "DROP TABLE IF EXISTS account;
             CREATE TABLE account(id INTEGER PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0));
             INSERT INTO account VALUES (1, 50), (2, 1000000)",
        )
    })?;
    thread::scope(|scope| {
        for worker in 0..8 {
            let db = &db;
            scope.spawn(move || {
                for _ in 0..100 {
                    // Both updates or none: the first fails when the account is empty.
                    let paid = db.write(|tx| {
                        let (from, to) = if worker % 2 == 0 { (1, 2) } else { (2, 1) };
                        tx.prepare_cached("UPDATE account SET cents = cents - 10 WHERE id = ?1")?.execute([from])?;
                        tx.prepare_cached("UPDATE account SET cents = cents + 10 WHERE id = ?1")?.execute([to])
                    });
                    if let Err(error) = paid
                        && !error.is_constraint()
                    {
                        eprintln!("worker {worker}: {error}");
                    }
                }
            });
        }
    });
    let sum: i64 = db.query_row("SELECT sum(cents) FROM account", (), |row| row.get(0))?;
    let counters = db.counters();
    println!(
        "{sum} cents; {} writes and {} refused, in {} commits, half of them of {} or fewer",
        counters.writes,
        counters.failed,
        counters.commits,
        counters.batches.quantile(0.5)
    );
    db.close()
}
