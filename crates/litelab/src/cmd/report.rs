//! `litelab report [RUN] [-o FILE] [--splice FILE]`: writes an HTML page, or updates tables in a Markdown page.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_model::unknown;
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::analyse;
use litelab_report::{ReportError, export, html};

use crate::exit::{BadInput, Exit};
use crate::{files, output};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  litelab report
  litelab report litelab-runs/event-loop-20260131-123456.db -o event-loop.html
  litelab report --only writers
  litelab report --splice docs/RUNTIMES.md

A page marks its tables by two comments; columns are named by their titles (default: all):
  <!-- splice event-loop/pool: throughput, p99 -->
  <!-- end of splice -->")]
pub struct Args {
    /// Run file; default: the newest
    run: Option<PathBuf>,
    /// HTML file to write; default: the run file's name with .html
    #[arg(short, long, value_name = "FILE", conflicts_with = "splice")]
    output: Option<PathBuf>,
    /// Only these scenarios
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',', conflicts_with = "splice")]
    only: Vec<String>,
    /// Update the marked tables of this run's study in a Markdown page, instead of writing an HTML page
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
}

/// Writes the HTML page of a run, or updates the tables of a Markdown page. A page is left unchanged on an error.
pub fn run(args: &Args) -> Result<Exit> {
    let file = files::find_run(args.run.as_deref(), Path::new(files::DIRECTORY))?;
    let run = RunFile::open(&file)?;
    let info = run.info()?;
    match &args.splice {
        Some(path) => splice(path, &run, &info)?,
        None => {
            let beside = file.with_extension("html");
            page(args, args.output.as_deref().unwrap_or(&beside), &file, &run, &info)?;
        }
    }
    Ok(Exit::Ok)
}

fn page(args: &Args, path: &Path, file: &Path, run: &RunFile, info: &RunInfo) -> Result<()> {
    if is_same(path, file) {
        let what = format!("{}: this is the run file itself; name another with -o", path.display());
        return Err(BadInput(what).into());
    }
    let scenarios = || info.plan.scenarios.iter().map(|scenario| scenario.name.as_str());
    if let Some(name) = args.only.iter().find(|name| !scenarios().any(|known| known == *name)) {
        return Err(BadInput(unknown("scenario", name, scenarios())).into());
    }
    let (mut analysis, evidence) = html::read(run, info)?;
    if !args.only.is_empty() {
        analysis.keep(&args.only);
    }
    let page = html::page(&analysis, info, &evidence);
    files::replace(path, &mut |out| Ok(out.write_all(page.as_bytes())?))?;
    output::line(format_args!("{}: {} kB", path.display(), page.len().div_ceil(1000)));
    Ok(())
}

/// Whether both paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    whole(one).is_some_and(|one| Some(one) == whole(other))
}

fn splice(path: &Path, run: &RunFile, info: &RunInfo) -> Result<()> {
    let page = std::fs::read_to_string(path).map_err(|e| BadInput(format!("{}: {e}", path.display())))?;
    let spliced = export::splice::splice(&page, &analyse(run, info)?, info);
    let (page, made) = spliced.map_err(|error| match error {
        ReportError::Splice(what) => BadInput(format!("{}: {what}", path.display())).into(),
        other => anyhow::Error::from(other),
    })?;
    files::replace(path, &mut |out| Ok(out.write_all(page.as_bytes())?))?;
    let plural = if made == 1 { "" } else { "s" };
    output::line(format_args!("{}: {made} table{plural} of {}", path.display(), info.plan.study));
    Ok(())
}
