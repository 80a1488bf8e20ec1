//! Runners: found by their `runner.toml`, built by their own tools, asked what they can.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use litelab_protocol::{Description, Dialect, DriverDescription, Invocation};
use sha2::{Digest, Sha256};

use crate::error::EngineError;
pub use crate::manifest::{Absent, Manifest, Need, Optional};
use crate::process::{self, Ended};

/// The driver that every runner has to measure itself with; no name that a study means.
const NOOP: &str = "noop";

/// Says what a runner was built from.
const STAMP: &str = ".built";
/// How long a runner may take to say what it can: an interpreter on a slow disk takes some seconds.
const DESCRIBE: Duration = Duration::from_secs(60);

/// A runner: a folder with its manifest, or a part of the command itself.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The folder of `runner.toml`, which its paths are relative to; of a built-in runner, that of the command.
    pub directory: PathBuf,
    /// What it says.
    pub manifest: Manifest,
    /// The command's own program, where this runner is built into it.
    built_in: Option<PathBuf>,
}

/// All runners that were found.
#[derive(Clone, Debug, Default)]
pub struct Runners {
    runners: BTreeMap<String, Runner>,
}

/// A driver and the runner that has it.
#[derive(Clone, Debug)]
pub struct Driver<'a> {
    /// The runner.
    pub runner: &'a Runner,
    /// The driver's name within it.
    pub name: String,
}

impl Runners {
    /// Reads every `runners/*/runner.toml` of a folder.
    ///
    /// # Errors
    /// When one of them cannot be read as a manifest, or two have the same name.
    pub fn find(home: &Path) -> Result<Self, EngineError> {
        let folder = home.join("runners");
        let entries = std::fs::read_dir(&folder).map_err(|e| EngineError::io("list the runners", &folder, &e))?;
        let mut found = Self::default();
        for directory in entries.flatten().map(|e| e.path()) {
            let file = directory.join("runner.toml");
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            found.add(&text, directory, None)?;
        }
        Ok(found)
    }

    /// Adds a runner by the text of its manifest: one in a folder that need not be there yet, or one that is built into
    /// a program, which then is what its command's first word stands for.
    ///
    /// # Errors
    /// When the text is no manifest, or there is a runner of that name.
    pub fn add(&mut self, text: &str, directory: PathBuf, built_in: Option<PathBuf>) -> Result<(), EngineError> {
        let file = directory.join("runner.toml");
        let bad = |what: &str| EngineError::BadInput(format!("{}: {what}", file.display()));
        let manifest: Manifest = toml::from_str(text).map_err(|e| bad(e.message()))?;
        manifest.check().map_err(|e| bad(&e))?;
        let name = manifest.name.clone();
        if self.runners.insert(name.clone(), Runner { directory, manifest, built_in }).is_some() {
            return Err(bad(&format!("two runners are named `{name}`")));
        }
        Ok(())
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Runner> {
        self.runners.values()
    }

    /// What the databases of drivers understand that are not SQLite, by each of their names: what a study is resolved with.
    #[must_use]
    pub fn dialects(&self) -> BTreeMap<String, Dialect> {
        let mut dialects = BTreeMap::new();
        for manifest in self.runners.values().map(|runner| &runner.manifest) {
            for (driver, dialect) in manifest.dialects.iter().filter(|(_, dialect)| !dialect.is_sqlite()) {
                dialects.insert(format!("{}:{driver}", manifest.name), *dialect);
                if !manifest.test_double {
                    dialects.insert(driver.clone(), *dialect);
                }
            }
        }
        dialects
    }

    /// By name.
    ///
    /// # Errors
    /// With the nearest name.
    pub fn get(&self, name: &str) -> Result<&Runner, EngineError> {
        self.runners.get(name).ok_or_else(|| {
            EngineError::BadInput(litelab_model::unknown("runner", name, self.runners.keys().map(String::as_str)))
        })
    }

    /// Finds `driver` or `runner:driver`.
    ///
    /// # Errors
    /// When no runner has it, or several do.
    pub fn driver(&self, name: &str) -> Result<Driver<'_>, EngineError> {
        let has = |r: &Runner, driver: &str| r.manifest.drivers.iter().any(|d| d == driver);
        // A driver's own name may hold a colon (`node:sqlite`), so that is looked for first.
        let having: Vec<&Runner> = self.runners.values().filter(|r| !r.manifest.test_double && has(r, name)).collect();
        if let (true, Some((runner, driver))) = (having.is_empty(), name.split_once(':')) {
            let runner = self.get(runner)?;
            if !has(runner, driver) {
                return Err(EngineError::BadInput(litelab_model::unknown(
                    "driver",
                    driver,
                    runner.manifest.drivers.iter().map(String::as_str),
                )));
            }
            return Ok(Driver { runner, name: driver.to_owned() });
        }
        match having.as_slice() {
            [one] => Ok(Driver { runner: one, name: name.to_owned() }),
            [] if self.runners.contains_key(name) => {
                let drivers = &self.get(name)?.manifest.drivers;
                let drivers: Vec<&str> = drivers.iter().map(String::as_str).filter(|d| *d != NOOP).collect();
                Err(EngineError::BadInput(format!(
                    "`{name}` is a runner: name one of its drivers ({})",
                    drivers.join(", ")
                )))
            }
            [] => {
                let usable = self.runners.values().filter(|r| !r.manifest.test_double);
                let known = usable.flat_map(|r| r.manifest.drivers.iter().map(String::as_str)).filter(|d| *d != NOOP);
                Err(EngineError::BadInput(litelab_model::unknown("driver", name, known)))
            }
            several => {
                let names: Vec<_> = several.iter().map(|r| format!("{}:{name}", r.manifest.name)).collect();
                Err(EngineError::BadInput(format!(
                    "driver `{name}`: several runners have it; write {}",
                    names.join(" or ")
                )))
            }
        }
    }
}

impl Runner {
    /// The command that starts it with a verb.
    #[must_use]
    pub fn command(&self, verb: &str) -> Command {
        // `add` refuses an empty command.
        let mut command = match &self.built_in {
            Some(program) => {
                let mut command = Command::new(program);
                command.args(&self.manifest.command[1..]);
                command
            }
            None => self.absolute(&self.manifest.command),
        };
        command.arg(verb);
        command
    }

    /// The command of the loops written by hand, if it has them.
    #[must_use]
    pub fn handwritten(&self) -> Option<Command> {
        (!self.manifest.handwritten.is_empty()).then(|| self.absolute(&self.manifest.handwritten))
    }

    /// A command with the words that name something in the runner's folder made absolute.
    fn absolute(&self, words: &[String]) -> Command {
        let first = words.first().map(String::as_str).unwrap_or_default();
        let program = if first.contains('/') { self.directory.join(first) } else { PathBuf::from(first) };
        // The runner works in the trial's directory, so a relative place of its own must become an absolute one.
        let program = std::path::absolute(&program).ok().filter(|_| first.contains('/')).unwrap_or(program);
        let mut command = Command::new(program);
        for word in words.iter().skip(1) {
            // Scripts are named relative to the folder, too.
            let inside = self.directory.join(word);
            match std::path::absolute(&inside) {
                Ok(path) if inside.exists() => command.arg(path),
                _ => command.arg(word),
            };
        }
        command
    }

    /// Whether it is a part of the command.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.built_in.is_some()
    }

    /// Whether it has been built, as far as its program tells.
    #[must_use]
    pub fn is_built(&self) -> bool {
        if self.is_built_in() {
            return true;
        }
        self.manifest.command.first().is_some_and(|first| !first.contains('/') || self.directory.join(first).exists())
    }

    /// Tools that are missing, with their remedies.
    #[must_use]
    pub fn missing(&self) -> Vec<&Need> {
        self.manifest.needs.iter().filter(|need| !on_path(&need.tool)).collect()
    }

    /// Whether it has been built from the files that decide that, as they are now.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let built = std::fs::read_to_string(self.directory.join(STAMP)).ok();
        self.is_built() && built.is_some() && built == self.stamp()
    }

    /// Hash of the files it is built from; none where it has none, or one cannot be read.
    fn stamp(&self) -> Option<String> {
        if self.manifest.built_from.is_empty() {
            return None;
        }
        let mut hash = Sha256::new();
        for name in self.manifest.built_from.iter().map(String::as_str).chain(["runner.toml"]) {
            hash.update(std::fs::read(self.directory.join(name)).ok()?);
        }
        Some(litelab_protocol::draw::hex(&hash.finalize()))
    }

    /// Hash of the program that would run: of the files in its folder that its command names, with a script those of its
    /// language below it, and of those that it is built from. Tells builds of one version number apart. None where a file
    /// cannot be read.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        let named = self.manifest.command.iter().map(|word| self.directory.join(word)).filter(|file| file.is_file());
        let mut program: Vec<PathBuf> = match &self.built_in {
            Some(program) => vec![program.clone()],
            None => named.collect(),
        };
        let languages: BTreeSet<OsString> = program.iter().filter_map(|file| Some(file.extension()?.into())).collect();
        sources(&self.directory, &languages, &mut program);
        let built_from = self.manifest.built_from.iter().map(|name| self.directory.join(name));
        let mut hash = Sha256::new();
        for file in program.into_iter().chain(built_from) {
            let mut file = std::fs::File::open(file).ok()?;
            let mut piece = vec![0; 1 << 16];
            loop {
                match std::io::Read::read(&mut file, &mut piece).ok()? {
                    0 => break,
                    n => hash.update(&piece[..n]),
                }
            }
        }
        Some(litelab_protocol::draw::hex(&hash.finalize()))
    }

    /// Builds it with its own tools, one command after the other. `output` is asked for the standard output and error of each.
    ///
    /// # Errors
    /// When a command cannot be started or fails.
    pub fn build(&self, output: &dyn Fn() -> Stdio) -> Result<(), EngineError> {
        let stamp = self.directory.join(STAMP);
        let _stale = std::fs::remove_file(&stamp);
        for words in &self.manifest.build {
            let Some((program, arguments)) = words.split_first() else { continue };
            let line = words.join(" ");
            let status = self
                .absolute(std::slice::from_ref(program))
                .args(arguments)
                .current_dir(&self.directory)
                .stdin(Stdio::null())
                .stdout(output())
                .stderr(output())
                .status()
                .map_err(|e| {
                    EngineError::Failed(format!("runner `{}`: cannot start `{line}`: {e}", self.manifest.name))
                })?;
            if !status.success() {
                return Err(EngineError::Failed(format!(
                    "runner `{}`: `{line}` failed ({status})",
                    self.manifest.name
                )));
            }
        }
        if let Some(hash) = self.stamp() {
            // Without it the next build only does more than it must.
            let _written = std::fs::write(&stamp, hash);
        }
        Ok(())
    }

    /// Asks it what it can.
    ///
    /// # Errors
    /// When it cannot be started, does not answer in time, or speaks another protocol; with the remedy.
    pub fn describe(&self) -> Result<Description, EngineError> {
        Ok(self.look()?.0)
    }

    /// As [`Runner::describe`], and those of its drivers that are not here.
    ///
    /// # Errors
    /// As [`Runner::describe`].
    pub fn look(&self) -> Result<(Description, Vec<Absent>), EngineError> {
        self.look_until(None)
    }

    /// As [`Runner::look`], given up when `stop` becomes true.
    ///
    /// # Errors
    /// As [`Runner::describe`], and [`EngineError::Interrupted`].
    pub fn look_until(&self, stop: Option<&AtomicBool>) -> Result<(Description, Vec<Absent>), EngineError> {
        let name = &self.manifest.name;
        let failed = |what: String| EngineError::Failed(format!("runner `{name}`: {what}"));
        if !self.is_built() {
            let missing = self.missing().first().map(|need| format!("it needs `{}`: {}", need.tool, need.remedy));
            let remedy = missing.unwrap_or_else(|| format!("it is not built: run `litelab runners build {name}`"));
            return Err(failed(remedy));
        }
        let output = process::output(self.command("describe"), DESCRIBE, stop)
            .map_err(|e| failed(format!("it cannot be started ({e}): run `litelab runners build {name}`")))?;
        let output = match output {
            Ended::ByItself(output) => output,
            Ended::Stopped => return Err(EngineError::Interrupted),
            Ended::TooLate => {
                let seconds = DESCRIBE.as_secs();
                return Err(failed(format!("describe did not end within {seconds} s: build it anew, or correct it")));
            }
        };
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("describe failed ({}): {}", output.status, stderr.trim())));
        }
        let description: Description = serde_json::from_slice(&output.stdout)
            .map_err(|e| failed(format!("its answer to describe does not follow the protocol: {e}")))?;
        if description.protocol != litelab_protocol::VERSION {
            return Err(failed(format!(
                "it speaks protocol {}, this is protocol {}: build it anew",
                description.protocol,
                litelab_protocol::VERSION
            )));
        }
        self.manifest.check_dialects(&description).map_err(failed)?;
        let absent = self.manifest.absent(&description, &String::from_utf8_lossy(&output.stderr));
        Ok((description, absent))
    }
}

/// Checks that a driver supports what an arm asks of it.
///
/// # Errors
/// What it does not support, and what it does.
pub fn check_support(driver: &DriverDescription, arm: &litelab_model::Arm) -> Result<(), String> {
    if driver.dialect != arm.dialect {
        return Err(format!(
            "driver `{}` is one of {}, and the plan was made for {}",
            driver.name, driver.dialect, arm.dialect
        ));
    }
    let (access, executor) = (arm.trial.access.kind(), arm.trial.executor);
    if !driver.accesses.iter().any(|a| a == access) {
        return Err(format!(
            "driver `{}` does not have access `{access}` (it has {})",
            driver.name,
            driver.accesses.join(", ")
        ));
    }
    if !driver.executors.contains(&executor) {
        let names: Vec<_> = driver.executors.iter().map(|e| e.name()).collect();
        return Err(format!(
            "driver `{}` does not have executor `{executor}` (it has {})",
            driver.name,
            names.join(", ")
        ));
    }
    let statements = || arm.trial.transactions.iter().flat_map(|t| &t.statements);
    let is_invocation = |s: &litelab_protocol::Statement| matches!(Invocation::parse(&s.sql), Ok(Some(_)));
    if statements().any(is_invocation) && !statements().all(is_invocation) {
        return Err("the workload mixes SQL with `CALL`: a driver takes one or the other".into());
    }
    let mut invoked = arm.trial.transactions.iter().flat_map(|t| &t.statements).map(|s| Invocation::parse(&s.sql));
    match (invoked.find_map(|parsed| parsed.ok().flatten()), &driver.interface) {
        (Some(invocation), Some(interface)) if invocation.interface == *interface => Ok(()),
        (Some(invocation), _) => Err(format!(
            "driver `{}` has no interface `{}`, which the workload is written for",
            driver.name, invocation.interface
        )),
        (None, Some(interface)) => Err(format!(
            "driver `{}` takes no SQL but the operations of interface `{interface}`: use a workload made of them",
            driver.name
        )),
        (None, None) => Ok(()),
    }
}

/// Adds the files below a folder that have one of these extensions, in the order of their paths; not those of packages that
/// tools have put there.
fn sources(folder: &Path, extensions: &BTreeSet<OsString>, found: &mut Vec<PathBuf>) {
    if extensions.is_empty() {
        return;
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort_unstable();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !path.is_symlink() && !name.starts_with('.') && name != "node_modules" {
            sources(&path, extensions, found);
        } else if path.is_file() && path.extension().is_some_and(|extension| extensions.contains(extension)) {
            found.push(path);
        }
    }
}

fn on_path(tool: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(tool).is_file()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_builds_of_one_version_apart() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("runners/made-up");
        std::fs::create_dir_all(&folder).unwrap();
        let manifest = "name = \"made-up\"\nlanguage = \"c\"\ndrivers = [\"one\"]\ncommand = [\"sh\", \"main.sh\"]\n\
                        built_from = [\"other.sh\"]\n";
        std::fs::write(folder.join("runner.toml"), manifest).unwrap();
        let fingerprint = || Runners::find(home.path()).unwrap().get("made-up").unwrap().fingerprint();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("main.sh", "one");
        assert_eq!(fingerprint(), None, "what it is built from is not there");
        write("other.sh", "two");
        let first = fingerprint().unwrap();
        assert_eq!(fingerprint().unwrap(), first);
        write("other.sh", "three");
        let second = fingerprint().unwrap();
        write("main.sh", "four");
        assert!(first != second && fingerprint().unwrap() != second);
        // The shell is the machine's and not the runner's.
        write("unrelated", "five");
        write("main.sh", "one");
        assert_eq!(fingerprint().unwrap(), second);
        // A script is more than the file that is started.
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        write("lib/part.sh", "six");
        let third = fingerprint().unwrap();
        write("lib/part.sh", "seven");
        assert!(third != second && fingerprint().unwrap() != third);
    }
}
