//! `litelab runners list|build|check`: manages the runners.

use anstyle::Style;
use anyhow::Result;
use litelab_engine::EngineError;
use litelab_engine::runner::Runner;

use crate::exit::Exit;
use crate::{building, interrupt, output, style};

#[derive(clap::Subcommand)]
pub enum Verb {
    /// List runners, their drivers and the SQLite version of each
    List,
    /// Build runners with their own tools; one whose toolchain is missing is skipped
    Build {
        /// Names; default: all
        names: Vec<String>,
        /// Build also runners that are up to date
        #[arg(long)]
        force: bool,
    },
    /// Run the conformance suite: do not trust a runner that fails it
    Check(super::check::Args),
}

/// Runs the sub-command.
pub fn run(verb: &Verb) -> Result<Exit> {
    match verb {
        Verb::List => list(),
        Verb::Build { names, force } => build(names, *force),
        Verb::Check(args) => super::check::run(args),
    }
}

fn list() -> Result<Exit> {
    for runner in super::runners()?.iter().filter(|r| !r.manifest.test_double) {
        let name = &runner.manifest.name;
        if !runner.is_built() {
            let drivers = runner.manifest.drivers.join(", ");
            output::headed(style::STRONG, name, format_args!("  built when a study needs it: {drivers}"));
            continue;
        }
        match runner.look_until(Some(interrupt::stop())) {
            Err(EngineError::Interrupted) => return Ok(Exit::Interrupted),
            Err(e) => output::headed(style::STRONG, name, format_args!("  {e}")),
            Ok((d, absent)) => {
                output::headed(style::STRONG, name, format_args!("  {} {}", d.language, d.runtime));
                for driver in d.drivers {
                    let sqlite = driver.sqlite.map_or_else(String::new, |s| format!("SQLite {}", s.version));
                    let executors: Vec<_> = driver.executors.iter().map(|e| e.name()).collect();
                    output::line(format_args!(
                        "  {:<16} {:<10} {:<14} {} · {}",
                        driver.name,
                        driver.version,
                        sqlite,
                        driver.sharings.join(", "),
                        executors.join(", ")
                    ));
                }
                for absent in absent {
                    output::spans(&[
                        (Style::new(), &format_args!("  {:<16} ", absent.driver)),
                        (style::WARNING, &absent),
                    ]);
                }
            }
        }
    }
    Ok(Exit::Ok)
}

fn build(names: &[String], force: bool) -> Result<Exit> {
    let runners = super::runners()?;
    for name in names {
        runners.get(name)?;
    }
    let chosen: Vec<&Runner> = runners
        .iter()
        .filter(|runner| names.contains(&runner.manifest.name) || (names.is_empty() && !runner.manifest.test_double))
        .collect();
    Ok(if building::all(&chosen, force) { Exit::Ok } else { Exit::Failed })
}
