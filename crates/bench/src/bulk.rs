//! Compares `litelab generate sqlite3perf` and `litelab verify` with the same loops in C.

use crate::pairs::{self, Comparison, Outcome, Sample, Scratch};
use crate::yardstick;
use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use litelab_bulk::{GenerateOptions, VerifyOptions};
use litelab_model::{Vars, library, resolve};
use litelab_stats::Schedule;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Options of the comparison.
#[derive(Args)]
pub struct Options {
    /// Rows per database.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Rows per batch, at most 10,922.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_922))]
    batch: u64,
    /// Pairs per comparison; an interval takes at least six.
    #[arg(long, default_value_t = 8)]
    pairs: u32,
    /// Seed of the rows and of the order of the sides.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Work of one side, in a separate process.
#[derive(Subcommand)]
pub enum Side {
    /// The C loop that creates a database.
    CGenerate(Make),
    /// litelab's loop that creates a database.
    Generate(Make),
    /// The C loop that verifies a database.
    CVerify {
        /// Path of the database.
        path: PathBuf,
    },
    /// litelab's loop that verifies a database.
    Verify {
        /// Path of the database.
        path: PathBuf,
        /// Number of threads.
        threads: NonZeroUsize,
    },
}

/// Parameters of the database.
#[derive(Args)]
pub struct Make {
    path: PathBuf,
    rows: u64,
    batch: u64,
    seed: u64,
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
        Side::CGenerate(make) => yardstick::generate(&make.path, make.rows, make.batch, make.seed).map(|()| make.rows),
        Side::Generate(make) => {
            let options = GenerateOptions { batch: make.batch, seed: make.seed, ..options(&make.path, make.rows)? };
            Ok(litelab_bulk::generate(&options, &mut |_| {}, &NEVER)?.rows)
        }
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
    let generate_order = Schedule::new(options.seed, 2);
    let verify_order = Schedule::new(options.seed.wrapping_add(1), if two_cores { 3 } else { 2 });

    println!("{} rows in batches of {}, SQLite {}", options.rows, options.batch, rusqlite::version());
    for pair in 0..options.pairs {
        println!("pair {} of {}", pair + 1, options.pairs);
        let (files, made) = make_pair(options, &scratch, &generate_order.order(pair))?;
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

/// Creates two databases and returns their paths and samples, those of C first.
fn make_pair(options: &Options, scratch: &Scratch, order: &[usize]) -> Result<([PathBuf; 2], [Sample; 2])> {
    let folders = [scratch.fresh("c")?, scratch.fresh("litelab")?];
    let files = folders.each_ref().map(|folder| folder.join("bench.db"));
    let numbers = [options.rows, options.batch, options.seed].map(|number| number.to_string());
    let mut samples = [None; 2];
    for &variant in order {
        let mut arguments = vec![OsStr::new(["c-generate", "generate"][variant]), files[variant].as_os_str()];
        arguments.extend(numbers.iter().map(OsStr::new));
        samples[variant] = Some(pairs::trial(&arguments)?);
        pairs::settle(&folders[variant])?;
    }
    Ok((files, all(samples)?))
}

/// Returns the samples of C, of one thread and of two threads.
fn verify_all(file: &Path, order: &[usize]) -> Result<Vec<Sample>> {
    let sides: [&[&str]; 3] = [&["c-verify"], &["verify", "1"], &["verify", "2"]];
    let mut samples = vec![None; order.len()];
    for &variant in order {
        pairs::warm(file)?;
        let mut arguments = vec![OsStr::new(sides[variant][0]), file.as_os_str()];
        arguments.extend(sides[variant][1..].iter().map(OsStr::new));
        samples[variant] = Some(pairs::trial(&arguments)?);
    }
    samples.into_iter().map(|sample| sample.ok_or_else(|| anyhow::anyhow!("a side did not run"))).collect()
}

fn all(samples: [Option<Sample>; 2]) -> Result<[Sample; 2]> {
    let [Some(yardstick), Some(litelab)] = samples else { anyhow::bail!("a side did not run") };
    Ok([yardstick, litelab])
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
