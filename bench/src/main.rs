//! litelab's own speed, against yardsticks, in pairs.
//!
//! `cargo run --release -p litelab-bench` runs all; `… -- bulk`, `… -- runner` or `… -- pgbench` one. Each ratio is printed with its interval. Exit codes: 0 every target
//! met, 3 one missed, 1 the bench itself failed.

mod bulk;
mod pairs;
mod pgbench;
mod runner;
mod yardstick;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Exit code for a target that was missed.
const MISSED: u8 = 3;

#[derive(Parser)]
#[command(about = "litelab's own speed, against yardsticks, in pairs")]
struct Arguments {
    /// All, unless told otherwise.
    #[command(subcommand)]
    bench: Option<Bench>,
}

#[derive(Subcommand)]
enum Bench {
    /// `litelab generate` and `litelab verify` against the same loops in C.
    Bulk(bulk::Options),
    /// Runners against loops written by hand in the same language.
    Runner(runner::Options),
    /// The Go runner on PostgreSQL against pgbench, with its own scripts.
    Pgbench(pgbench::Options),
    /// One side of a pair; the bench starts itself with this, once per trial.
    #[command(hide = true)]
    Side {
        #[command(subcommand)]
        side: bulk::Side,
    },
}

/// All benches with what they have unless told otherwise.
fn all() -> anyhow::Result<bool> {
    #[derive(Parser)]
    struct Bulk {
        #[command(flatten)]
        options: bulk::Options,
    }
    #[derive(Parser)]
    struct Loops {
        #[command(flatten)]
        options: runner::Options,
    }
    #[derive(Parser)]
    struct Scripts {
        #[command(flatten)]
        options: pgbench::Options,
    }
    let bulk = bulk::run(&Bulk::parse_from(["bulk"]).options)?;
    let loops = runner::run(&Loops::parse_from(["runner"]).options)?;
    Ok(pgbench::run(&Scripts::parse_from(["pgbench"]).options)? && loops && bulk)
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Some(Bench::Bulk(options)) => bulk::run(&options),
        Some(Bench::Runner(options)) => runner::run(&options),
        Some(Bench::Pgbench(options)) => pgbench::run(&options),
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
