//! Building runners with their own tools, and the progress display of a build.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use litelab_engine::runner::Runner;
use litelab_engine::{EngineError, Runners};
use litelab_model::{Plan, Variant};

use crate::{installation, interrupt, output, style};

/// File in the runner's folder that receives the output of the build tools.
const LOG: &str = ".build.log";
/// Longest time between two lines of progress where standard error is not a terminal.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Number of lines shown from the end of a failed build's log.
const SHOWN: usize = 15;

/// Builds the runners of a plan that are not built, or whose sources were edited since, and whose tools are installed.
/// The run skips the variants of a runner that cannot be built, and reports the reason.
///
/// # Errors
/// If a variant names a driver that no runner has, or Ctrl-C ended a build.
pub fn for_plan(runners: &Runners, plan: &Plan) -> Result<()> {
    let mut needed: BTreeMap<&str, &Runner> = BTreeMap::new();
    // Without the feature `servers` the run skips every variant on a server, whatever its runner.
    let can_run =
        |variant: &&Variant| variant.skipped.is_none() && (cfg!(feature = "servers") || variant.server.is_none());
    for variant in plan.variants.iter().filter(can_run) {
        let runner = runners.driver(&variant.driver)?.runner;
        if runner.needs_build() && runner.missing().is_empty() {
            needed.insert(&runner.manifest.name, runner);
        }
    }
    if !needed.is_empty() {
        let names: Vec<_> = needed.keys().map(|name| format!("`{name}`")).collect();
        output::log(format_args!(
            "this study needs runners that are to be built: {}; each is built once, and again after an edit",
            names.join(", ")
        ));
        let needed: Vec<&Runner> = needed.into_values().collect();
        all(&needed, false);
    }
    if interrupt::is_asked() {
        return Err(EngineError::Interrupted.into());
    }
    Ok(())
}

/// Builds runners in parallel, except those whose programs lie in one folder: cargo locks that folder. Returns whether
/// no build failed; a runner whose tools are missing is skipped and does not count as a failure.
pub fn all(runners: &[&Runner], force: bool) -> bool {
    let mut lanes: BTreeMap<PathBuf, Vec<&Runner>> = BTreeMap::new();
    for runner in runners {
        let program = runner.manifest.command.first().map_or("", String::as_str);
        let shared = Path::new(program).parent().filter(|folder| folder.starts_with(".."));
        let folder = shared.map_or_else(|| runner.directory.clone(), Path::to_path_buf);
        lanes.entry(folder).or_default().push(runner);
    }
    // Ctrl-C in a terminal signals the build tools directly; after any other signal the end of the grace period ends
    // them.
    let _asked = interrupt::stop();
    let screen = MultiProgress::new();
    let count = lanes.len();
    let build = |lane: &[&Runner]| lane.iter().filter(|runner| !one(runner, force, &screen)).count() == 0;
    std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes.values().map(|lane| scope.spawn(|| build(lane.as_slice()))).collect();
        // Joins every lane, also after one has failed.
        lanes.into_iter().filter_map(|lane| lane.join().ok()).filter(|built| *built).count() == count
    })
}

/// Builds one runner. Returns `true` if it is built, or skipped because tools are missing: a missing toolchain must not
/// fail the command.
fn one(runner: &Runner, force: bool, screen: &MultiProgress) -> bool {
    if interrupt::is_asked() {
        return false;
    }
    let name = &runner.manifest.name;
    if runner.is_built_in() {
        output::log_above(screen, format_args!("runner `{name}` is part of litelab"));
        return true;
    }
    let missing = runner.missing();
    for need in &missing {
        let text = format_args!("runner `{name}` needs `{}`: {}", need.tool, need.remedy);
        output::note_above(screen, style::WARNING, "skipped", text);
    }
    if !missing.is_empty() {
        return true;
    }
    let begun = Instant::now();
    let built = if force || !runner.is_current() { build(runner, force, screen) } else { Ok(false) };
    let is_new = match built {
        Ok(is_new) => is_new,
        Err(e) => {
            let log = runner.directory.join(LOG);
            let text = format_args!("{e:#}; all of its output is in {}", log.display());
            output::note_above(screen, style::ERROR, "error", text);
            tail(&log, SHOWN).iter().for_each(|line| output::log_above(screen, line));
            return false;
        }
    };
    if !is_new {
        output::log_above(screen, format_args!("runner `{name}` is up to date"));
    }
    // A build counts as done only if every driver loads: the tools may succeed without one of them.
    match runner.describe(Some(interrupt::stop())) {
        Err(e) => {
            output::note_above(screen, style::ERROR, "error", e);
            false
        }
        Ok((_, absent)) => {
            for driver in &absent {
                let (style, word) = if driver.optional { (style::WARNING, "skipped") } else { (style::ERROR, "error") };
                output::note_above(screen, style, word, driver);
            }
            let complete = absent.iter().all(|driver| driver.optional);
            if complete && is_new {
                let seconds = begun.elapsed().as_secs_f64();
                output::log_above(screen, format_args!("runner `{name}` is built, in {seconds:.0} s"));
            }
            complete
        }
    }
}

/// Builds with the tools' output in a log file; a terminal shows the last line of the log. Waits while another litelab
/// builds the runner, and returns `false` if nothing is left to do then.
fn build(runner: &Runner, force: bool, screen: &MultiProgress) -> Result<bool> {
    installation::unpack(&runner.directory)?;
    let name = &runner.manifest.name;
    let path = runner.directory.join(LOG);
    let log = File::options().write(true).create(true).truncate(false).open(&path)?;
    if lock(&log, name, screen)? && !force && !runner.needs_build() {
        return Ok(false);
    }
    log.set_len(0)?;
    let output = || log.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
    let (done, ended) = channel();
    let built = std::thread::scope(|scope| {
        let path = &path;
        scope.spawn(move || show(name, path, screen, &ended));
        let built = runner.build(&output);
        drop(done);
        built
    });
    // The tools share the log and with it the lock, and one may leave a process behind.
    log.unlock()?;
    built?;
    Ok(true)
}

/// Locks the log of a build. Returns whether it waited for another litelab.
fn lock(log: &File, name: &str, screen: &MultiProgress) -> Result<bool> {
    let mut waited = false;
    loop {
        match log.try_lock() {
            Ok(()) => return Ok(waited),
            Err(TryLockError::Error(e)) => return Err(e.into()),
            Err(TryLockError::WouldBlock) if interrupt::is_asked() => return Err(EngineError::Interrupted.into()),
            Err(TryLockError::WouldBlock) => {}
        }
        if !std::mem::replace(&mut waited, true) {
            output::log_above(screen, format_args!("waiting for another litelab, which builds runner `{name}`"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Shows that a build is in progress until the sender of the channel is dropped.
fn show(name: &str, log: &Path, screen: &MultiProgress, ended: &std::sync::mpsc::Receiver<()>) {
    let begun = Instant::now();
    if !style::redraws() {
        output::log(format_args!("building runner `{name}`"));
        while ended.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
            output::log(format_args!("building runner `{name}`: {:.0} s", begun.elapsed().as_secs_f64()));
        }
        return;
    }
    let look = ProgressStyle::with_template("building runner `{prefix}` {elapsed} · {wide_msg:.dim}");
    let bar = screen.add(ProgressBar::new_spinner().with_prefix(name.to_owned()));
    if let Ok(look) = look {
        bar.set_style(look);
    }
    while ended.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
        output::message(&bar, &tail(log, 1).pop().unwrap_or_default());
    }
    bar.finish_and_clear();
}

/// The last non-empty lines of a log.
fn tail(path: &Path, lines: usize) -> Vec<String> {
    let mut end = Vec::new();
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let length = file.metadata().map_or(0, |about| about.len());
    let _moved = file.seek(SeekFrom::Start(length.saturating_sub(16 << 10)));
    let _read = file.read_to_end(&mut end);
    let text = String::from_utf8_lossy(&end);
    let all: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Makes a runner with drivers `one` and `noop` whose program describes only `describes`.
    fn made_up(home: &Path, build: &str, describes: &[&str]) -> Runners {
        let folder = home.join("runners/made-up");
        std::fs::create_dir_all(&folder).unwrap();
        let manifest = format!(
            "name = \"made-up\"\nlanguage = \"sh\"\ndrivers = [\"one\", \"noop\"]\nbuild = [[{build}]]\n\
             built_from = [\"r.sh\"]\ncommand = [\"./r.sh\"]\n"
        );
        std::fs::write(folder.join("runner.toml"), manifest).unwrap();
        let driver = |name: &&str| serde_json::json!({ "name": name, "version": "1", "sqlite": null, "sharings": ["one-connection"], "executors": ["threads"] });
        let drivers: Vec<_> = describes.iter().map(driver).collect();
        let description = serde_json::json!({
            "protocol": litelab_protocol::VERSION, "runner": "made-up", "language": "sh", "runtime": "1", "drivers": drivers,
        });
        let script =
            format!("#!/bin/sh\necho 'driver one is left out: no such module' >&2\ncat <<'E'\n{description}\nE\n");
        std::fs::write(folder.join("r.sh"), script).unwrap();
        std::fs::set_permissions(folder.join("r.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        Runners::find(home).unwrap()
    }

    /// Whether a build of such a runner passes.
    fn built(describes: &[&str]) -> bool {
        let home = tempfile::tempdir().unwrap();
        let runners = made_up(home.path(), "\"true\"", describes);
        let runner = runners.get("made-up").unwrap();
        if !describes.contains(&"one") {
            let (_, absent) = runner.describe(None).unwrap();
            assert!(absent[0].to_string().contains("driver `one` of runner `made-up` is not here (no such module)"));
        }
        all(&[runner], true)
    }

    #[test]
    fn a_runner_without_one_of_its_drivers_is_not_built() {
        assert!(built(&["one", "noop"]));
        assert!(!built(&["noop"]));
    }

    #[test]
    fn two_builds_at_the_same_time_are_one() {
        let home = tempfile::tempdir().unwrap();
        let runners =
            made_up(home.path(), "\"sh\", \"-c\", \"echo built; sleep 0.5; echo >> builds\"", &["one", "noop"]);
        let runner = runners.get("made-up").unwrap();
        let both = std::thread::scope(|scope| {
            [(); 2].map(|()| scope.spawn(|| all(&[runner], false))).map(|b| b.join().unwrap())
        });
        assert_eq!(both, [true, true]);
        let folder = home.path().join("runners/made-up");
        assert_eq!(std::fs::read_to_string(folder.join("builds")).unwrap(), "\n");
        assert_eq!(std::fs::read_to_string(folder.join(LOG)).unwrap(), "built\n");
        // Without sources that have changed, only a request repeats it.
        assert!(all(&[runner], false) && all(&[runner], true));
        assert_eq!(std::fs::read_to_string(folder.join("builds")).unwrap(), "\n\n");
    }
}
