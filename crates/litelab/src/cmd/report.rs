//! `litelab report [RUN] --splice FILE`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use litelab_engine::record::RunFile;
use litelab_report::analysis::analyse;
use litelab_report::{ReportError, export};

use crate::exit::{BadInput, Exit};
use crate::files;

/// Arguments.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litelab report --splice docs/RUNTIMES.md
  litelab report litelab-runs/event-loop-20260131-123456.db --splice docs/RUNTIMES.md

A page marks its tables by two comments; columns are named by their titles, all of them unless told otherwise:
  <!-- splice event-loop/pool: throughput, p99 -->
  <!-- end of splice -->")]
pub struct Args {
    /// A run file; the newest unless told otherwise
    run: Option<PathBuf>,
    /// Make the tables of this page anew that are of the run's study
    #[arg(long, value_name = "FILE")]
    splice: PathBuf,
}

/// Makes the tables of a page anew. A page that cannot be made stays as it is.
pub fn run(args: &Args) -> Result<Exit> {
    let file = files::find_run(args.run.as_deref(), Path::new(files::DIRECTORY))?;
    let run = RunFile::open(&file)?;
    let info = run.info()?;
    let path = &args.splice;
    let page = std::fs::read_to_string(path).map_err(|e| BadInput(format!("{}: {e}", path.display())))?;
    let spliced = export::splice::splice(&page, &analyse(&run, &info)?, &info);
    let (page, made) = spliced.map_err(|error| match error {
        ReportError::Splice(what) => BadInput(format!("{}: {what}", path.display())).into(),
        other => anyhow::Error::from(other),
    })?;
    // Beside the page and then in its place: an interrupted write leaves the old one.
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut whole = tempfile::NamedTempFile::new_in(folder).context("write the page")?;
    whole.write_all(page.as_bytes()).context("write the page")?;
    let mode = std::fs::metadata(path).context("write the page")?.permissions();
    whole.as_file().set_permissions(mode).context("write the page")?;
    whole.persist(path).context("write the page")?;
    println!("{}: {made} table{} of {}", path.display(), if made == 1 { "" } else { "s" }, info.plan.study);
    Ok(Exit::Ok)
}
