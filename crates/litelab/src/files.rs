//! Where runs lie.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use crate::exit::BadInput;

/// Directory of runs and of the databases under test, unless told otherwise.
pub const DIRECTORY: &str = "litelab-runs";

/// A new run's file: `first-look-20260131-123456.db`.
pub fn new_run(directory: &Path, study: &str) -> PathBuf {
    let stamp: String = litelab_engine::record::now().chars().take(19).filter(char::is_ascii_digit).collect();
    let (day, time) = stamp.split_at_checked(8).unwrap_or((&stamp, ""));
    // A user's study may be named by a path.
    let name: String =
        study.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    directory.join(format!("{name}-{day}-{time}.db"))
}

/// The run named, or the newest one in the directory.
pub fn find_run(run: Option<&Path>, directory: &Path) -> Result<PathBuf> {
    if let Some(path) = run {
        return Ok(path.to_path_buf());
    }
    let entries = std::fs::read_dir(directory).map_err(|_| none(directory))?;
    let newest = entries
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|x| x == "db"))
        .filter_map(|e| Some((e.metadata().ok()?.modified().unwrap_or(SystemTime::UNIX_EPOCH), e.path())))
        .max();
    newest.map(|(_, path)| path).ok_or_else(|| none(directory).into())
}

fn none(directory: &Path) -> BadInput {
    BadInput(format!("{}: no runs here; name one, or begin with `litelab run`", directory.display()))
}
