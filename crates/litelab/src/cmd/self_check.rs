//! `litelab self-check`: checks that this installation measures correctly, and prints one line per part.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use litelab_conformance::{CheckVerdict, Suite};
use litelab_engine::calibration;
use litelab_engine::{Run, RunOptions, Runners, scratch};
use litelab_model::metric::Unit;
use litelab_model::{Options, library, resolve};
use litelab_observe::environment::Environment;
use litelab_record::calibration::Clock;
use litelab_report::number;

use crate::exit::{BadInput, Exit};
use crate::{installation, interrupt, output, style};

#[derive(clap::Args)]
pub struct Args {
    /// Directory whose disk is checked, in a temporary folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// Result of one part: a sentence, or the failure and its remedy.
type Found = Result<String, String>;

/// Checks all parts. [`Exit::Failed`] if one of them fails.
pub fn run(args: &Args) -> Result<Exit> {
    let runners = installation::runners()?;
    let folder = scratch::Folder::make(&args.dir);
    let folder = folder.map_err(|e| BadInput(format!("{}: cannot make a folder in it: {e}", args.dir.display())))?;
    let begun = Instant::now();
    let mut sound = true;
    let mut show = |part: &str, found: Found| {
        let (style, mark, text) = match &found {
            Ok(text) => (style::STRONG, "ok", text),
            Err(text) => (style::ERROR, "FAILED", text),
        };
        sound &= found.is_ok();
        output::headed(style, format_args!("{mark:<7}"), format_args!("{part:<12}{text}"));
    };
    show("clock", clock());
    let environment = Environment::capture(folder.path());
    show("disk", disk(&environment));
    for warning in &environment.warnings {
        let text = format_args!("{:<12}{}; {}", "host", warning.message, warning.remedy);
        output::headed(style::WARNING, format_args!("{:<7}", "note"), text);
    }
    show("runner", conformance(&runners, folder.path())?);
    show("trials", smoke(&runners, folder.path())?);
    let seconds = begun.elapsed().as_secs_f64();
    output::line(format_args!(
        "{} in {seconds:.0} s",
        if sound { "this installation measures correctly" } else { "do not trust measurements of this installation" }
    ));
    Ok(if sound { Exit::Ok } else { Exit::Failed })
}

/// Checks that the monotonic clock is finer than the shortest transaction in memory, about a microsecond.
fn clock() -> Found {
    /// Largest acceptable cost and resolution, in nanoseconds.
    const COARSE: f64 = 1000.0;
    let Clock { cost_ns, resolution_ns } = calibration::clock();
    let text = format!(
        "a reading takes {}, the smallest step is {}",
        number::value(cost_ns, Unit::Nanos),
        number::value(resolution_ns as f64, Unit::Nanos)
    );
    if cost_ns < COARSE && (resolution_ns as f64) < COARSE {
        return Ok(text);
    }
    Err(format!("{text}: too coarse for transactions of microseconds; see /sys/devices/system/clocksource"))
}

/// Checks that a synchronous write succeeds.
fn disk(environment: &Environment) -> Found {
    let kind = environment
        .filesystem
        .as_ref()
        .and_then(|filesystem| filesystem.kind.as_deref())
        .unwrap_or("unknown file system");
    match &environment.fsync {
        Some(probe) => {
            let sync = number::value(probe.overwrite.p50_ns as f64, Unit::Nanos);
            Ok(format!("{kind}, a synchronous write takes {sync}"))
        }
        None => Err(format!("{kind}: a scratch file cannot be written and synced here; name another --dir")),
    }
}

/// Runs the conformance suite on the driver that is built into the command.
fn conformance(runners: &Runners, folder: &std::path::Path) -> Result<Found> {
    let suite = Suite::new(runners, folder).stop(interrupt::stop()).jobs(super::check::usual_jobs());
    let report = suite.check("rusqlite:rusqlite", &mut |_| {})?;
    if let Some((_, failure)) = report.failures().next() {
        return Ok(Err(format!("{}: {}", failure.name, failure.detail)));
    }
    let checks = report.drivers.iter().flat_map(|driver| &driver.checks).chain(&report.checks);
    let passed = checks.filter(|check| check.verdict == CheckVerdict::Passed).count();
    Ok(if report.passed() {
        Ok(format!("rusqlite: {passed} checks of the conformance suite passed"))
    } else {
        Err("rusqlite: nothing was checked".into())
    })
}

/// Runs one round of the study `smoke`.
fn smoke(runners: &Runners, folder: &std::path::Path) -> Result<Found> {
    let (study, text) = library::study("smoke")?;
    let options = Options { rounds: Some(1), dialects: runners.dialects(), ..Options::default() };
    let plan = resolve::resolve(&study, &text, &options)?;
    let variants = plan.variants.len();
    let options = RunOptions::new(folder.join("smoke.db"), folder.to_path_buf());
    let run = Run::new(plan, &text.toml, options, runners, interrupt::stop())?;
    let mut reason = None;
    let ended = run.execute(&mut |event| {
        if let litelab_engine::event::RunEvent::TrialEnded { record, .. } = event
            && let litelab_record::outcome::Outcome::Failed(failure) = &record.outcome
        {
            reason.get_or_insert_with(|| failure.reason.clone());
        }
    })?;
    if ended.interrupted {
        return Err(litelab_engine::EngineError::Interrupted).context("study smoke");
    }
    Ok(match reason {
        None => Ok(format!("study smoke: {variants} trials, settings read back and results verified in each")),
        Some(reason) => Err(format!("study smoke: {} of {variants} trials failed: {reason}", ended.failed)),
    })
}
