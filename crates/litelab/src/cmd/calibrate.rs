//! `litelab calibrate`: measures the precision of this host.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use litelab_engine::calibration::{clock, runner_costs};
use litelab_engine::event::RunEvent;
use litelab_engine::{EngineError, Run, RunOptions, Runners, scratch};
use litelab_model::{Options, library, resolve};
use litelab_observe::environment::{Environment, FsyncConfig, FsyncProbe, LoadProbe, LoadWindow};
use litelab_record::calibration::{self, Host, HostCalibration, Work};
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::analyse;
use litelab_report::calibration::{EXPERIMENT, forecasts_of, noise};
use litelab_report::{document, terminal};

use crate::exit::{BadInput, Exit};
use crate::{building, files, installation, interrupt, output, style};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  litelab calibrate\n  litelab calibrate --dir /mnt/fast --quick\n  litelab calibrate --show\n\n\
    Identical variants are run against each other for 75 seconds: how often they are told apart, and how small a \
    difference so many rounds can show. The result is kept for this host and disk in litelab-runs/calibration/; runs that \
    follow store it, and say so where a study asks for more than the host can show in its rounds."
)]
pub struct Args {
    /// Directory for the databases; its disk is the one measured
    #[arg(long, value_name = "DIR", default_value = files::DIRECTORY)]
    dir: PathBuf,
    /// A third of the time, with less certain results
    #[arg(long)]
    quick: bool,
    /// Duration of the A/A experiments (identical variants against each other), in seconds; default: 75, with --quick
    /// 20
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = |text: &str| super::number::<u64>(text, 1, 86_400))]
    time: Option<u64>,
    /// Driver of the A/A experiments
    #[arg(long, value_name = "DRIVER", default_value = "rusqlite")]
    driver: String,
    /// Show the stored calibration of this host and disk, and measure nothing
    #[arg(long, conflicts_with_all = ["quick", "time", "driver"])]
    show: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Extra time beyond the limit that a slow disk gets to complete the rounds of one experiment.
const PATIENCE: Duration = Duration::from_secs(60);

/// Durations and counts of the parts of a calibration.
struct Scale {
    rest: Duration,
    sync: FsyncConfig,
    trials: u32,
    experiments: Duration,
}

impl Args {
    /// Scale of a calibration: less than two minutes in total, or 40 seconds with `--quick`.
    fn scale(&self) -> Scale {
        let seconds = Duration::from_secs;
        let scale = if self.quick {
            let sync = FsyncConfig { writes: 300, limit: seconds(2) };
            Scale { rest: seconds(1), sync, trials: 1, experiments: seconds(20) }
        } else {
            let sync = FsyncConfig { writes: 2000, limit: seconds(6) };
            Scale { rest: seconds(2), sync, trials: 3, experiments: seconds(75) }
        };
        Scale { experiments: self.time.map_or(scale.experiments, seconds), ..scale }
    }
}

/// Calibrates this host, stores the result and prints it.
pub fn run(args: &Args) -> Result<Exit> {
    let begun = Instant::now();
    let scale = args.scale();
    let data = Path::new(files::DIRECTORY);
    if args.show {
        let kept = calibration::newest(data, &Host::of(&Environment::capture(&args.dir)));
        let kept = kept.ok_or_else(|| {
            BadInput("no calibration is kept for this host and disk: begin with `litelab calibrate`".into())
        })?;
        print(&kept, args.json)?;
        return Ok(Exit::Ok);
    }
    let runners = installation::runners()?;
    for directory in [data, &args.dir] {
        files::make(directory)?;
    }
    say("the host at rest");
    let rest = LoadProbe::start();
    std::thread::sleep(scale.rest);
    let rest = rest.finish();
    let clock = clock();
    say("syncs of the disk");
    let place = scratch::Folder::make(&args.dir).context("make a folder for it")?;
    let sync = FsyncProbe::run(place.path(), scale.sync).ok();
    drop(place);

    // The run is temporary: the calibration keeps the part of it that matters.
    let folder = scratch::Folder::make(data).context("make a folder for it")?;
    let file = folder.path().join("aa.db");
    let info = experiments(args, scale.experiments, &runners, &file)?;
    let analysis = analyse(&RunFile::open(&file)?, &info)?;
    let rounds = info.done.iter().copied().min().unwrap_or_default();
    let failure = analysis.variants.iter().flat_map(|variant| &variant.failures).map(|f| f.reason.as_str()).next();
    if rounds < EXPERIMENT {
        let why = failure.unwrap_or("its trials take too long");
        return Err(EngineError::Failed(format!("only {rounds} of {EXPERIMENT} rounds were run: {why}")).into());
    }
    let noise = noise(&analysis);
    if noise.is_empty() {
        let why = failure.unwrap_or("unknown");
        return Err(EngineError::Failed(format!("no trial gave a measurement: {why}")).into());
    }

    let scenario = info.plan.scenarios.iter().position(|scenario| scenario.name == Work::Commits.name());
    let writes = info.plan.variants.iter().find(|variant| Some(variant.scenario) == scenario);
    let costs = match writes {
        Some(variant) => runner_costs(variant, &runners, &args.dir, scale.trials, interrupt::stop(), &mut |name| {
            say(&format!("the harness itself: runner {name}"));
        })?,
        None => Vec::new(),
    };
    let steal = |load: &LoadWindow| load.steal_share.unwrap_or(0.0);
    let result = HostCalibration {
        litelab: env!("CARGO_PKG_VERSION").into(),
        made: litelab_record::now(),
        made_unix: calibration::unix_now(),
        quick: args.quick,
        seconds: begun.elapsed().as_secs_f64(),
        host: Host::of(&info.environment),
        driver: args.driver.clone(),
        noise,
        clock,
        runners: costs,
        sync,
        rest,
        worst: info.loads.iter().copied().max_by(|a, b| steal(a).total_cmp(&steal(b))).unwrap_or_default(),
    };
    let kept = calibration::save(data, &result)?;
    print(&result, args.json)?;
    output::log(format_args!("kept in {}; runs on this host and disk store it", kept.display()));
    Ok(Exit::Ok)
}

fn print(calibration: &HostCalibration, json: bool) -> Result<()> {
    if json {
        output::json(calibration)?;
    } else {
        output::rendered(&terminal::render(&document::of_calibration(calibration), style::report()));
    }
    Ok(())
}

/// Runs the study `calibrate` with every variant duplicated, for `limit` or longer until one experiment has its rounds.
fn experiments(args: &Args, limit: Duration, runners: &Runners, file: &Path) -> Result<RunInfo> {
    let (mut study, text) = library::study("calibrate")?;
    study.driver = Some(args.driver.clone());
    // The clock ends the run, not the number of rounds. A new seed each time, because a fixed order that happens to
    // favour a variant would bias every calibration.
    let options = Options {
        aa: true,
        rounds: Some(10_000),
        seed: Some(calibration::unix_now()),
        dialects: runners.dialects(),
        ..Options::default()
    };
    let plan = resolve::resolve(&study, &text, &options)?;
    let options = RunOptions::new(file.to_path_buf(), args.dir.clone());
    let stop = AtomicBool::new(false);
    let _asked = interrupt::stop();
    building::for_plan(runners, &plan)?;
    let run = Run::new(plan, &text.toml, options, runners, &stop)?;
    let (begun, mut told) = (Instant::now(), Instant::now());
    let mut stored = vec![0; run.plan().scenarios.len()];
    run.execute(&mut |event| {
        if let RunEvent::RoundStored { scenario, round } = event {
            stored[scenario] = round + 1;
            let (done, spent) = (stored.iter().copied().min().unwrap_or_default(), begun.elapsed());
            // A slow disk may need more time for the minimum number of rounds, but not without bound.
            let enough = spent >= limit && done >= EXPERIMENT || spent >= limit + PATIENCE;
            stop.store(enough, Ordering::Relaxed);
            if told.elapsed() >= Duration::from_secs(10) {
                told = Instant::now();
                say(&format!(
                    "identical variants: {done} rounds, {:.0} s left",
                    limit.saturating_sub(spent).as_secs_f64()
                ));
            }
        }
        if let RunEvent::Started { .. } = event {
            say(&format!("identical variants, for {:.0} s", limit.as_secs_f64()));
        }
        if interrupt::is_asked() {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    if interrupt::is_asked() {
        return Err(EngineError::Interrupted.into());
    }
    Ok(RunFile::open(file)?.info()?)
}

/// Stores the calibration of this host in a new run, and warns if the run needs more precision than the host has shown.
pub fn warn(run: &Run<'_>) -> Result<()> {
    if let Some(stored) = run.calibrated(Path::new(files::DIRECTORY))? {
        for forecast in forecasts_of(run.plan(), &stored.calibration) {
            output::note(style::WARNING, "warning", format_args!("{}: {forecast}", forecast.scenario));
        }
    }
    Ok(())
}

fn say(what: &str) {
    output::log(format_args!("calibrating: {what}"));
}
