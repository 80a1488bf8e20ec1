//! `litelab verify DB`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use litelab_bulk::VerifyOptions;

use crate::exit::Exit;
use crate::{interrupt, output, style};

/// Arguments.
#[derive(clap::Args)]
#[command(
    after_help = "Its table is that of workload sqlite3perf: each row's `hash` is the SHA-256 of its `rand`. Exit code 3 if any row is wrong. The database is opened read-only."
)]
pub struct Args {
    /// The database
    db: PathBuf,
    /// Threads; default: all processors
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::threads)]
    threads: Option<NonZeroUsize>,
}

/// Checks every row.
pub fn run(args: &Args) -> Result<Exit> {
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let options = VerifyOptions { threads: args.threads.unwrap_or(all), ..VerifyOptions::new(&args.db) };
    let report = litelab_bulk::verify(&options, &mut |p| output::log(super::bulk_line(&p)), interrupt::stop())?;
    for mismatch in &report.mismatches {
        output::note(style::ERROR, "wrong", mismatch);
    }
    let more = report.mismatch_count - report.mismatches.len() as u64;
    if more > 0 {
        output::log(format_args!("… and {more} more"));
    }
    output::line(format_args!(
        "{} rows in {:.2} s, {:.0} rows/s with {} threads: {}",
        report.rows,
        report.elapsed.as_secs_f64(),
        report.rows_per_second(),
        report.threads,
        if report.mismatch_count == 0 {
            "every hash is right".to_owned()
        } else {
            format!("{} rows are wrong", report.mismatch_count)
        }
    ));
    Ok(if report.mismatch_count == 0 { Exit::Ok } else { Exit::Threshold })
}
