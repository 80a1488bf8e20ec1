//! `litelab compare BASE HEAD`.

use std::path::PathBuf;

use anyhow::Result;
use litelab_engine::record::{RunFile, RunInfo};
use litelab_model::Metric;
use litelab_report::analysis::{Analysis, analyse_with};
use litelab_report::compare::{self, CompareOptions, Comparison, Side};
use litelab_report::{Style, export, terminal};
use litelab_stats::Verdict;

use crate::exit::{BadInput, Exit};
use crate::style;

/// Arguments.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  litelab compare before.db after.db --fail\n  litelab compare run.db --base profile=wal-full --head profile=wal-normal\n\n\
    Arms of one run are compared block by block. Two runs were made at different times, so that drift of the machine is \
    part of their difference: a warning says so."
)]
pub struct Args {
    /// Run file to compare with
    #[arg(value_name = "BASE")]
    run: PathBuf,
    /// Run file that is compared
    #[arg(value_name = "HEAD", required_unless_present = "head")]
    other: Option<PathBuf>,
    /// With one run: the arm to compare with, as `scenario/name=value …` or enough of it
    #[arg(long, value_name = "ARM", requires = "head", conflicts_with = "other")]
    base: Option<String>,
    /// With one run: the arm that is compared
    #[arg(long, value_name = "ARM", requires = "base", conflicts_with = "other")]
    head: Option<String>,
    /// Relative difference below which two arms count as equivalent; the study's unless told otherwise
    #[arg(long, value_name = "SHARE")]
    tolerance: Option<String>,
    /// Metrics; those the study judges by unless told otherwise
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<String>,
    /// Compare runs of different machines, drivers or workloads all the same
    #[arg(long)]
    allow_unlike: bool,
    /// End with code 3 if anything is slower
    #[arg(long)]
    fail: bool,
    /// End with code 4 if anything is inconclusive
    #[arg(long)]
    strict: bool,
    /// Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
}

/// Compares.
pub fn run(args: &Args) -> Result<Exit> {
    let options = options(args)?;
    let comparison = compare_as_told(args, &options)?;
    if args.markdown {
        anstream::print!("{}", export::markdown::comparison(&comparison));
    } else {
        let style = Style { color: style::color(), width: style::width() };
        anstream::print!("{}", terminal::show_comparison(&comparison, style));
    }
    let open = comparison.rows.iter().any(|row| matches!(row.verdict, Verdict::Inconclusive { .. }));
    Ok(if args.fail && !comparison.regressions().is_empty() {
        Exit::Threshold
    } else if args.strict && open {
        Exit::Inconclusive
    } else {
        Exit::Ok
    })
}

fn options(args: &Args) -> Result<CompareOptions> {
    let tolerance = args
        .tolerance
        .as_ref()
        .map(|text| {
            let share = litelab_model::quantity::with_unit(text).ok().filter(|t| *t > 0.0 && *t < 1.0);
            share.ok_or_else(|| BadInput(format!("--tolerance: `{text}` is no share between 0 and 1, such as 5%")))
        })
        .transpose()?;
    let metrics = args
        .metric
        .iter()
        .map(|m| m.parse::<Metric>().map_err(|e| BadInput(format!("--metric: {e}"))))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(CompareOptions { tolerance, metrics, allow_unlike: args.allow_unlike })
}

fn compare_as_told(args: &Args, options: &CompareOptions) -> Result<Comparison> {
    let read = |path: &PathBuf| -> Result<(Analysis, RunInfo)> {
        let file = RunFile::open(path)?;
        let info = file.info()?;
        Ok((analyse_with(&file, &info, &options.metrics)?, info))
    };
    let bad = |e: litelab_report::ReportError| BadInput(e.to_string());
    let (analysis, info) = read(&args.run)?;
    let side = Side { analysis: &analysis, info: &info };
    if let (Some(base), Some(head)) = (&args.base, &args.head) {
        let arm = |selector: &str| compare::select_arm(&info.plan, selector).map_err(bad);
        return Ok(compare::compare_arms(side, arm(base)?, arm(head)?, options).map_err(bad)?);
    }
    let Some(other) = &args.other else {
        return Err(BadInput("name a second run, or two arms of this one".into()).into());
    };
    let (their_analysis, their_info) = read(other)?;
    Ok(compare::compare(side, Side { analysis: &their_analysis, info: &their_info }, options).map_err(bad)?)
}
