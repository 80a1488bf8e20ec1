//! Where runs lie.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use crate::exit::BadInput;

/// Directory of runs and of the databases under test, unless told otherwise.
pub const DIRECTORY: &str = "litelab-runs";

/// A new run's file: `first-look-20260131-123456.db`, and `…-2.db` where that second has a run already.
pub fn new_run(directory: &Path, study: &str) -> PathBuf {
    let stamp: String = litelab_record::now().chars().take(19).filter(char::is_ascii_digit).collect();
    let (day, time) = stamp.split_at_checked(8).unwrap_or((&stamp, ""));
    // A user's study may be named by a path.
    let name: String =
        study.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let stem = format!("{name}-{day}-{time}");
    let mut path = directory.join(format!("{stem}.db"));
    let mut run = 2;
    while path.exists() {
        path = directory.join(format!("{stem}-{run}.db"));
        run += 1;
    }
    path
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
        // By the stem, for `…-2.db` comes before `….db`.
        .max_by(|(a, x), (b, y)| (a, x.file_stem()).cmp(&(b, y.file_stem())));
    newest.map(|(_, path)| path).ok_or_else(|| none(directory).into())
}

fn none(directory: &Path) -> BadInput {
    BadInput(format!("{}: no runs here; name one, or begin with `litelab run`", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_second_have_names_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let runs: Vec<PathBuf> = (0..200)
            .map(|_| {
                let path = new_run(directory.path(), "studies/mine.toml");
                assert!(!path.exists(), "{}: a name that is taken", path.display());
                std::fs::write(&path, "").unwrap();
                path
            })
            .collect();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name(&runs[0]).starts_with("studies-mine-toml-2"), "{}", name(&runs[0]));
        assert!(runs.iter().any(|r| name(r).ends_with("-2.db")), "200 names take less than 200 seconds");
    }

    #[test]
    fn of_two_runs_of_one_moment_the_later_name_is_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let moment = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000);
        for name in ["a-20260131-123456.db", "a-20260131-123456-2.db"] {
            let file = std::fs::File::create(directory.path().join(name)).unwrap();
            file.set_modified(moment).unwrap();
        }
        let newest = find_run(None, directory.path()).unwrap();
        assert_eq!(newest.file_name().unwrap(), "a-20260131-123456-2.db");
    }
}
