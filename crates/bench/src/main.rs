//! Measures litelab's own speed against yardsticks, in pairs.
//!
//! `cargo run --release -p litelab-bench` runs all benches; `… -- bulk`, `… -- runner`, `… -- pgbench` or `… -- watch` runs one. Each
//! ratio is printed with its interval. Exit codes: 0 all targets met, 3 a target missed, 1 the bench itself failed.

mod bulk;
mod pairs;
mod pgbench;
mod runner;
mod watch;
mod yardstick;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use litelab_engine::Runners;

/// Exit code for a missed target.
const MISSED: u8 = 3;

#[derive(Parser)]
#[command(about = "litelab's own speed, against yardsticks, in pairs")]
struct Arguments {
    /// Bench to run (default: all).
    #[command(subcommand)]
    bench: Option<Bench>,
}

#[derive(Subcommand)]
enum Bench {
    /// Compare `litelab generate` and `litelab verify` with the same loops in C.
    Bulk(bulk::Options),
    /// Compare runners with hand-written loops in the same language.
    Runner(runner::Options),
    /// Compare the Go runner on PostgreSQL with pgbench on the same scripts.
    Pgbench(pgbench::Options),
    /// Compare a busy database with and without `litelab watch` beside it.
    Watch(watch::Options),
    /// One side of a pair; the bench starts itself with this command once per trial.
    #[command(hide = true)]
    Side {
        #[command(subcommand)]
        side: bulk::Side,
    },
}

/// Seed of the values, and of the order of the sides.
const SEED: u64 = 1;

/// The checkout that this program was built from.
fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The runners of the checkout. The built-in runner is the command that `make build` has built.
fn runners(home: &Path) -> anyhow::Result<Runners> {
    let mut runners = Runners::find(home)?;
    runners.add(litelab_runner::MANIFEST, home.join("crates/runner"), Some(home.join("target/release/litelab")))?;
    Ok(runners)
}

/// Runs all benches with their defaults.
fn all() -> anyhow::Result<bool> {
    let bulk = bulk::run(&bulk::Options::parse_from(["bulk"]))?;
    let loops = runner::run(&runner::Options::parse_from(["runner"]))?;
    let watch = watch::run(&watch::Options::parse_from(["watch"]))?;
    Ok(pgbench::run(&pgbench::Options::parse_from(["pgbench"]))? && watch && loops && bulk)
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Some(Bench::Bulk(options)) => bulk::run(&options),
        Some(Bench::Runner(options)) => runner::run(&options),
        Some(Bench::Pgbench(options)) => pgbench::run(&options),
        Some(Bench::Watch(options)) => watch::run(&options),
        Some(Bench::Side { side }) => bulk::side(&side).map(|()| true),
        None => all(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(MISSED),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
