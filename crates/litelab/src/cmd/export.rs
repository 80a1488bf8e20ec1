//! `litelab export [RUN]`: writes a run as JSON, CSV, Markdown or folded stacks.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use litelab_record::RunFile;
use litelab_report::analysis::analyse;
use litelab_report::{document, export};

use crate::exit::{BadInput, Exit};
use crate::{files, pivot};

#[derive(clap::Args)]
pub struct Args {
    /// Run file; default: the newest
    run: Option<PathBuf>,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// File to write; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    tables: pivot::Tables,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// The complete analysis
    Json,
    /// One row per trial, role and transaction
    Csv,
    /// One row per sample of each trial: sizes of database and log, checkpoints, counts
    Series,
    /// Tables for a page or a pull request
    Markdown,
    /// Call stacks of `run --flame` in folded form, for flame graph tools
    Folded,
}

/// Exports the run.
pub fn run(args: &Args) -> Result<Exit> {
    let file = files::find_run(args.run.as_deref())?;
    if args.tables.any() && !matches!(args.format, Format::Markdown) {
        let what = "--rows, --columns, --filter and --metric make tables: write them with --format markdown";
        return Err(BadInput(what.into()).into());
    }
    let run = RunFile::open(&file)?;
    let info = run.info()?;
    // Before the output file is opened, so that an error in the options leaves it unchanged.
    let tables = if args.tables.any() { Some(args.tables.pivot(&run, &info)?) } else { None };
    if info.stacks.is_empty() && matches!(args.format, Format::Folded) {
        let what = format!(
            "{}: no call stacks are in it: take them with `litelab run --resume {} --flame`",
            file.display(),
            file.display()
        );
        return Err(BadInput(what).into());
    }
    let mut write = |mut out: &mut dyn Write| -> Result<()> {
        match args.format {
            Format::Json => writeln!(out, "{}", export::json::text(&analyse(&run, &info)?, &info)?)?,
            Format::Csv => export::csv::trials(&run, &info, &mut out)?,
            Format::Series => export::series::trials(&run, &info, &mut out)?,
            Format::Folded => export::folded::stacks(&info, &mut out)?,
            Format::Markdown => {
                let document = match &tables {
                    Some((pivot, analysis)) => document::of_pivot(pivot, analysis, &info),
                    None => document::of_run(&analyse(&run, &info)?, &info),
                };
                write!(out, "{}", export::markdown::render(&document))?;
            }
        }
        Ok(out.flush()?)
    };
    match &args.output {
        Some(path) => {
            files::another(path, &file)?;
            files::replace(path, &mut write)?;
        }
        None => write(&mut std::io::stdout().lock())?,
    }
    Ok(Exit::Ok)
}
