//! A copy of the database while it is written: `cargo run --example backup`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use onewriter::{Options, Result};

fn main() -> Result<()> {
    let db = Options::temporary()?.open()?;
    db.write(|tx| tx.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)"))?;
    let copy = std::env::temp_dir().join("onewriter-copy.db");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !stop.load(Relaxed) {
                db.execute("INSERT INTO note(text) VALUES (?1)", ["hello"])?;
            }
            Ok::<_, onewriter::Error>(())
        });
        let copied = db.backup_to(&copy);
        stop.store(true, Relaxed);
        writer.join().expect("no panic")?;
        copied
    })?;
    let count = "SELECT count(*) FROM note";
    let rows: i64 = db.query_row(count, (), |row| row.get(0))?;
    let kept: i64 = Options::new(&copy).open()?.query_row(count, (), |row| row.get(0))?;
    println!("the copy has {kept} of {rows} notes");
    println!("the log is empty after a checkpoint: {}", db.checkpoint()?);
    db.close()
}
