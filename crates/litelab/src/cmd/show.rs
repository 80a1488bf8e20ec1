//! `litelab show [RUN]`: prints the results of a run.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_record::RunFile;
use litelab_report::analysis::{self, Analysis};
use litelab_report::{document, terminal};

use crate::exit::{BadInput, Exit};
use crate::{files, output, pivot, style};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  litelab show
  litelab show --columns profile --metric p50,p99
  litelab show run.db --columns sharing --rows workers,transaction --filter scenario=writers --metric p99
  litelab show run.db --columns driver --filter driver=rusqlite,mattn

Columns stand in the order in which a filter names them, and otherwise with the study's baseline first.")]
pub struct Args {
    /// Run file; default: the newest
    run: Option<PathBuf>,
    /// Everything: intervals, verdicts against the baseline, settings, environment, legend
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    tables: pivot::Tables,
}

/// Prints a run: its tables, claims and findings, or the tables selected by dimension.
pub fn run(args: &Args) -> Result<Exit> {
    let file = files::find_run(args.run.as_deref())?;
    if let Some(recording) = super::watch::recording(&file)? {
        if args.all || args.tables.any() {
            return Err(BadInput(format!("{}: a recording, which is shown without options", file.display())).into());
        }
        let analysis = analysis::recording::analyse(&recording)?;
        output::rendered(&terminal::render(&document::of_recording(&analysis), style::report()));
    } else if args.tables.any() {
        let run = RunFile::open(&file)?;
        let info = run.info()?;
        let (pivot, analysis) = args.tables.pivot(&run, &info)?;
        output::rendered(&terminal::render(&document::of_pivot(&pivot, &analysis, &info), style::report()));
    } else {
        print(&file, args.all)?;
    }
    Ok(Exit::Ok)
}

/// Analyses a run file and prints the result, in short or all of it, and what to do next.
pub fn print(file: &Path, all: bool) -> Result<Analysis> {
    let run = RunFile::open(file)?;
    let info = run.info()?;
    let analysis = analysis::analyse(&run, &info)?;
    let show = if all { terminal::show_all } else { terminal::show };
    output::rendered(&show(&analysis, &info, style::report()));
    next(file, &analysis);
    Ok(analysis)
}

/// Prints the next commands on a terminal: the page, and a repetition with the rounds that would decide more.
fn next(file: &Path, analysis: &Analysis) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let newest = files::find_run(None).is_ok_and(|newest| newest == file);
    let named = if newest { String::new() } else { format!(" {}", file.display()) };
    let rounds = analysis.scenarios.iter().filter_map(|scenario| scenario.answer.undecided.as_ref()?.rounds).max();
    let second = match rounds {
        Some(rounds) => format!("litelab repeat {} --rounds {rounds}", file.display()),
        None => "litelab pragma app.db   the settings that a database of yours has in effect".into(),
    };
    output::log("");
    output::log(format_args!("Next: litelab report{named} --open   the same with charts"));
    output::log(format_args!("      {second}"));
}
