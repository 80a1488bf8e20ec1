//! Runners: lookup by `runner.toml`, build with their own tools, and query of their capabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use litelab_protocol::{Description, Dialect, DriverDescription, Inspect, Inspection};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::compile::operations;
use crate::error::EngineError;
pub use crate::manifest::{Absent, Manifest, Need, Optional};
use crate::process::{self, Ended};

/// Driver of every runner that measures the runner's own cost; error messages do not suggest it.
pub const NOOP: &str = "noop";

/// File that holds the hash of a runner's build inputs.
const STAMP: &str = ".built";
/// Extensions of the files that compilers read.
const COMPILED: [&str; 5] = ["c", "go", "h", "rs", "toml"];
/// Time limit of `describe` and `inspect`: an interpreter on a slow disk takes several seconds.
const ANSWER: Duration = Duration::from_secs(60);

/// A runner: a folder with a manifest, or a part of the litelab program.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Folder of `runner.toml`, base of its relative paths; for a built-in runner, its folder in the checkout or cache.
    pub directory: PathBuf,
    /// Content of `runner.toml`.
    pub manifest: Manifest,
    /// Path of the litelab program, if this runner is built into it.
    built_in: Option<PathBuf>,
}

/// The runners found, by name.
#[derive(Clone, Debug, Default)]
pub struct Runners {
    runners: BTreeMap<String, Runner>,
}

/// A driver and the runner that has it.
#[derive(Clone, Debug)]
pub struct Driver<'a> {
    /// Runner that contains the driver.
    pub runner: &'a Runner,
    /// Name of the driver within the runner.
    pub name: String,
}

impl Runners {
    /// Reads every `runners/*/runner.toml` of a folder.
    ///
    /// # Errors
    /// If a manifest is invalid, or two runners have the same name.
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

    /// Adds a runner by the text of its manifest. Its folder need not exist yet. `built_in` is the program that
    /// contains the runner and replaces the first word of its command.
    ///
    /// # Errors
    /// If the manifest is invalid, or a runner of that name exists.
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

    /// Iterates over the runners, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Runner> {
        self.runners.values()
    }

    /// Dialects of all drivers whose database is not SQLite, by every name of the driver; input of `resolve`.
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

    /// The runner with this name.
    ///
    /// # Errors
    /// If there is none; the message suggests the nearest name.
    pub fn get(&self, name: &str) -> Result<&Runner, EngineError> {
        self.runners.get(name).ok_or_else(|| {
            EngineError::BadInput(litelab_model::unknown("runner", name, self.runners.keys().map(String::as_str)))
        })
    }

    /// The shortest name by which [`Runners::driver`] finds a driver of this runner.
    #[must_use]
    pub fn shortest(&self, runner: &Runner, driver: &str) -> String {
        match self.driver(driver) {
            Ok(found) if found.runner.manifest.name == runner.manifest.name => driver.to_owned(),
            _ => format!("{}:{driver}", runner.manifest.name),
        }
    }

    /// Finds a driver by `driver` or `runner:driver`.
    ///
    /// # Errors
    /// If no runner has the driver, or several do.
    pub fn driver(&self, name: &str) -> Result<Driver<'_>, EngineError> {
        let has = |r: &Runner, driver: &str| r.manifest.drivers.iter().any(|d| d == driver);
        // A driver's name may contain a colon (`node:sqlite`), so the complete name is tried first.
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
    /// Command that starts the runner with a verb.
    #[must_use]
    pub fn command(&self, verb: &str) -> Command {
        // `Manifest::check`, called by `add`, refuses an empty command.
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

    /// Command of the handwritten loops; `None` if the runner has none.
    #[must_use]
    pub fn handwritten(&self) -> Option<Command> {
        (!self.manifest.handwritten.is_empty()).then(|| self.absolute(&self.manifest.handwritten))
    }

    /// A command whose words that name a file in the runner's folder are made absolute.
    fn absolute(&self, words: &[String]) -> Command {
        let first = words.first().map(String::as_str).unwrap_or_default();
        let program = if first.contains('/') { self.directory.join(first) } else { PathBuf::from(first) };
        // The runner's working directory is that of the trial, so a relative path must become absolute.
        let program = std::path::absolute(&program).ok().filter(|_| first.contains('/')).unwrap_or(program);
        let mut command = Command::new(program);
        for word in words.iter().skip(1) {
            // Scripts are relative to the runner's folder too.
            let inside = self.directory.join(word);
            match std::path::absolute(&inside) {
                Ok(path) if inside.exists() => command.arg(path),
                _ => command.arg(word),
            };
        }
        command
    }

    /// Whether the runner is part of the litelab program.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.built_in.is_some()
    }

    /// Whether the runner's program exists; `true` for a program in PATH.
    #[must_use]
    pub fn is_built(&self) -> bool {
        if self.is_built_in() {
            return true;
        }
        self.manifest.command.first().is_some_and(|first| !first.contains('/') || self.directory.join(first).exists())
    }

    /// Whether the runner is to be built before it runs: it is not built, or a source of it was edited since. Sources are
    /// the files in `built_from`, or else those of a compiler in the runner's folder.
    #[must_use]
    pub fn needs_build(&self) -> bool {
        if !self.is_built() {
            return true;
        }
        if self.is_built_in() {
            return false;
        }
        if !self.manifest.built_from.is_empty() {
            return self.stamp_of_build().is_some_and(|built| Some(built) != self.stamp());
        }
        let changed = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
        let Some(program) = self.manifest.command.first().filter(|first| first.contains('/')) else { return false };
        let Some(built) = changed(&self.directory.join(program)) else { return false };
        let mut files = Vec::new();
        sources(&self.directory, &COMPILED.map(OsString::from).into(), &mut files);
        files.iter().filter_map(|file| changed(file)).any(|edited| edited > built)
    }

    /// Tools that the build needs and PATH lacks.
    #[must_use]
    pub fn missing(&self) -> Vec<&Need> {
        self.manifest.needs.iter().filter(|need| !on_path(&need.tool)).collect()
    }

    /// Whether the runner has been built from the current content of `built_from`.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.is_built() && self.stamp_of_build().is_some_and(|built| Some(built) == self.stamp())
    }

    /// The stamp that the last build left.
    fn stamp_of_build(&self) -> Option<String> {
        std::fs::read_to_string(self.directory.join(STAMP)).ok()
    }

    /// Hash of the files in `built_from`; `None` if there are none, or one cannot be read.
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

    /// Hash that identifies a build, also among builds of one version: covers the files in the runner's folder that its
    /// command names, all scripts of the same language below it, and the files in `built_from`. `None` if a file cannot
    /// be read.
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

    /// Executes the build commands in order. `output` supplies standard output and standard error of each.
    ///
    /// # Errors
    /// If a command cannot be started or fails.
    pub fn build(&self, output: &dyn Fn() -> Stdio) -> Result<(), EngineError> {
        let stamp = self.directory.join(STAMP);
        if self.manifest.built_from.is_empty() {
            let _stale = std::fs::remove_file(&stamp);
        } else {
            // No hash: what a build that did not end leaves is not taken for a runner.
            let _written = std::fs::write(&stamp, "unfinished");
        }
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
            // Without the stamp the next build only repeats work.
            let _written = std::fs::write(&stamp, hash);
        }
        Ok(())
    }

    /// Queries the runner's capabilities. Returns them and the drivers that are missing.
    ///
    /// # Errors
    /// If the runner cannot be started, exceeds the time limit, or uses another protocol version, with the remedy; and
    /// [`EngineError::Interrupted`] when `stop` is set.
    pub fn describe(&self, stop: Option<&AtomicBool>) -> Result<(Description, Vec<Absent>), EngineError> {
        let (description, stderr): (Description, String) = self.ask("describe", Vec::new(), stop)?;
        if description.protocol != litelab_protocol::VERSION {
            return Err(self.failed(&format!(
                "it speaks protocol {}, this is protocol {}: build it anew",
                description.protocol,
                litelab_protocol::VERSION
            )));
        }
        self.manifest.check_dialects(&description).map_err(|e| self.failed(&e))?;
        let absent = self.manifest.absent(&description, &stderr);
        Ok((description, absent))
    }

    /// Opens connections through a driver and reads their settings.
    ///
    /// # Errors
    /// If the runner cannot be started, exceeds the time limit, or cannot open the connections; with its standard error.
    pub fn inspect(&self, request: &Inspect) -> Result<Inspection, EngineError> {
        let mut line = serde_json::to_vec(request).map_err(|e| self.failed(&e.to_string()))?;
        line.push(b'\n');
        Ok(self.ask("inspect", line, None)?.0)
    }

    /// The answer to a verb, and standard error.
    fn ask<A: DeserializeOwned>(
        &self,
        verb: &str,
        input: Vec<u8>,
        stop: Option<&AtomicBool>,
    ) -> Result<(A, String), EngineError> {
        let name = &self.manifest.name;
        if !self.is_built() {
            let missing = self.missing().first().map(|need| format!("it needs `{}`: {}", need.tool, need.remedy));
            let remedy = missing.unwrap_or_else(|| format!("it is not built: run `litelab runners build {name}`"));
            return Err(self.failed(&remedy));
        }
        let output = process::output(self.command(verb), input, ANSWER, stop)
            .map_err(|e| self.failed(&format!("it cannot be started ({e}): run `litelab runners build {name}`")))?;
        let output = match output {
            Ended::ByItself(output) => output,
            Ended::Stopped => return Err(EngineError::Interrupted),
            Ended::TooLate => {
                let seconds = ANSWER.as_secs();
                return Err(
                    self.failed(&format!("{verb} did not end within {seconds} s: build it anew, or correct it"))
                );
            }
        };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(self.failed(&format!("{verb} failed ({}): {}", output.status, stderr.trim())));
        }
        let answer = serde_json::from_slice(&output.stdout)
            .map_err(|e| self.failed(&format!("its answer to {verb} does not follow the protocol: {e}")))?;
        Ok((answer, stderr))
    }

    fn failed(&self, what: &str) -> EngineError {
        EngineError::Failed(format!("runner `{}`: {what}", self.manifest.name))
    }
}

/// Checks that a driver supports all requirements of a variant. Sets `writes` of transactions that invoke operations of
/// the driver's interface.
///
/// # Errors
/// The first unsupported requirement, with the supported alternatives.
pub fn check_support(driver: &DriverDescription, variant: &mut litelab_model::Variant) -> Result<(), String> {
    if driver.dialect != variant.dialect {
        return Err(format!(
            "driver `{}` is one of {}, and the plan was made for {}",
            driver.name, driver.dialect, variant.dialect
        ));
    }
    let (sharing, executor) = (variant.trial.sharing.kind(), variant.trial.executor);
    if !driver.sharings.iter().any(|a| a == sharing) {
        return Err(format!(
            "driver `{}` does not have sharing `{sharing}` (it has {})",
            driver.name,
            driver.sharings.join(", ")
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
    operations(driver, variant)
}

/// Adds the files below a folder that have one of the extensions, sorted by path, except those of packages installed by
/// tools.
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
    fn an_inspection_is_the_answer_or_the_standard_error_of_the_runner() {
        let home = tempfile::tempdir().unwrap();
        let manifest = "name = \"made-up\"\nlanguage = \"c\"\ndrivers = [\"one\"]\ncommand = [\"sh\", \"main.sh\"]\n";
        let mut runners = Runners::default();
        runners.add(manifest, home.path().into(), None).unwrap();
        let script = "read -r line; case $1$line in inspect*the-name*) echo '{\"connections\":[],\"upgrade\":\"fails\"}';;\n\
                      *) echo unable to open >&2; exit 1;; esac\n";
        std::fs::write(home.path().join("main.sh"), script).unwrap();
        let mut request = Inspect {
            protocol: litelab_protocol::VERSION,
            driver: "one".into(),
            database: String::new(),
            connections: 2,
            options: BTreeMap::new(),
            settings: Vec::new(),
            read_back: Vec::new(),
            dsn: Some("the-name".into()),
        };
        let runner = runners.get("made-up").unwrap();
        assert_eq!(runner.inspect(&request).unwrap().upgrade, Some(litelab_protocol::Upgrade::Fails));
        request.dsn = None;
        let error = runner.inspect(&request).unwrap_err().to_string();
        assert!(error.contains("`made-up`: inspect failed") && error.contains("unable to open"), "{error}");
    }

    #[test]
    fn a_runner_is_built_again_after_an_edit_of_its_sources() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("runners/made-up");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str, age: u64| {
            std::fs::write(folder.join(name), text).unwrap();
            let file = std::fs::File::options().append(true).open(folder.join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
        };
        let manifest = "name = \"made-up\"\nlanguage = \"go\"\ndrivers = [\"one\"]\ncommand = [\"./program\"]\n";
        write("runner.toml", manifest, 30);
        write("main.go", "", 30);
        let needs_build = || Runners::find(home.path()).unwrap().get("made-up").unwrap().needs_build();
        assert!(needs_build(), "there is no program");
        write("program", "", 20);
        assert!(!needs_build());
        write("notes.md", "", 10);
        assert!(!needs_build(), "no compiler reads it");
        write("main.go", "", 10);
        assert!(needs_build());
        // Scripts take effect at once; only what they are installed from is built.
        write("runner.toml", &format!("{manifest}built_from = [\"lock\"]\n"), 10);
        write("lock", "1", 10);
        assert!(!needs_build(), "it was not built by litelab");
        let runners = Runners::find(home.path()).unwrap();
        write(".built", &runners.get("made-up").unwrap().stamp().unwrap(), 10);
        assert!(!needs_build());
        write("lock", "2", 10);
        assert!(needs_build());
    }

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
        // The shell belongs to the machine and not to the runner.
        write("unrelated", "five");
        write("main.sh", "one");
        assert_eq!(fingerprint().unwrap(), second);
        // Scripts other than the one started count too.
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        write("lib/part.sh", "six");
        let third = fingerprint().unwrap();
        write("lib/part.sh", "seven");
        assert!(third != second && fingerprint().unwrap() != third);
    }
}
