//! Execution of a run with progress on the screen, shared by `run`, `repeat` and the re-run of `compare`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use litelab_engine::run::Ended;
use litelab_engine::{Run, RunOptions, Urls};
use litelab_record::RunFile;

use crate::exit::BadInput;
use crate::progress::Progress;
use crate::{files, interrupt, output, style};

/// Directory, run file and servers of a run.
#[derive(clap::Args)]
pub struct RunFiles {
    /// Directory for the databases; its disk is the one measured. Default: that of the run resumed or repeated, else
    /// `litelab-runs`
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Run file to write; default: `litelab-runs/STUDY-DATE-TIME.db`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use a server that already runs instead of starting one: postgres=URL, mysql=URL, galera=URL
    #[arg(long = "url", value_name = "SERVER=URL")]
    urls: Vec<String>,
    /// Skip the measurement of the harness's own cost
    #[arg(long)]
    no_calibration: bool,
    /// After the last round, run every variant once more under `perf`; the report then has a flame graph of its CPU
    /// time
    #[arg(long)]
    pub flame: bool,
}

impl RunFiles {
    /// Options of a run that writes to `file`; default directory: that of the former run.
    ///
    /// # Errors
    /// If a `--url` is malformed.
    pub fn options(&self, file: PathBuf, former: Option<&Path>) -> Result<RunOptions> {
        let (urls, calibrate, flame) = (self.urls()?, !self.no_calibration, self.flame);
        Ok(RunOptions { urls, calibrate, flame, ..RunOptions::new(file, self.directory(former)) })
    }

    /// Options that a resumed run needs again. A URL may contain a password.
    pub fn again(&self) -> String {
        let names = self.urls.iter().filter_map(|url| url.split_once('='));
        let urls = names.map(|(name, _)| format!(" --url {name}=URL"));
        self.flame.then(|| " --flame".to_owned()).into_iter().chain(urls).collect()
    }

    /// Options for resuming the run in `file`.
    ///
    /// # Errors
    /// If `file` is not a run file, or a `--url` is malformed.
    pub fn resume(&self, file: PathBuf) -> Result<RunOptions> {
        let former = RunFile::open(&file)?.directory()?;
        self.options(file, former.as_deref())
    }

    /// The directory for the databases: `--dir`, else that of the former run.
    pub fn directory(&self, former: Option<&Path>) -> PathBuf {
        files::directory(self.dir.as_deref(), former).to_path_buf()
    }

    /// The servers given by `--url`.
    ///
    /// # Errors
    /// If a url is malformed.
    pub fn urls(&self) -> Result<Urls> {
        urls(&self.urls)
    }

    /// Path of the new run file; creates its folder.
    pub fn file(&self, name: &str) -> Result<PathBuf> {
        let file = self.output.clone().unwrap_or_else(|| files::new_run(Path::new(files::DIRECTORY), name));
        if let Some(parent) = file.parent().filter(|p| !p.as_os_str().is_empty()) {
            files::make(parent)?;
        }
        Ok(file)
    }
}

/// Parses the values of `--url`.
///
/// # Errors
/// If a url is malformed.
pub fn urls(given: &[String]) -> Result<Urls> {
    let mut urls = Urls::default();
    for text in given {
        urls.add(text).map_err(|e| BadInput(format!("--url: {e}")))?;
    }
    Ok(urls)
}

/// Executes the remaining rounds of a run with progress on the screen.
pub fn carry_out(run: Run<'_>) -> Result<Ended> {
    let mut progress = Progress::new();
    let ended = run.execute(&mut |event| progress.on(&event));
    progress.finish();
    interrupt::over();
    Ok(ended?)
}

/// Prints the command that resumes an interrupted run.
pub fn say_resume(rounds: u32, command: &str) {
    let text = format_args!("{rounds} rounds are in the run file; go on with `{command}`");
    output::note(style::WARNING, "interrupted", text);
}
