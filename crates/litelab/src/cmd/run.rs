//! `litelab run [STUDY]`: runs a study and prints its results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_engine::{Run, Runners};
use litelab_model::{Options, Scalar, library, resolve};
use litelab_record::RunFile;
use litelab_report::analysis::Analysis;
use litelab_stats::ClaimVerdict;

use crate::execution::{self, RunFiles};
use crate::exit::{BadInput, Exit};
use crate::{building, files, installation, interrupt, output, style};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  litelab run\n  litelab run sqlite3perf --quick --only batch\n  litelab run my-study.toml --set rows=50000\n  litelab run --resume litelab-runs/sqlite3perf-20260131-123456.db\n  litelab run ours.toml --url postgres=postgres://me:secret@localhost/mine"
)]
pub struct Args {
    /// Name of a built-in study, or path of your own
    #[arg(default_value = "first-look")]
    study: String,
    /// Run the study at its small scale
    #[arg(long)]
    quick: bool,
    /// Number of rounds; each round has one trial of every variant
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::rounds)]
    rounds: Option<u32>,
    /// Only these scenarios
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',')]
    only: Vec<String>,
    /// Set a variable of the study
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = litelab_engine::run::variable)]
    vars: Vec<(String, Scalar)>,
    /// Seed of the order of trials and of all generated values; default: 1
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::seed)]
    seed: Option<u64>,
    /// Run the study on this driver instead of its own, or on several: `go:mattn`. A runner that is not built yet is
    /// built
    #[arg(long = "driver", value_name = "DRIVER")]
    drivers: Vec<String>,
    /// Run every scenario's baseline twice, to estimate the rate of false positives (A/A test)
    #[arg(long)]
    aa: bool,
    #[command(flatten)]
    place: RunFiles,
    /// Resume an interrupted run: the file named, or the newest run
    #[arg(
        long, value_name = "FILE", num_args = 0..=1,
        conflicts_with_all = ["study", "quick", "rounds", "only", "vars", "seed", "drivers", "aa", "dry_run", "output"]
    )]
    resume: Option<Option<PathBuf>>,
    /// End with code 4 if any claim or comparison stays inconclusive
    #[arg(long)]
    strict: bool,
    /// Print everything: intervals, verdicts against the baseline, settings, environment, legend
    #[arg(long)]
    all: bool,
    /// Print the plan without running it
    #[arg(long)]
    dry_run: bool,
}

/// Runs the study and prints the results.
pub fn run(args: Args) -> Result<Exit> {
    let runners = installation::runners()?;
    let (file, run) = match &args.resume {
        Some(file) => {
            let file = files::find_run(file.as_deref())?;
            (file.clone(), Run::resume(args.place.resume(file)?, &runners, interrupt::stop())?)
        }
        None => {
            let found = library::study(&args.study);
            let (study, text) = found.map_err(|error| match not_a_study(&args.study, &runners) {
                Some(remedy) => BadInput(format!("{}: {remedy}", args.study)).into(),
                None => anyhow::Error::from(error),
            })?;
            let plan = resolve::resolve(&study, &text, &resolve_options(&args, &runners)?)?;
            if args.dry_run {
                let mut plan = plan;
                litelab_engine::compile::compile(&mut plan)?;
                let unbuilt = litelab_engine::ready::foresee(&mut plan, &runners, Some(interrupt::stop()))?;
                crate::progress::describe(&plan).iter().for_each(output::line);
                crate::progress::skipped(&plan);
                for runner in unbuilt {
                    let text = format_args!("runner `{runner}` is not built yet: what its drivers have is not checked");
                    output::note(style::WARNING, "note", text);
                }
                return Ok(Exit::Ok);
            }
            let file = args.place.file(&study.name)?;
            let options = args.place.options(file.clone(), None)?;
            building::for_plan(&runners, &plan)?;
            let run = Run::new(plan, &text.toml, options, &runners, interrupt::stop())?;
            super::calibrate::warn(&run)?;
            (file, run)
        }
    };
    let ended = execution::carry_out(run)?;
    let resume = format!("litelab run --resume {}{}", file.display(), args.place.again());
    if ended.rounds > 0 {
        let analysis = super::show::print(&file, args.all)?;
        if ended.interrupted {
            execution::say_resume(ended.rounds, &resume);
            return Ok(Exit::Interrupted);
        }
        return Ok(exit(&analysis, ended.failed, args.strict));
    }
    execution::say_resume(0, &resume);
    Ok(Exit::Interrupted)
}

fn exit(analysis: &Analysis, failed: u32, strict: bool) -> Exit {
    match failed {
        0 if analysis.self_check_failed() => Exit::Failed,
        0 if strict && is_inconclusive(analysis) => Exit::Inconclusive,
        0 => Exit::Ok,
        _ => Exit::Failed,
    }
}

/// Whether any claim, or any variant in all judged metrics of its scenario, is inconclusive.
fn is_inconclusive(analysis: &Analysis) -> bool {
    let claims = analysis.claims.iter().any(|c| matches!(c.verdict, ClaimVerdict::Inconclusive { .. }));
    claims || analysis.scenarios.iter().flat_map(|s| &s.comparisons).any(|c| c.decided().is_none())
}

/// The remedy if the name in the place of a study is that of a run file, a database, a runner or a driver.
fn not_a_study(name: &str, runners: &Runners) -> Option<String> {
    let path = Path::new(name);
    if !name.ends_with(".toml") && path.is_file() {
        return Some(match RunFile::open(path) {
            Ok(_) => format!(
                "this is a run file: `litelab show {name}` shows it, `litelab repeat {name}` runs its study again"
            ),
            Err(_) => format!(
                "this is no study: a study is a file that ends in .toml, and names a database by `[data] from = \"{name}\"` in its workload"
            ),
        });
    }
    let (what, driver) = match runners.get(name) {
        Ok(runner) => ("runner", format!("{name}:{}", runner.manifest.drivers.first()?)),
        Err(_) => ("driver", runners.driver(name).ok().map(|_| name.to_owned())?),
    };
    Some(format!("this is a {what}, and no study: run a study on it, as in `litelab run first-look --driver {driver}`"))
}

fn resolve_options(args: &Args, runners: &Runners) -> Result<Options> {
    for driver in &args.drivers {
        runners.driver(driver)?;
    }
    Ok(Options {
        quick: args.quick,
        rounds: args.rounds,
        seed: args.seed,
        only: args.only.clone(),
        vars: args.vars.iter().cloned().collect(),
        dialects: runners.dialects(),
        aa: args.aa,
        drivers: args.drivers.clone(),
        tried: Some(litelab_database::pragma::tried),
    })
}
