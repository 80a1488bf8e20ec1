//! `litelab report [RUN [RUN]] [-o FILE] [--open] [--splice FILE]`: writes an HTML page of one run or of two side by
//! side, or updates tables in a Markdown page.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use litelab_model::unknown;
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::{Analysis, analyse, recording};
use litelab_report::{ReportError, export, html, number};

use crate::exit::{BadInput, Exit};
use crate::{files, output, style};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  litelab report --open
  litelab report litelab-runs/event-loop-20260131-123456.db -o event-loop.html
  litelab report laptop.db server.db
  litelab report incident.db                      a recording of `litelab watch`
  litelab report --only writers
  litelab report --splice docs/studies/runtimes.md

A page marks its tables by two comments; columns are named by their titles (default: all):
  <!-- splice event-loop/pool: throughput, p99 -->
  <!-- end of splice -->
Also `event-loop/claims`, `/finding: NAME, NAME` and `/run`, which is what the run was made with.")]
pub struct Args {
    /// Run files: one, or two for a page with both side by side; or a recording of `watch`; default: the newest
    #[arg(value_name = "RUN", num_args = 0..=2)]
    runs: Vec<PathBuf>,
    /// HTML file to write; default: the first run file's name with .html
    #[arg(short, long, value_name = "FILE", conflicts_with = "splice")]
    output: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long, conflicts_with = "splice")]
    open: bool,
    /// Only these scenarios
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',', conflicts_with = "splice")]
    only: Vec<String>,
    /// Update the marked tables of this run's study in a Markdown page, instead of writing an HTML page
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
}

/// A run file with its data.
struct Run {
    file: PathBuf,
    run: RunFile,
    info: RunInfo,
}

/// Writes the HTML page of a run or of two, or updates the tables of a Markdown page. A page is left unchanged on an
/// error.
pub fn run(args: &Args) -> Result<Exit> {
    if let [file] = &args.runs[..]
        && let Some(recording) = super::watch::recording(file)?
    {
        if args.splice.is_some() || !args.only.is_empty() {
            return Err(BadInput("--splice and --only are for a run, and this is a recording".into()).into());
        }
        let page = html::recording(&recording::analyse(&recording)?);
        let beside = file.with_extension("html");
        write(args, args.output.as_deref().unwrap_or(&beside), &page, &[file])?;
        return Ok(Exit::Ok);
    }
    let first = open(args.runs.first().map(PathBuf::as_path))?;
    let second = args.runs.get(1).map(|file| open(Some(file))).transpose()?;
    match (&args.splice, second) {
        (Some(_), Some(_)) => return Err(BadInput("--splice takes one run".into()).into()),
        (Some(path), None) => splice(path, &first.run, &first.info)?,
        (None, second) => {
            let beside = first.file.with_extension("html");
            page(args, args.output.as_deref().unwrap_or(&beside), &first, second.as_ref())?;
        }
    }
    Ok(Exit::Ok)
}

fn open(file: Option<&Path>) -> Result<Run> {
    let file = files::find_run(file)?;
    let run = RunFile::open(&file)?;
    let info = run.info()?;
    Ok(Run { file, run, info })
}

fn page(args: &Args, path: &Path, first: &Run, second: Option<&Run>) -> Result<()> {
    let (analysis, evidence) = read(first, &args.only)?;
    let page = match second {
        None => html::page(&analysis, &first.info, &evidence),
        Some(second) => {
            let (other, further) = read(second, &args.only)?;
            html::pair((&analysis, &first.info, &evidence), (&other, &second.info, &further))
        }
    };
    let sources: Vec<&Path> = [Some(first), second].into_iter().flatten().map(|run| run.file.as_path()).collect();
    write(args, path, &page, &sources)
}

/// Writes a page, and opens it where that is asked for.
fn write(args: &Args, path: &Path, page: &str, sources: &[impl AsRef<Path>]) -> Result<()> {
    for source in sources {
        files::another(path, source.as_ref())?;
    }
    files::replace(path, &mut |out| Ok(out.write_all(page.as_bytes())?))?;
    output::line(format_args!("{}: {} kB", path.display(), page.len().div_ceil(1000)));
    if args.open && !browse(path) {
        output::note(
            style::WARNING,
            "warning",
            format_args!("no browser found (set $BROWSER): open {} yourself", path.display()),
        );
    }
    Ok(())
}

fn read(run: &Run, only: &[String]) -> Result<(Analysis, html::Evidence)> {
    let scenarios = || run.info.plan.scenarios.iter().map(|scenario| scenario.name.as_str());
    if let Some(name) = only.iter().find(|name| !scenarios().any(|known| known == *name)) {
        return Err(BadInput(unknown("scenario", name, scenarios())).into());
    }
    let (mut analysis, evidence) = html::read(&run.run, &run.info)?;
    if !only.is_empty() {
        analysis.keep(only);
    }
    Ok((analysis, evidence))
}

/// Opens a file with the first program that does not end with an error at once.
fn browse(path: &Path) -> bool {
    let chosen = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty()).map(PathBuf::from);
    let system = ["xdg-open", "open"].map(PathBuf::from);
    chosen.into_iter().chain(system).any(|program| {
        let quiet = || Stdio::null();
        let child = Command::new(program).arg(path).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
        let Ok(mut child) = child else { return false };
        std::thread::sleep(Duration::from_millis(300));
        // A browser that goes on running is one that opened.
        child.try_wait().is_ok_and(|ended| ended.is_none_or(|status| status.success()))
    })
}

fn splice(path: &Path, run: &RunFile, info: &RunInfo) -> Result<()> {
    let page = std::fs::read_to_string(path).map_err(|e| BadInput(format!("{}: {e}", path.display())))?;
    let spliced = export::splice::splice(&page, &analyse(run, info)?, info);
    let (page, made) = spliced.map_err(|error| match error {
        ReportError::Splice(what) => BadInput(format!("{}: {what}", path.display())).into(),
        other => anyhow::Error::from(other),
    })?;
    files::replace(path, &mut |out| Ok(out.write_all(page.as_bytes())?))?;
    let tables = number::counted(made as u64, "table");
    output::line(format_args!("{}: {tables} of {}", path.display(), info.plan.study));
    Ok(())
}
