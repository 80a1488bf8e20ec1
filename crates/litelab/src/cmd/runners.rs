//! `litelab runners list|build|check`.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Instant;

use anyhow::Result;
use litelab_engine::runner::Runner;

use crate::exit::Exit;
use crate::style;

/// What to do with them.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Runners, their drivers and the SQLite inside
    List,
    /// Build runners with their own tools; one whose toolchain is missing is skipped
    Build {
        /// Names; all unless told otherwise
        names: Vec<String>,
        /// Build again what is up to date
        #[arg(long)]
        force: bool,
    },
    /// Run the conformance suite: a runner that does not pass is not to be believed
    Check(super::check::Args),
}

/// Does it.
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
        match runner.look() {
            Err(e) => anstream::println!("{}{name}{}  {}", style::STRONG, style::RESET, e),
            Ok((d, absent)) => {
                anstream::println!("{}{name}{}  {} {}", style::STRONG, style::RESET, d.language, d.runtime);
                for driver in d.drivers {
                    let sqlite = driver.sqlite.map_or_else(String::new, |s| format!("SQLite {}", s.version));
                    let executors: Vec<_> = driver.executors.iter().map(|e| e.name()).collect();
                    anstream::println!(
                        "  {:<16} {:<10} {:<14} {} · {}",
                        driver.name,
                        driver.version,
                        sqlite,
                        driver.accesses.join(", "),
                        executors.join(", ")
                    );
                }
                for absent in absent {
                    anstream::println!("  {:<16} {}{absent}{}", absent.driver, style::WARNING, style::RESET);
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
    // One after another by tool, for cargo locks its folder; what one tool leaves of the machine, another takes.
    let mut lanes: BTreeMap<Option<&str>, Vec<&Runner>> = BTreeMap::new();
    for runner in runners.iter().filter(|r| names.is_empty() || names.contains(&r.manifest.name)) {
        let tool = runner.manifest.build.first().and_then(|command| command.first());
        lanes.entry(tool.map(String::as_str)).or_default().push(runner);
    }
    let is_built = std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes
            .values()
            .map(|lane| scope.spawn(|| lane.iter().filter(|runner| !build_one(runner, force)).count() == 0))
            .collect();
        lanes.into_iter().all(|lane| lane.join().unwrap_or(false))
    });
    Ok(if is_built { Exit::Ok } else { Exit::Failed })
}

/// Whether it is built, or skipped: one that cannot be built must not keep the others from it.
fn build_one(runner: &Runner, force: bool) -> bool {
    let name = &runner.manifest.name;
    let missing = runner.missing();
    if !missing.is_empty() {
        for need in missing {
            let style = style::WARNING;
            anstream::eprintln!("{style}skipped:{style:#} runner `{name}` needs `{}`: {}", need.tool, need.remedy);
        }
        return true;
    }
    if runner.is_current() && !force {
        anstream::eprintln!("runner `{name}` is up to date");
    } else {
        anstream::eprintln!("building runner `{name}`");
        let begun = Instant::now();
        if let Err(e) = runner.build(Stdio::inherit) {
            anstream::eprintln!("{}error:{} {e}", style::ERROR, style::RESET);
            return false;
        }
        anstream::eprintln!("runner `{name}` is built, in {:.0} s", begun.elapsed().as_secs_f64());
    }
    say_absent(runner);
    true
}

/// Which of its optional drivers a runner came out without. Only those that have any are asked: some take a second.
fn say_absent(runner: &Runner) {
    if runner.manifest.optional.is_empty() {
        return;
    }
    for absent in runner.look().into_iter().flat_map(|(_, absent)| absent) {
        anstream::eprintln!("{}skipped:{} {absent}", style::WARNING, style::RESET);
    }
}
