//! `litelab show [RUN]`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_engine::record::RunFile;
use litelab_report::analysis::{self, Analysis};
use litelab_report::{Style, terminal};

use crate::exit::Exit;
use crate::{files, style};

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    /// A run file; the newest unless told otherwise
    run: Option<PathBuf>,
}

/// Shows a run.
pub fn run(args: &Args) -> Result<Exit> {
    let file = files::find_run(args.run.as_deref(), Path::new(files::DIRECTORY))?;
    print(&file)?;
    Ok(Exit::Ok)
}

/// Analyses a run and prints it.
pub fn print(file: &Path) -> Result<Analysis> {
    let run = RunFile::open(file)?;
    let info = run.info()?;
    let analysis = analysis::analyse(&run, &info)?;
    let style = Style { color: style::color(), width: style::width() };
    anstream::print!("{}", terminal::show(&analysis, &info, style));
    Ok(analysis)
}
