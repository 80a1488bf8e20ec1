//! A run carried out with its progress on the screen: what `run`, `repeat` and the re-run of `compare` share.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_engine::run::Ended;
use litelab_engine::trial::Patience;
use litelab_engine::{Run, RunOptions, Urls};
use litelab_record::RunFile;

use crate::exit::BadInput;
use crate::progress::Progress;
use crate::{files, interrupt, output, style};

/// Where a run takes place and what it leaves.
#[derive(clap::Args)]
pub struct Place {
    /// Directory for the databases: its disk is what is measured; `litelab-runs`, or that of the run that is gone on with or
    /// repeated
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The run file; default: `litelab-runs/STUDY-DATE-TIME.db`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use a server you have in place of one that is started for the run: postgres=URL, mysql=URL, galera=URL
    #[arg(long = "url", value_name = "SERVER=URL")]
    urls: Vec<String>,
    /// Do not measure the harness's own cost first
    #[arg(long)]
    no_calibration: bool,
    /// Run every arm once more at the end under `perf`, for a flame graph of its CPU time in the report
    #[arg(long)]
    pub flame: bool,
}

impl Place {
    /// In the usual folder, without measuring the harness first.
    pub fn brief() -> Self {
        Self { dir: None, output: None, urls: Vec::new(), no_calibration: true, flame: false }
    }

    /// Of a run into this file.
    ///
    /// # Errors
    /// A url that is none.
    pub fn options(&self, file: PathBuf) -> Result<RunOptions> {
        self.options_after(file, None)
    }

    /// Of a run into this file, in the directory of a former run where none was named.
    ///
    /// # Errors
    /// A url that is none.
    pub fn options_after(&self, file: PathBuf, former: Option<&Path>) -> Result<RunOptions> {
        Ok(RunOptions {
            file,
            directory: self.directory(former),
            urls: self.urls()?,
            patience: Patience::default(),
            calibrate: !self.no_calibration,
            flame: self.flame,
        })
    }

    /// Of a run that is gone on with.
    ///
    /// # Errors
    /// A file that is no run, and a url that is none.
    pub fn resume(&self, file: PathBuf) -> Result<RunOptions> {
        let former = RunFile::open(&file)?.directory()?;
        self.options_after(file, former.as_deref())
    }

    /// The directory for the databases: the one named, else that of a former run.
    pub fn directory(&self, former: Option<&Path>) -> PathBuf {
        files::directory(self.dir.as_deref(), former).to_path_buf()
    }

    /// The servers that the user has.
    ///
    /// # Errors
    /// A url that is none.
    pub fn urls(&self) -> Result<Urls> {
        urls(&self.urls)
    }

    /// The new run's file; its folder is made.
    pub fn file(&self, name: &str) -> Result<PathBuf> {
        let file = self.output.clone().unwrap_or_else(|| files::new_run(Path::new(files::DIRECTORY), name));
        if let Some(parent) = file.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|e| BadInput(format!("{}: {e}", parent.display())))?;
        }
        Ok(file)
    }
}

/// The servers that the user has, as they were given on the command line.
///
/// # Errors
/// A url that is none.
pub fn urls(given: &[String]) -> Result<Urls> {
    let mut urls = Urls::default();
    for text in given {
        urls.add(text).map_err(|e| BadInput(format!("--url: {e}")))?;
    }
    Ok(urls)
}

/// Runs what is left of a run.
pub fn carry_out(run: Run<'_>) -> Result<Ended> {
    let mut progress = Progress::new();
    let ended = run.execute(&mut |event| progress.on(&event));
    progress.finish();
    interrupt::over();
    Ok(ended?)
}

/// Says how an interrupted run goes on.
pub fn say_resume(blocks: u32, command: &str) {
    let text = format_args!("{blocks} blocks are in the run file; go on with `{command}`");
    output::note(style::WARNING, "interrupted", text);
}
