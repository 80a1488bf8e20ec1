//! `litelab completions SHELL`: prints a completion script.

use anyhow::Result;
use clap::CommandFactory;

use crate::exit::Exit;

#[derive(clap::Args)]
pub struct Args {
    /// Shell to print the script for
    shell: clap_complete::Shell,
}

/// Prints the completion script.
pub fn run(args: &Args) -> Result<Exit> {
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "litelab", &mut std::io::stdout());
    Ok(Exit::Ok)
}
