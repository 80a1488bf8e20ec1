//! Where this litelab's runners are: one is built into the program, the others are built from sources.
//!
//! A program that lies in a checkout (`target/release/litelab`) uses the checkout's own `runners/`, so that a change there
//! takes effect. Any other carries the sources with it, and unpacks them into the user's cache when a runner is to be built.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use litelab_engine::Runners;

use crate::exit::BadInput;

/// The sources of all runners, made by `build.rs`.
static SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.tar.gz"));
/// Folder and text of each runner's manifest among them.
static MANIFESTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/manifests.rs"));
/// Version of the sources: a folder of the cache holds one.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("LITELAB_SOURCES"));

/// The runners of this installation, built or not.
///
/// # Errors
/// When the program cannot find itself, or a manifest of the checkout is wrong.
pub fn runners() -> Result<Runners> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let (home, mut runners) = match checkout(&program) {
        Some(home) => (home.clone(), Runners::find(&home)?),
        None => {
            let home = cache()?;
            let mut runners = Runners::default();
            for (folder, text) in MANIFESTS {
                runners.add(text, home.join(folder), None)?;
            }
            (home, runners)
        }
    };
    runners.add(litelab_runner::MANIFEST, home.join("crates/runner"), Some(program))?;
    Ok(runners)
}

/// Makes sure that the sources of a runner are there, whose folder this is.
///
/// # Errors
/// When they cannot be written.
pub fn unpack(folder: &Path) -> Result<()> {
    if folder.join("runner.toml").is_file() {
        return Ok(());
    }
    let home = cache()?;
    let failed = || format!("cannot unpack the runners' sources into {}", home.display());
    unpack_into(&home).with_context(failed)
}

/// Unpacks beside the folder and renames, so that one that is there is whole.
fn unpack_into(home: &Path) -> io::Result<()> {
    let parent = home.parent().unwrap_or(home);
    std::fs::create_dir_all(parent)?;
    let folder = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(parent)?;
    tar::Archive::new(GzDecoder::new(SOURCES)).unpack(folder.path())?;
    match std::fs::rename(folder.path(), home) {
        // Another litelab was quicker.
        Err(_) if home.join("Cargo.toml").is_file() => Ok(()),
        renamed => renamed,
    }
}

/// The checkout that the program was built in: it lies in the `target` of the folder. A copy of the program in any other
/// folder, or started from one, does not use what that folder has as `runners`, for it would execute it.
fn checkout(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let is_one = |folder: &&Path| {
        program.starts_with(folder.join("target"))
            && folder.join("crates/runner/runner.toml").is_file()
            && folder.join("runners").is_dir()
    };
    // What was unpacked looks like one, and its runners are built below it; the command never is.
    program.ancestors().find(is_one).map(Path::to_path_buf)
}

/// The folder of this version's sources in the user's cache.
fn cache() -> Result<PathBuf> {
    let own = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = own.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let folder = folder.ok_or_else(|| BadInput("no folder to build runners in: set XDG_CACHE_HOME or HOME".into()))?;
    Ok(folder.join("litelab").join(VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_that_the_program_was_built_in_is_its_checkout() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for place in ["crates/runner", "runners", "target/release", "bin"] {
            std::fs::create_dir_all(home.join(place)).unwrap();
        }
        std::fs::write(home.join("crates/runner/runner.toml"), "").unwrap();
        for (program, found) in [("target/release/litelab", true), ("litelab", false), ("bin/litelab", false)] {
            std::fs::write(home.join(program), "").unwrap();
            assert_eq!(checkout(&home.join(program)), found.then(|| home.clone()), "{program}");
        }
    }

    #[test]
    fn the_sources_build_every_runner_and_hold_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("sources");
        unpack_into(&home).unwrap();
        unpack_into(&home).expect("a second time is no error");
        assert!(checkout(&home.join("target/x")).is_none(), "a program that is not there");
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (runner, text) in MANIFESTS {
            assert_eq!(std::fs::read_to_string(home.join(runner).join("runner.toml")).unwrap(), *text);
        }
        assert_eq!(
            MANIFESTS.len(),
            std::fs::read_dir(here.join("runners"))
                .unwrap()
                .flatten()
                .filter(|e| e.path().join("runner.toml").is_file())
                .count()
        );
        let unpacked =
            std::process::Command::new("find").arg(".").args(["-type", "f"]).current_dir(&home).output().unwrap();
        let tracked = std::process::Command::new("git").arg("ls-files").current_dir(&here).output().unwrap();
        let tracked = String::from_utf8(tracked.stdout).unwrap();
        let tracked: std::collections::BTreeSet<_> = tracked.lines().collect();
        let foreign: Vec<_> = std::str::from_utf8(&unpacked.stdout)
            .unwrap()
            .lines()
            .map(|file| file.trim_start_matches("./"))
            .filter(|file| !tracked.is_empty() && !tracked.contains(file))
            .collect();
        assert_eq!(foreign, Vec::<&str>::new(), "packed, and not part of the project");
    }
}
