//! `litelab compare BASE HEAD`: compares two runs, or two variants of one run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_model::metric::Unit;
use litelab_model::quantity::Quantity;
use litelab_model::{Metric, Scalar};
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::{Analysis, analyse_with};
use litelab_report::compare::{self, CompareOptions, Side};
use litelab_report::document::{self, Document};
use litelab_report::{export, terminal};

use crate::exit::{BadInput, Exit};
use crate::unlike::Allowance;
use crate::{files, output, pivot, style};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  litelab compare before.db after.db --fail\n  litelab compare run.db --base profile=wal-full --head profile=wal-normal\n\n\
    Variants of one run are compared round by round. Two runs were made at different times, so that drift of the machine is \
    part of their difference: a warning says so. So --fail runs what is slower again, base and head in the same rounds of one \
    new run, and only what is slower there too counts; where the build that base ran with is gone, head alone is run again, \
    which does not control for drift. Code 3 is a regression that was confirmed, code 1 one that could not be looked at again."
)]
pub struct Args {
    /// Run file of the base
    #[arg(value_name = "BASE")]
    run: PathBuf,
    /// Run file compared with the base
    #[arg(value_name = "HEAD", required_unless_present = "head")]
    other: Option<PathBuf>,
    /// With one run: the base variant, as `scenario/name=value …`, shortened as long as it is unique
    #[arg(long, value_name = "VARIANT", requires = "head", conflicts_with = "other")]
    base: Option<String>,
    /// With one run: the variant compared with the base
    #[arg(long, value_name = "VARIANT", requires = "base", conflicts_with = "other")]
    head: Option<String>,
    /// Relative difference below which two variants count as equivalent; default: that of the study
    #[arg(long, value_name = "SHARE", value_parser = share)]
    tolerance: Option<f64>,
    /// Metrics to compare; default: those the study judges by
    #[arg(long, value_name = "METRIC", value_delimiter = ',', value_parser = pivot::metric)]
    metric: Vec<Metric>,
    #[command(flatten)]
    unlike: Allowance,
    /// Run regressions again, base and head in the same rounds, and end with code 3 if one is confirmed
    #[arg(long)]
    fail: bool,
    /// With --fail: accept regressions without running them again
    #[arg(long, requires = "fail")]
    no_confirm: bool,
    /// Directory for the databases of the re-run; its disk is the one measured. Default: that of HEAD
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// End with code 4 if anything is inconclusive
    #[arg(long)]
    strict: bool,
    /// Print Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
}

/// A run as read from its file.
type Read = (Analysis, RunInfo);

/// Compares, and with `--fail` runs regressions again.
pub fn run(args: &Args) -> Result<Exit> {
    let (metrics, allow_unlike) = (args.metric.clone(), args.unlike.kinds.clone());
    let options = CompareOptions { tolerance: args.tolerance, metrics, allow_unlike };
    let base = read(&args.run, &options)?;
    let other = args.other.as_ref().map(|path| read(path, &options)).transpose()?;
    let (base, head) = (side(&base), side(other.as_ref().unwrap_or(&base)));
    let comparison = match (&args.base, &args.head) {
        (Some(ours), Some(theirs)) => {
            let variant = |selector: &str| compare::select_variant(&base.info.plan, selector).map_err(bad);
            compare::compare_variants(base, variant(ours)?, variant(theirs)?, &options).map_err(bad)?
        }
        _ => compare::compare(base, head, &options).map_err(bad)?,
    };
    print(args, &document::of_comparison(&comparison));

    let open = args.strict && !comparison.inconclusive().is_empty();
    let regressed = args.fail && !comparison.regressions().is_empty();
    if !regressed || args.no_confirm {
        return Ok(match (regressed, open) {
            (true, _) => Exit::Threshold,
            (false, true) => Exit::Inconclusive,
            (false, false) => Exit::Ok,
        });
    }
    let directory = files::directory(args.dir.as_deref(), files::present(head.info));
    let found = super::confirm::run(&comparison, base, head, &options.metrics, directory)?;
    if args.markdown {
        output::line("");
    }
    print(args, &document::of_confirmation(&found));
    Ok(match found.confirmed() {
        // A regression whose re-run is impossible is neither confirmed nor refuted.
        0 if !found.impossible.is_empty() => Exit::Failed,
        0 if open || (args.strict && found.open() > 0) => Exit::Inconclusive,
        0 => Exit::Ok,
        _ => Exit::Threshold,
    })
}

fn print(args: &Args, document: &Document) {
    output::rendered(&match args.markdown {
        true => export::markdown::render(document),
        false => terminal::render(document, style::report()),
    });
}

fn read(path: &Path, options: &CompareOptions) -> Result<Read> {
    let file = RunFile::open(path)?;
    let info = file.info()?;
    Ok((analyse_with(&file, &info, &options.metrics)?, info))
}

fn side((analysis, info): &Read) -> Side<'_> {
    Side { analysis, info }
}

fn bad(error: litelab_report::ReportError) -> BadInput {
    BadInput(error.to_string())
}

/// Parses `--tolerance`.
fn share(text: &str) -> Result<f64, String> {
    let share = Quantity::from(Scalar::Text(text.to_owned())).bound(Some(Unit::Share));
    let share = share.ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "write a share between 0 and 1, such as 5%".into())
}
