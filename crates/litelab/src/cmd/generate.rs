//! `litelab generate WORKLOAD DB`.

use std::path::PathBuf;

use anyhow::Result;
use litelab_bulk::GenerateOptions;
use litelab_model::{Scalar, Vars, library, resolve};

use crate::exit::{BadInput, Exit};
use crate::{interrupt, output};

/// Arguments.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  litelab generate sqlite3perf bench.db --rows 10M\n  litelab generate pgbench accounts.db --set scale=10\n  litelab generate my-workload.toml app.db --profile wal-full"
)]
pub struct Args {
    /// A built-in workload's name, or the path of one of your own, with rows in [data]
    workload: String,
    /// The database to make
    db: PathBuf,
    /// Rows, in place of the workload's data.rows
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = |text: &str| super::number::<u64>(text, 1, 1 << 40))]
    rows: Option<u64>,
    /// Rows committed together
    #[arg(long, value_name = "B", default_value_t = 2_000, allow_negative_numbers = true, value_parser = |text: &str| super::number::<u64>(text, 1, 100_000_000))]
    batch: u64,
    /// A variant of the workload's schema
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// Give a variable of the workload another value
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = litelab_engine::run::variable)]
    vars: Vec<(String, Scalar)>,
    /// VACUUM at the end
    #[arg(long)]
    vacuum: bool,
    /// Seed of the values: the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = super::seed)]
    seed: u64,
    /// A profile's name or path
    #[arg(long, value_name = "PROFILE", default_value = "wal-normal")]
    profile: String,
    /// Replace an earlier database of this workload; nothing else is ever replaced
    #[arg(long)]
    force: bool,
}

/// Makes the database.
pub fn run(args: &Args) -> Result<Exit> {
    let (profile, text) = library::profile(&args.profile, None)?;
    let checked = resolve::check_profile(&profile, &text, Some(litelab_database::pragma::tried))?;
    if !profile.dialect.is_sqlite() {
        let (name, dialect) = (&profile.name, profile.dialect);
        return Err(BadInput(format!("profile `{name}` is one of {dialect}: choose one of SQLite")).into());
    }
    let vars: Vars = args.vars.iter().cloned().collect();
    let workload = resolve::of_workload(&args.workload, args.schema.as_deref(), args.rows, &vars)?;
    let options = GenerateOptions {
        batch: args.batch,
        vacuum: args.vacuum,
        seed: args.seed,
        replace: args.force,
        ..GenerateOptions::new(&args.db, workload, checked.settings)
    };
    let report = litelab_bulk::generate(&options, &mut |p| output::log(super::bulk_line(&p)), interrupt::stop())?;
    let settings: Vec<_> = report.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    output::line(format_args!(
        "{} rows in {:.2} s, {:.0} rows/s, {} batches, {:.1} MB; {}",
        report.rows,
        report.elapsed.as_secs_f64(),
        report.rows_per_second(),
        report.batches,
        report.bytes as f64 / 1e6,
        settings.join(" ")
    ));
    if let Some(vacuum) = report.vacuum {
        output::line(format_args!("vacuum {:.2} s", vacuum.as_secs_f64()));
    }
    Ok(Exit::Ok)
}
