//! `litelab generate DB`.

use std::path::PathBuf;

use anyhow::Result;
use litelab_bulk::{GenerateOptions, Schema, Setting};
use litelab_model::library;

use crate::exit::{BadInput, Exit};
use crate::{interrupt, output};

/// Arguments.
#[derive(clap::Args)]
#[command(after_help = "Example: litelab generate bench.db --rows 10000000 --batch 2000")]
pub struct Args {
    /// The database to make
    db: PathBuf,
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = |text: &str| super::count(text, 1 << 40))]
    rows: u64,
    /// Rows committed together
    #[arg(long, value_name = "B", default_value_t = 2_000, value_parser = |text: &str| super::count(text, 100_000_000))]
    batch: u64,
    /// Form of the table: sqlite3perf, integer-primary-key, without-rowid
    #[arg(long, value_name = "NAME", default_value = "sqlite3perf")]
    schema: String,
    /// Parse the statement anew for each batch
    #[arg(long)]
    no_prepare: bool,
    /// VACUUM at the end
    #[arg(long)]
    vacuum: bool,
    /// Seed of the values: the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A profile's name or path
    #[arg(long, value_name = "PROFILE", default_value = "wal-normal")]
    profile: String,
    /// Replace an earlier generated database; nothing else is ever replaced
    #[arg(long)]
    force: bool,
}

/// Makes the database.
pub fn run(args: &Args) -> Result<Exit> {
    let (profile, text) = library::profile(&args.profile, None)?;
    let checked = litelab_model::resolve::check_profile(&profile, &text, Some(litelab_database::pragma::tried))?;
    let settings = checked.settings.into_iter().map(|setting| Setting::new(setting.name, setting.value)).collect();
    let schema: Schema = args.schema.parse().map_err(BadInput)?;
    let options = GenerateOptions {
        batch: args.batch,
        schema,
        prepare: !args.no_prepare,
        vacuum: args.vacuum,
        seed: args.seed,
        settings,
        replace: args.force,
        ..GenerateOptions::new(&args.db, args.rows)
    };
    let report = litelab_bulk::generate(&options, &mut |p| output::log(super::bulk_line(&p)), interrupt::stop())?;
    let settings: Vec<_> = report.settings.iter().map(|s| format!("{}={}", s.name, s.value)).collect();
    output::line(format_args!(
        "{} rows in {:.2} s, {:.0} rows/s, {} batches, {:.1} MB; {}",
        report.rows,
        report.seconds,
        report.rows_per_second,
        report.batches,
        report.bytes as f64 / 1e6,
        settings.join(" ")
    ));
    if let Some(seconds) = report.vacuum_seconds {
        output::line(format_args!("vacuum {seconds:.2} s"));
    }
    Ok(Exit::Ok)
}
