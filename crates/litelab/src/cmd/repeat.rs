//! `litelab repeat RUN`: runs the study of a run again and compares the verdicts.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_engine::{Ready, Run, Runners, With};
use litelab_model::Plan;
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::{VariantAnalysis, analyse};
use litelab_report::compare::{Difference, Side, repeat};
use litelab_report::{Change, Repetition, ReportError, document, repetition, terminal};

use crate::execution::{self, RunFiles};
use crate::exit::{BadInput, Exit};
use crate::unlike::Allowance;
use crate::{building, files, installation, interrupt, output, style};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  litelab repeat litelab-runs/first-look-20260131-123456.db
  litelab repeat before.db --rounds 20 --seed 7 -o after.db
  litelab repeat before.db --resume after.db

Everything comes from the run file; the study's own files are not read. A repetition that was stopped goes on with
--resume; one that is complete is judged again.")]
pub struct Args {
    /// Run file whose study is run again
    run: PathBuf,
    /// Number of rounds, at least that of the run; default: that of the run
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::rounds)]
    rounds: Option<u32>,
    /// Another seed; default: that of the run
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::seed)]
    seed: Option<u64>,
    #[command(flatten)]
    place: RunFiles,
    /// Resume an interrupted repetition of this run: the file named, or the newest run
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["rounds", "seed", "output"])]
    resume: Option<Option<PathBuf>>,
    #[command(flatten)]
    unlike: Allowance,
    /// End with code 4 if a decided verdict has become inconclusive
    #[arg(long)]
    strict: bool,
}

/// Runs the study of a run again and prints which verdicts changed.
pub fn run(args: &Args) -> Result<Exit> {
    let before = RunFile::open(&args.run)?;
    let info = before.info()?;
    if info.rounds() == 0 {
        return Err(BadInput(format!("{}: it has no round, so there is nothing to repeat", args.run.display())).into());
    }
    let runners = installation::runners()?;
    let (file, run) = match &args.resume {
        Some(file) => {
            let file = files::find_run(file.as_deref())?;
            let run = resumed(args, &info, &file, &runners)?;
            (file, run)
        }
        None => {
            let urls = args.place.urls()?;
            let former = files::present(&info);
            let directory = &args.place.directory(former);
            let with = With { directory, urls: &urls, runners: &runners, stop: Some(interrupt::stop()) };
            let plan = plan(args, &info)?;
            building::for_plan(&runners, &plan)?;
            let ready = Ready::check(plan, with)?;
            let here = RunInfo {
                plan: ready.plan().clone(),
                environment: ready.environment().clone(),
                runners: ready.runners().cloned().collect(),
                servers: ready.servers(),
                ..info.clone()
            };
            allow(&repeat::differences(&info, &here), args)?;
            let file = args.place.file(&format!("{}-repeat", info.plan.study))?;
            let options = args.place.options(file.clone(), former)?;
            let run = Run::begin(ready, &info.study_toml, options, &runners, interrupt::stop())?;
            super::calibrate::warn(&run)?;
            (file, Some(run))
        }
    };
    if let Some(run) = run {
        let ended = execution::carry_out(run)?;
        if ended.interrupted {
            let (run, again) = (args.run.display(), args.place.again());
            let resume = format!("litelab repeat {run} --resume {}{again}", file.display());
            execution::say_resume(ended.rounds, &resume);
            return Ok(Exit::Interrupted);
        }
    }
    let after = RunFile::open(&file)?;
    let after_info = after.info()?;
    let (analysis, after_analysis) = (analyse(&before, &info)?, analyse(&after, &after_info)?);
    let failed: u64 = after_analysis.variants.iter().map(VariantAnalysis::failed).sum();
    let sides = (Side { analysis: &analysis, info: &info }, Side { analysis: &after_analysis, info: &after_info });
    let repetition = repetition(sides.0, sides.1)?;
    output::rendered(&terminal::render(&document::of_repetition(&repetition), style::report()));
    Ok(exit(&repetition, failed, args.strict))
}

/// The run's plan with the requested seed and number of rounds.
fn plan(args: &Args, info: &RunInfo) -> Result<Plan> {
    let mut plan = info.plan.clone();
    if let Some(seed) = args.seed {
        plan.reseed(seed);
    }
    if let Some(rounds) = args.rounds {
        let most = plan.scenarios.iter().map(|s| s.rounds).max().unwrap_or_default();
        if rounds < most {
            let line =
                format!("--rounds: {rounds} are fewer than the {most} of the run, and could only leave verdicts open");
            return Err(BadInput(line).into());
        }
        plan.raise_rounds(rounds);
    }
    Ok(plan)
}

/// The rest of an interrupted repetition; `None` if it is complete.
fn resumed<'a>(args: &Args, before: &RunInfo, file: &Path, runners: &'a Runners) -> Result<Option<Run<'a>>> {
    let after = RunFile::open(file)?.info()?;
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    if canonical(file) == canonical(&args.run) {
        let line =
            format!("{}: this is the run itself: name the file of its repetition after --resume", file.display());
        return Err(BadInput(line).into());
    }
    repeat::same_study(&before.plan, &after.plan).map_err(|e| BadInput(format!("{}: {e}", file.display())))?;
    allow(&repeat::differences(before, &after), args)?;
    if after.finished.is_some() && !args.place.flame {
        return Ok(None);
    }
    Ok(Some(Run::resume(args.place.resume(file.to_path_buf())?, runners, interrupt::stop())?))
}

/// Refuses a difference in host, driver or work that `--allow-unlike` does not name, and warns of the others. Called
/// before any trial.
fn allow(unlike: &[Difference], args: &Args) -> Result<()> {
    let refused: Vec<Difference> = unlike.iter().filter(|d| !args.unlike.kinds.contains(&d.of)).cloned().collect();
    if !refused.is_empty() {
        return Err(BadInput(ReportError::Unlike(refused).to_string()).into());
    }
    for difference in unlike {
        output::note(style::WARNING, "unlike", difference);
    }
    Ok(())
}

fn exit(repetition: &Repetition, failed: u64, strict: bool) -> Exit {
    if repetition.count(Change::Reversed) > 0 {
        Exit::Threshold
    } else if failed > 0 {
        Exit::Failed
    } else if strict && repetition.count(Change::Lost) > 0 {
        Exit::Inconclusive
    } else {
        Exit::Ok
    }
}
