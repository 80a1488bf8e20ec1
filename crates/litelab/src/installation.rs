//! Locations of this litelab's runners: one is built into the program, the others are built from sources.
//!
//! A program inside a checkout (`target/release/litelab`) uses the checkout's own `runners/`, so that edits there take
//! effect. Any other program contains the sources and unpacks them into the user's cache when a runner is to be built.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use litelab_engine::Runners;

use crate::exit::BadInput;

/// Archive of the runners' sources, written by `build.rs`.
static SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.tar.gz"));
/// Folder and text of each runner's manifest in the archive.
static MANIFESTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/manifests.rs"));
/// Version of the sources; each version has one folder in the cache.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("LITELAB_SOURCES"));

/// The runners of this installation, built and unbuilt.
///
/// # Errors
/// If the path of the program is unknown, or a manifest of the checkout is invalid.
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

/// Unpacks the sources of the runner in `folder` if they are missing.
///
/// # Errors
/// If the sources cannot be written.
pub fn unpack(folder: &Path) -> Result<()> {
    if folder.join("runner.toml").is_file() {
        return Ok(());
    }
    let home = cache()?;
    let failed = || format!("cannot unpack the runners' sources into {}", home.display());
    unpack_into(&home).with_context(failed)
}

/// Unpacks into a temporary folder and renames it, so that an existing `home` is always complete.
fn unpack_into(home: &Path) -> io::Result<()> {
    let parent = home.parent().unwrap_or(home);
    std::fs::create_dir_all(parent)?;
    let folder = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(parent)?;
    tar::Archive::new(GzDecoder::new(SOURCES)).unpack(folder.path())?;
    match std::fs::rename(folder.path(), home) {
        // Another process has unpacked the same version first.
        Err(_) if home.join("Cargo.toml").is_file() => Ok(()),
        renamed => renamed,
    }
}

/// The checkout that contains the program in its `target` folder. A program that was copied elsewhere must not use the
/// `runners` of the folder it lies in or starts from, because litelab would execute them.
fn checkout(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let is_one = |folder: &&Path| {
        program.starts_with(folder.join("target"))
            && folder.join("crates/runner/runner.toml").is_file()
            && folder.join("runners").is_dir()
    };
    // An unpacked cache has the layout of a checkout and runners built in its `target`, but never the command itself.
    program.ancestors().find(is_one).map(Path::to_path_buf)
}

/// The cache folder of this version's sources.
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
