//! `litelab runners check`: the conformance suite.

use std::path::Path;

use anyhow::Result;
use litelab_conformance::{CheckOutcome, Progress, Verdict, check};

use crate::exit::{BadInput, Exit};
use crate::{interrupt, style};

/// Which runners, and where.
#[derive(clap::Args)]
pub struct Args {
    /// Runners, or `runner:driver`; all that are built and meant for use, unless told otherwise
    names: Vec<String>,
    /// Show every check, not only those that failed
    #[arg(short, long)]
    verbose: bool,
    /// Directory for the databases
    #[arg(long, value_name = "DIR", default_value = crate::files::DIRECTORY)]
    dir: std::path::PathBuf,
}

/// Checks them; fails if any does not pass.
pub fn run(args: &Args) -> Result<Exit> {
    let runners = super::runners()?;
    make(&args.dir)?;
    let names = if args.names.is_empty() { built(&runners) } else { args.names.clone() };
    if names.is_empty() {
        return Err(BadInput("no runner is built: run `litelab runners build`".into()).into());
    }
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for name in &names {
        let report = check(&runners, name, &args.dir, &mut |progress| {
            if let Progress::Ended { driver, outcome } = progress {
                show(name, driver, outcome, args.verbose);
            }
        })?;
        let all = report.checks.iter().chain(report.drivers.iter().flat_map(|d| &d.checks));
        for outcome in all {
            match outcome.verdict {
                Verdict::Passed => passed += 1,
                Verdict::Failed => failed += 1,
                Verdict::Skipped => skipped += 1,
            }
        }
        for absent in &report.absent {
            skipped += 1;
            anstream::eprintln!("{}skipped:{} {absent}", style::WARNING, style::RESET);
        }
        if report.drivers.is_empty() && !report.absent.is_empty() {
            continue;
        }
        let verdict = if report.passed() { "may be used" } else { "must not be used" };
        let drivers: Vec<_> = report.drivers.iter().map(|d| d.driver.as_str()).collect();
        anstream::println!("{}{name}{} ({}): {verdict}", style::STRONG, style::RESET, drivers.join(", "));
        if interrupt::stopped() {
            return Ok(Exit::Interrupted);
        }
    }
    anstream::println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

fn make(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| BadInput(format!("{}: {e}", dir.display())))?;
    Ok(())
}

/// Runners that are built; test doubles are checked only by name.
fn built(runners: &litelab_engine::Runners) -> Vec<String> {
    let (mut names, mut missing) = (Vec::new(), Vec::new());
    for runner in runners.iter().filter(|r| !r.manifest.test_double) {
        let name = runner.manifest.name.clone();
        if runner.is_built() { names.push(name) } else { missing.push(name) }
    }
    for name in missing {
        let style = style::WARNING;
        anstream::eprintln!("{style}skipped:{style:#} runner `{name}` is not built (`litelab runners build {name}`)");
    }
    names
}

fn show(runner: &str, driver: Option<&str>, outcome: &CheckOutcome, verbose: bool) {
    let name = driver.map_or_else(|| runner.to_owned(), |d| format!("{runner}:{d}"));
    let CheckOutcome { name: check, detail, seconds, .. } = outcome;
    match outcome.verdict {
        Verdict::Failed => {
            anstream::println!("{}✘{} {name} {check}: {detail}", style::ERROR, style::RESET);
        }
        Verdict::Skipped if verbose => anstream::println!("– {name} {check}: skipped, {detail}"),
        Verdict::Passed if verbose => anstream::println!("✔ {name} {check} ({seconds:.2} s): {detail}"),
        _ => {}
    }
}
