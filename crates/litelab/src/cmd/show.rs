//! `litelab show [RUN]`: prints the results of a run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_record::RunFile;
use litelab_report::analysis::{self, Analysis};
use litelab_report::terminal;

use crate::exit::Exit;
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
    #[command(flatten)]
    tables: pivot::Tables,
}

/// Prints a run: its tables, claims and findings, or the tables selected by dimension.
pub fn run(args: &Args) -> Result<Exit> {
    let file = files::find_run(args.run.as_deref(), Path::new(files::DIRECTORY))?;
    if args.tables.any() {
        let run = RunFile::open(&file)?;
        let info = run.info()?;
        let (pivot, analysis) = args.tables.pivot(&run, &info)?;
        output::rendered(&terminal::show_pivot(&pivot, &analysis, &info, style::report()));
    } else {
        print(&file)?;
    }
    Ok(Exit::Ok)
}

/// Analyses a run file and prints the result.
pub fn print(file: &Path) -> Result<Analysis> {
    let run = RunFile::open(file)?;
    let info = run.info()?;
    let analysis = analysis::analyse(&run, &info)?;
    output::rendered(&terminal::show(&analysis, &info, style::report()));
    Ok(analysis)
}
