//! Building runners with their own tools, and what is shown meanwhile.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use litelab_engine::runner::Runner;
use litelab_engine::{EngineError, Runners};
use litelab_model::{Arm, Plan};

use crate::{installation, interrupt, style};

/// What the tools print goes there, in the runner's folder.
const LOG: &str = ".build.log";
/// Off a terminal a line at least this often.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Lines of a failed build's log that are shown.
const SHOWN: usize = 15;

/// Builds the runners of a plan that are not built yet and whose tools are here. The arms of one that cannot be built are
/// skipped by the run, with the reason.
///
/// # Errors
/// When an arm names a driver that no runner has, or Ctrl-C has ended a build.
pub fn for_plan(runners: &Runners, plan: &Plan) -> Result<()> {
    let mut needed: BTreeMap<&str, &Runner> = BTreeMap::new();
    // An arm on a server is skipped where this litelab has none, whatever its runner.
    let can_run = |arm: &&Arm| arm.skipped.is_none() && (cfg!(feature = "servers") || arm.server.is_none());
    for arm in plan.arms.iter().filter(can_run) {
        let runner = runners.driver(&arm.driver)?.runner;
        if !runner.is_built() && runner.missing().is_empty() {
            needed.insert(&runner.manifest.name, runner);
        }
    }
    if !needed.is_empty() {
        let names: Vec<_> = needed.keys().map(|name| format!("`{name}`")).collect();
        anstream::eprintln!(
            "this study needs runners that are not built yet: {}; each is built once",
            names.join(", ")
        );
        let needed: Vec<&Runner> = needed.into_values().collect();
        all(&needed, false);
    }
    if interrupt::is_asked() {
        return Err(EngineError::Interrupted.into());
    }
    Ok(())
}

/// Builds runners at the same time, but for those whose programs are built into one folder: cargo locks it. Whether none
/// failed; one whose tools are missing is skipped.
pub fn all(runners: &[&Runner], force: bool) -> bool {
    let mut lanes: BTreeMap<PathBuf, Vec<&Runner>> = BTreeMap::new();
    for runner in runners {
        let program = runner.manifest.command.first().map_or("", String::as_str);
        let shared = Path::new(program).parent().filter(|folder| folder.starts_with(".."));
        let folder = shared.map_or_else(|| runner.directory.clone(), Path::to_path_buf);
        lanes.entry(folder).or_default().push(runner);
    }
    // The tools of a build are told by the terminal, and the others by their time.
    let _asked = interrupt::stop();
    let screen = MultiProgress::new();
    let count = lanes.len();
    let build = |lane: &[&Runner]| lane.iter().filter(|runner| !one(runner, force, &screen)).count() == 0;
    std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes.values().map(|lane| scope.spawn(|| build(lane.as_slice()))).collect();
        // All are waited for, whatever the first has come to.
        lanes.into_iter().filter_map(|lane| lane.join().ok()).filter(|built| *built).count() == count
    })
}

/// Whether it is built, or skipped: one that cannot be built must not keep the others from it.
fn one(runner: &Runner, force: bool, screen: &MultiProgress) -> bool {
    let name = &runner.manifest.name;
    let say = |line: String| screen.suspend(|| anstream::eprintln!("{line}"));
    if runner.is_built_in() {
        say(format!("runner `{name}` is part of litelab"));
        return true;
    }
    let missing = runner.missing();
    for need in &missing {
        let style = style::WARNING;
        say(format!("{style}skipped:{style:#} runner `{name}` needs `{}`: {}", need.tool, need.remedy));
    }
    if !missing.is_empty() {
        return true;
    }
    if runner.is_current() && !force {
        say(format!("runner `{name}` is up to date"));
    } else {
        let begun = Instant::now();
        if let Err(e) = build(runner, screen) {
            let log = runner.directory.join(LOG);
            say(format!("{}error:{} {e:#}; all of its output is in {}", style::ERROR, style::RESET, log.display()));
            say(tail(&log, SHOWN).join("\n"));
            return false;
        }
        say(format!("runner `{name}` is built, in {:.0} s", begun.elapsed().as_secs_f64()));
    }
    // Which of its optional drivers it came out without. Only those that have any are asked: some take a second.
    if !runner.manifest.optional.is_empty() {
        for absent in runner.look_until(Some(interrupt::stop())).into_iter().flat_map(|(_, absent)| absent) {
            say(format!("{}skipped:{} {absent}", style::WARNING, style::RESET));
        }
    }
    true
}

/// Builds with the tools' output in a log, whose last line is shown on a terminal.
fn build(runner: &Runner, screen: &MultiProgress) -> Result<()> {
    installation::unpack(&runner.directory)?;
    let name = &runner.manifest.name;
    let path = runner.directory.join(LOG);
    let log = File::create(&path)?;
    let output = || log.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
    let (done, ended) = channel();
    let built = std::thread::scope(|scope| {
        let path = &path;
        scope.spawn(move || show(name, path, screen, &ended));
        let built = runner.build(&output);
        drop(done);
        built
    });
    Ok(built?)
}

/// Shows that a build goes on, until the other end of the channel is gone.
fn show(name: &str, log: &Path, screen: &MultiProgress, ended: &std::sync::mpsc::Receiver<()>) {
    let begun = Instant::now();
    if !style::redraws() {
        anstream::eprintln!("building runner `{name}`");
        while ended.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
            anstream::eprintln!("building runner `{name}`: {:.0} s", begun.elapsed().as_secs_f64());
        }
        return;
    }
    let look = ProgressStyle::with_template("building runner `{prefix}` {elapsed} · {wide_msg:.dim}");
    let bar = screen.add(ProgressBar::new_spinner().with_prefix(name.to_owned()));
    if let Ok(look) = look {
        bar.set_style(look);
    }
    while ended.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
        bar.set_message(tail(log, 1).pop().unwrap_or_default());
    }
    bar.finish_and_clear();
}

/// The last lines of a log that hold anything.
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
