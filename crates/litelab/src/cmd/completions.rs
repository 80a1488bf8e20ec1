//! `litelab completions SHELL`: prints a completion script.

use anyhow::Result;
use clap::CommandFactory;

use crate::exit::Exit;
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Shell to print the script for
    shell: clap_complete::Shell,
}

/// Prints the completion script.
pub fn run(args: &Args) -> Result<Exit> {
    // clap_complete panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "litelab", &mut script);
    output::rendered(&String::from_utf8_lossy(&script));
    Ok(Exit::Ok)
}
