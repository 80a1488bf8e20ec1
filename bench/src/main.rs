//! litelab's own speed, against yardsticks, in pairs.
//!
//! `cargo run --release -p litelab-bench` runs all; `… -- bulk` or `… -- runner` one. Each ratio is printed with its interval. Exit codes: 0 every target
//! met, 3 one missed, 1 the bench itself failed.

mod bulk;
mod pairs;
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
    /// One side of a pair; the bench starts itself with this, once per trial.
    #[command(hide = true)]
    Side {
        #[command(subcommand)]
        side: bulk::Side,
    },
}

/// Both benches with what they have unless told otherwise.
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
    let bulk = bulk::run(&Bulk::parse_from(["bulk"]).options)?;
    Ok(runner::run(&Loops::parse_from(["runner"]).options)? && bulk)
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Some(Bench::Bulk(options)) => bulk::run(&options),
        Some(Bench::Runner(options)) => runner::run(&options),
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
