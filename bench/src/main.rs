//! litelab's own speed, against yardsticks, in pairs.
//!
//! `cargo run --release -p litelab-bench -- bulk` prints each ratio with its interval. Exit codes: 0 every target
//! met, 3 one missed, 1 the bench itself failed.

mod bulk;
mod pairs;
mod yardstick;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Exit code for a target that was missed.
const MISSED: u8 = 3;

#[derive(Parser)]
#[command(about = "litelab's own speed, against yardsticks, in pairs")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// `litelab generate` and `litelab verify` against the same loops in C.
    Bulk(bulk::Options),
    /// One side of a pair; the bench starts itself with this, once per trial.
    #[command(hide = true)]
    Side {
        #[command(subcommand)]
        side: bulk::Side,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Bench::Bulk(options) => bulk::run(&options),
        Bench::Side { side } => bulk::side(&side).map(|()| true),
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
