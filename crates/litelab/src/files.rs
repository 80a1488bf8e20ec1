//! Run files: names, lookup, and replacement of files.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use litelab_observe::temporary::Registered;
use litelab_record::RunInfo;
use litelab_report::ReportError;

use crate::exit::BadInput;

/// Default directory of run files and of the databases under test.
pub const DIRECTORY: &str = "litelab-runs";

/// The directory for the databases of a run: the one named, else that of a former run. Default: [`DIRECTORY`].
pub fn directory<'a>(named: Option<&'a Path>, former: Option<&'a Path>) -> &'a Path {
    named.or(former).unwrap_or(Path::new(DIRECTORY))
}

/// The directory of a former run if it exists here; the run may come from another machine.
pub fn present(info: &RunInfo) -> Option<&Path> {
    info.directory.as_deref().filter(|directory| directory.is_dir())
}

/// Creates a directory that the user has named.
pub fn make(directory: &Path) -> Result<(), BadInput> {
    std::fs::create_dir_all(directory).map_err(|e| BadInput(format!("{}: {e}", directory.display())))
}

/// Path of a new run file: `first-look-20260131-123456.db`, or `…-2.db` if the first name is taken.
pub fn new_run(directory: &Path, study: &str) -> PathBuf {
    let stamp: String = litelab_record::now().chars().take(19).filter(char::is_ascii_digit).collect();
    let (day, time) = stamp.split_at_checked(8).unwrap_or((&stamp, ""));
    // A user's study may be named by a path, whose separators do not belong in a file name.
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

/// The run file named on the command line; default: the newest in [`DIRECTORY`].
pub fn find_run(run: Option<&Path>) -> Result<PathBuf> {
    run.map_or_else(|| newest(Path::new(DIRECTORY)), |path| Ok(path.to_path_buf()))
}

/// The newest run file in a directory.
fn newest(directory: &Path) -> Result<PathBuf> {
    let none = || BadInput(format!("{}: no runs here; name one, or begin with `litelab run`", directory.display()));
    let entries = std::fs::read_dir(directory).map_err(|_| none())?;
    let newest = entries
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|x| x == "db"))
        .filter_map(|e| Some((e.metadata().ok()?.modified().unwrap_or(SystemTime::UNIX_EPOCH), e.path())))
        // Compares stems, because `….db` sorts after `…-2.db` with the extension.
        .max_by(|(a, x), (b, y)| (a, x.file_stem()).cmp(&(b, y.file_stem())));
    newest.map(|(_, path)| path).ok_or_else(|| none().into())
}

/// Refuses a path to write that leads to a file that is read.
pub fn another(path: &Path, source: &Path) -> Result<(), BadInput> {
    let whole = |path: &Path| path.canonicalize().ok();
    if whole(path).is_some_and(|path| Some(path) == whole(source)) {
        return Err(BadInput(format!("{}: this is the run file itself; name another with -o", path.display())));
    }
    Ok(())
}

/// Writes a temporary file next to `path` and renames it, so that a failed or interrupted write leaves the old file.
/// A pipe, a terminal or any other non-regular file is written directly.
pub fn replace(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<()> {
    let refused = |e: &dyn std::fmt::Display| BadInput(format!("{}: it cannot be written: {e}", path.display()));
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let old = std::fs::metadata(&whole).ok();
    let named = |error: anyhow::Error| match written(&error) {
        // An error of the file itself; a broken pipe is reported as it is.
        Some(io) if io.kind() != io::ErrorKind::BrokenPipe => refused(&reason(io)).into(),
        _ => error,
    };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut out = File::options().write(true).open(&whole).map(BufWriter::new).map_err(|e| refused(&reason(&e)))?;
        return write(&mut out).and_then(|()| Ok(out.flush()?)).map_err(named);
    }
    let folder = whole.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Default mode of a new file, reduced by the umask.
    let mode = old.as_ref().map_or_else(|| Permissions::from_mode(0o666), Metadata::permissions);
    let file = tempfile::Builder::new().permissions(mode.clone()).tempfile_in(folder);
    let file = file.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => refused(&format_args!("there is no folder {}", folder.display())),
        _ => refused(&reason(&e)),
    })?;
    let registered = Registered::new(file.path());
    let mut out = BufWriter::new(file);
    let done = write(&mut out).and_then(|()| {
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if old.is_some() {
            file.as_file().set_permissions(mode)?;
        }
        file.persist(&whole).map_err(|e| e.error)?;
        Ok(())
    });
    drop(registered);
    done.map_err(named)
}

/// The failed write that caused an error; `None` for any other cause.
pub fn written(error: &anyhow::Error) -> Option<&io::Error> {
    match error.downcast_ref() {
        Some(ReportError::Write(io)) => Some(io),
        _ => error.downcast_ref(),
    }
}

/// The reason of a failed operation, without the name of the temporary file.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full: free some space, or name another file with -o".into(),
        io::ErrorKind::FileTooLarge => {
            "it is larger than the limit on the size of files: raise that (ulimit -f)".into()
        }
        kind => kind.to_string(),
    }
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
        let newest = newest(directory.path()).unwrap();
        assert_eq!(newest.file_name().unwrap(), "a-20260131-123456-2.db");
    }
}
