//! Compares `litelab generate sqlite3perf` and `litelab verify` with the same loops in C.

use crate::pairs::{self, Comparison, Outcome, Sample, Scratch};
use crate::{SEED, yardstick};
use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use litelab_bulk::{GenerateOptions, VerifyOptions};
use litelab_model::{Vars, library, resolve};
use litelab_stats::Schedule;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Options of the comparison.
#[derive(Parser)]
pub struct Options {
    /// Rows per database.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Pairs per comparison; an interval takes at least six.
    #[arg(long, default_value_t = 8)]
    pairs: u32,
}

/// Work of one side, in a separate process.
#[derive(Subcommand)]
pub enum Side {
    CGenerate { path: PathBuf, rows: u64 },
    Generate { path: PathBuf, rows: u64 },
    CVerify { path: PathBuf },
    Verify { path: PathBuf, threads: NonZeroUsize },
}

/// Stop flag of a side, which is never set.
pub static NEVER: AtomicBool = AtomicBool::new(false);

/// The defaults of `litelab generate sqlite3perf`.
pub fn options(path: &Path, rows: u64) -> Result<GenerateOptions> {
    let workload = resolve::of_workload("sqlite3perf", None, Some(rows), &Vars::new())?;
    let (profile, text) = library::profile("wal-normal", None)?;
    Ok(GenerateOptions::new(path, workload, resolve::check_profile(&profile, &text, None)?.settings))
}

/// Runs one side and reports its sample. The time includes opening and closing, because the last checkpoint runs at
/// close.
pub fn side(side: &Side) -> Result<()> {
    pairs::report(|| match side {
        Side::CGenerate { path, rows } => {
            let GenerateOptions { batch, seed, .. } = options(path, *rows)?;
            yardstick::generate(path, *rows, batch, seed).map(|()| *rows)
        }
        Side::Generate { path, rows } => Ok(litelab_bulk::generate(&options(path, *rows)?, &mut |_| {}, &NEVER)?.rows),
        Side::CVerify { path } => right_rows(yardstick::verify(path)?),
        Side::Verify { path, threads } => {
            let options = VerifyOptions { threads: *threads, ..VerifyOptions::new(path) };
            let seen = litelab_bulk::verify(&options, &mut |_| {}, &NEVER)?;
            right_rows((seen.rows, seen.mismatch_count))
        }
    })
}

fn right_rows((rows, mismatches): (u64, u64)) -> Result<u64> {
    ensure!(mismatches == 0, "{mismatches} of {rows} rows are wrong");
    Ok(rows)
}

/// Runs all pairs and prints them. Returns `false` if a target was missed.
pub fn run(options: &Options) -> Result<bool> {
    let scratch = Scratch::new("bulk-")?;
    let mut generate = Comparison::new("generate", 0.9);
    let mut verify = Comparison::new("verify, 1 thread", 0.85);
    // Two threads against one of the C loop: only on a machine that can run two in parallel.
    let two_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2);
    let mut verify_two = Comparison::new("verify, 2 threads", 1.6);
    let generate_order = Schedule::new(SEED, 2);
    let verify_order = Schedule::new(SEED + 1, if two_cores { 3 } else { 2 });

    println!("{} rows, SQLite {}", options.rows, rusqlite::version());
    for pair in 0..options.pairs {
        println!("pair {} of {}", pair + 1, options.pairs);
        let folders = [scratch.fresh("c")?, scratch.fresh("litelab")?];
        let files = folders.each_ref().map(|folder| folder.join("bench.db"));
        let rows = options.rows.to_string();
        let made = pairs::in_order(&generate_order.order(pair), |side| {
            let verb = ["c-generate", "generate"][side];
            let sample = pairs::trial(&[OsStr::new(verb), files[side].as_os_str(), OsStr::new(&rows)])?;
            pairs::settle(&folders[side]).map(|()| sample)
        })?;
        generate.add(made[0], made[1])?;
        if pair == 0 {
            ensure!(same_content(&files[0], &files[1])?, "the two databases hold different rows");
        }
        // Both files have the same content but different writers; the pairs alternate between them.
        let seen = verify_all(&files[pair as usize % 2], &verify_order.order(pair))?;
        ensure!(seen.iter().all(|sample| sample.units == options.rows), "not all rows were read: {seen:?}");
        verify.add(seen[0], seen[1])?;
        if two_cores {
            verify_two.add(seen[0], seen[2])?;
        }
    }

    let mut met = generate.conclude()? != Outcome::Missed;
    met &= verify.conclude()? != Outcome::Missed;
    if two_cores {
        met &= verify_two.conclude()? != Outcome::Missed;
    } else {
        println!("{}: not measured on one core", verify_two.name);
    }
    Ok(met)
}

/// Returns the samples of C, of one thread and of two threads.
fn verify_all(file: &Path, order: &[usize]) -> Result<Vec<Sample>> {
    let sides: [&[&str]; 3] = [&["c-verify"], &["verify", "1"], &["verify", "2"]];
    pairs::in_order(order, |side| {
        pairs::warm(file)?;
        let mut arguments = vec![OsStr::new(sides[side][0]), file.as_os_str()];
        arguments.extend(sides[side][1..].iter().map(OsStr::new));
        pairs::trial(&arguments)
    })
}

/// Whether two databases contain the same rows in the same order.
pub fn same_content(one: &Path, other: &Path) -> Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (one, other) = (Connection::open_with_flags(one, flags)?, Connection::open_with_flags(other, flags)?);
    let sql = "SELECT ID, rand, hash FROM bench ORDER BY rowid";
    let (mut one, mut other) = (one.prepare(sql)?, other.prepare(sql)?);
    let (mut one, mut other) = (one.query([])?, other.query([])?);
    loop {
        match (one.next()?, other.next()?) {
            (None, None) => return Ok(true),
            (Some(a), Some(b)) => {
                for column in 0..3 {
                    if a.get_ref(column)? != b.get_ref(column)? {
                        return Ok(false);
                    }
                }
            }
            _ => return Ok(false),
        }
    }
}
