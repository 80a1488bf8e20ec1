//! `litelab runners check`: the conformance suite.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::ProgressBar;
use litelab_conformance::{CheckOutcome, CheckVerdict, Progress, Report, Suite};

use crate::exit::Exit;
use crate::progress::HEARTBEAT;
use crate::{files, installation, interrupt, output, style};

#[derive(clap::Args)]
pub struct Args {
    /// Runners, or `runner:driver`; default: all that are built, except test doubles
    names: Vec<String>,
    /// Show every check, not only failures
    #[arg(short, long)]
    verbose: bool,
    /// Directory for the databases
    #[arg(long, value_name = "DIR", default_value = files::DIRECTORY)]
    dir: std::path::PathBuf,
    /// Checks made in parallel; default: number of processors plus two, because a check mostly waits for its runner
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = super::threads)]
    jobs: Option<std::num::NonZeroUsize>,
    /// Check drivers of servers on a server that already runs, in separate schemas, instead of starting one:
    /// postgres=URL, mysql=URL
    #[arg(long = "url", value_name = "SERVER=URL")]
    urls: Vec<String>,
}

/// Checks the runners. [`Exit::Failed`] if any check fails.
pub fn run(args: &Args) -> Result<Exit> {
    let runners = installation::runners()?;
    files::make(&args.dir)?;
    let names = if args.names.is_empty() { built(&runners) } else { args.names.clone() };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let urls = crate::execution::urls(&args.urls)?;
    let suite = Suite::new(&runners, &args.dir)
        .jobs(args.jobs.map_or_else(usual_jobs, usize::from))
        .stop(interrupt::stop())
        .urls(&urls);
    let mut screen = Screen::new();
    let reports = suite.check_all(&names, &mut |progress| match progress {
        Progress::Started { .. } => {}
        Progress::Ended { runner, driver, outcome } => {
            let name = driver.map_or_else(|| runner.to_owned(), |driver| format!("{runner}:{driver}"));
            screen.bar.suspend(|| show(&name, outcome, args.verbose));
            screen.ended(&name, outcome);
        }
        Progress::Examined(report) => screen.bar.suspend(|| conclude(report)),
    });
    screen.bar.finish_and_clear();
    let reports = reports?;
    if reports.len() < names.len() {
        return Ok(Exit::Interrupted);
    }
    let all: Vec<&CheckOutcome> = reports
        .iter()
        .flat_map(|report| report.checks.iter().chain(report.drivers.iter().flat_map(|driver| &driver.checks)))
        .collect();
    let count = |verdict| all.iter().filter(|outcome| outcome.verdict == verdict).count();
    let absent: usize = reports.iter().map(|report| report.absent.len() + report.unexamined.len()).sum();
    let failed = count(CheckVerdict::Failed);
    output::line(format_args!(
        "{} passed, {failed} failed, {} skipped",
        count(CheckVerdict::Passed),
        count(CheckVerdict::Skipped) + absent
    ));
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in all.iter().filter(|outcome| outcome.verdict == CheckVerdict::Skipped) {
        *reasons.entry(&outcome.detail).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons {
        output::line(format_args!("  does not apply, {count}: {reason}"));
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Counts of the checks made so far: a line that is redrawn on a terminal, and printed from time to time elsewhere.
struct Screen {
    bar: ProgressBar,
    done: usize,
    failed: usize,
    begun: Instant,
    printed: Instant,
}

impl Screen {
    fn new() -> Self {
        let bar = if style::redraws() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(200));
        let now = Instant::now();
        Self { bar, done: 0, failed: 0, begun: now, printed: now }
    }

    fn ended(&mut self, driver: &str, outcome: &CheckOutcome) {
        self.done += 1;
        self.failed += usize::from(outcome.verdict == CheckVerdict::Failed);
        let (done, failed, seconds) = (self.done, self.failed, self.begun.elapsed().as_secs_f64());
        let text = format!("{done} checks made, {failed} failed, {seconds:.0} s; the last: {driver} {}", outcome.name);
        output::message(&self.bar, &text);
        if !style::redraws() && self.printed.elapsed() >= HEARTBEAT {
            self.printed = Instant::now();
            output::log(text);
        }
    }
}

/// Default number of parallel checks: keeps the processors busy, and leaves each runner the CPU time to meet the
/// checks' time limits.
pub fn usual_jobs() -> usize {
    2 + std::thread::available_parallelism().map_or(2, usize::from)
}

/// Prints the verdict on a runner and its missing drivers.
fn conclude(report: &Report) {
    for absent in &report.absent {
        output::note(style::WARNING, "skipped", absent);
    }
    for (driver, why) in &report.unexamined {
        let text = format_args!("driver `{driver}` of runner `{}`: {why}", report.runner);
        output::note(style::WARNING, "skipped", text);
    }
    if report.drivers.is_empty() && !(report.absent.is_empty() && report.unexamined.is_empty()) {
        return;
    }
    let verdict = if report.passed() { "may be used" } else { "must not be used" };
    let drivers: Vec<_> = report.drivers.iter().map(|d| d.driver.as_str()).collect();
    output::headed(style::STRONG, &report.runner, format_args!(" ({}): {verdict}", drivers.join(", ")));
}

/// Names of the runners that are built. Test doubles are checked only if named.
fn built(runners: &litelab_engine::Runners) -> Vec<String> {
    let (mut names, mut missing) = (Vec::new(), Vec::new());
    for runner in runners.iter().filter(|r| !r.manifest.test_double) {
        let name = runner.manifest.name.clone();
        if runner.is_built() { names.push(name) } else { missing.push(name) }
    }
    for name in missing {
        let text = format_args!("runner `{name}` is not built (`litelab runners build {name}`)");
        output::note(style::WARNING, "skipped", text);
    }
    names
}

fn show(name: &str, outcome: &CheckOutcome, verbose: bool) {
    let CheckOutcome { name: check, detail, seconds, .. } = outcome;
    match outcome.verdict {
        CheckVerdict::Failed => {
            output::headed(style::ERROR, "✘", format_args!(" {name} {check}: {detail}"));
        }
        CheckVerdict::Skipped if verbose => output::line(format_args!("– {name} {check}: skipped, {detail}")),
        CheckVerdict::Passed if verbose => {
            output::line(format_args!("✔ {name} {check} ({seconds:.2} s): {detail}"));
        }
        _ => {}
    }
}
