//! Loops as a programmer would write them for one question, to measure the overhead of the runner: the same random
//! values, but no clock, no histogram, and no options. As in the other languages, the loop runs in a separate thread
//! like a worker: in a process with one thread, a point read is faster (docs/method/bias.md).
//!
//! `handwritten rusqlite|by-hand|c insert|batch|read DB N SEED` inserts N rows one by one in autocommit mode, inserts N
//! batches of 1000, or reads N random existing rows by rowid. Prints operations per second. The loops of `c` are in
//! c/handwritten.c. With a connection of its own, `by-hand` is `rusqlite`.

use std::ffi::{CString, c_char};
use std::hint::black_box;
use std::time::Instant;

use rusqlite::{Connection, Result};

unsafe extern "C" {
    fn bench_handwritten(verb: *const c_char, path: *const c_char, n: u64, seed: u64);
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn key(seed: u64, name: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    mix(seed.wrapping_add(GAMMA.wrapping_mul(name.bytes().fold(0xCBF2_9CE4_8422_2325, fnv))))
}

/// An integer from `low` to `low + width - 1`.
fn uniform(key: u64, row: u64, low: i64, width: u64) -> i64 {
    let word = mix(key.wrapping_add(row.wrapping_add(1).wrapping_mul(GAMMA)));
    low + ((word >> 11) as f64 / (1_u64 << 53) as f64 * width as f64) as i64
}

fn open(path: &str) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

fn insert(path: &str, n: u64, seed: u64) -> Result<()> {
    let connection = open(path)?;
    let key = key(seed, "insert.k");
    let mut insert = connection.prepare("INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')")?;
    for row in 0..n {
        insert.execute([uniform(key, row, 1, 1_000_000)])?;
    }
    Ok(())
}

fn batch(path: &str, n: u64, seed: u64) -> Result<()> {
    let connection = open(path)?;
    let key = key(seed, "batch.k");
    let mut insert = connection.prepare("INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')")?;
    for batch in 0..n {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for row in batch * 1000..batch * 1000 + 1000 {
            insert.execute([uniform(key, row, 1, 1_000_000)])?;
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok(())
}

fn read(path: &str, n: u64, seed: u64) -> Result<()> {
    let connection = open(path)?;
    let key = key(seed, "read.id");
    let rows: i64 = connection.query_row("SELECT count(*) FROM kv", [], |row| row.get(0))?;
    let rows = rows as u64;
    let mut select = connection.prepare("SELECT id, k, v FROM kv WHERE id = ?1")?;
    for row in 0..n {
        let mut rows = select.query([uniform(key, row, 1, rows)])?;
        while let Some(row) = rows.next()? {
            black_box(row.get_ref(0)?.as_i64()?);
            black_box(row.get_ref(1)?.as_i64()?);
            black_box(row.get_ref(2)?.as_str()?);
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [driver @ ("rusqlite" | "by-hand" | "c"), verb, path, n, seed] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        eprintln!("usage: handwritten rusqlite|by-hand|c insert|batch|read DB N SEED");
        std::process::exit(2);
    };
    let (n, seed) = (n.parse().unwrap_or_default(), seed.parse().unwrap_or_default());
    let work = || if driver == "c" { in_c(verb, path, n, seed) } else { in_rust(verb, path, n, seed) };
    std::thread::scope(|scope| scope.spawn(work).join().expect("no panic"))
}

fn in_rust(verb: &str, path: &str, n: u64, seed: u64) -> Result<()> {
    let start = Instant::now();
    match verb {
        "insert" => insert(path, n, seed),
        "batch" => batch(path, n, seed),
        _ => read(path, n, seed),
    }?;
    println!("{:.0}", n as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

fn in_c(verb: &str, path: &str, n: u64, seed: u64) -> Result<()> {
    let (verb, path) = (CString::new(verb)?, CString::new(path)?);
    // SAFETY: both C strings outlive the call.
    unsafe { bench_handwritten(verb.as_ptr(), path.as_ptr(), n, seed) };
    Ok(())
}
