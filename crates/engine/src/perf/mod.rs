//! The tool `perf`: checks whether this machine permits it, records trials, and reads their samples.
//!
//! A sample is taken each time a thread has used a certain CPU time, so a thread that waits (for a lock, the disk, a
//! timer) is in none of them.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use litelab_model::Variant;
use litelab_record::stacks::Stacks;
use rustix::process::Signal;

use crate::process::signal;

/// Samples per second of CPU time; odd, so that it does not beat with timers.
pub(crate) const HERTZ: u32 = 199;
/// Lowest number of samples per second, for long trials.
const LEAST_HERTZ: u32 = 19;
/// Samples of a trial of the planned length; each contains a copy of the stack.
pub(crate) const SAMPLES: f64 = 12_000.0;
/// Bytes of stack that are copied with each sample.
const STACK: u32 = 8192;
/// Size at which a recording ends by itself.
const LARGEST: &str = "192M";
/// Bytes of one variant's folded stacks in the run file before they are compressed.
pub(crate) const LIMIT: usize = 64 << 10;
/// Longest time that `perf` may take to begin or to end.
const GRACE: Duration = Duration::from_secs(30);
/// Longest time that `perf` may take to name the functions of all samples.
const NAMING: Duration = Duration::from_secs(300);

/// `perf`, with a folder for its files.
#[derive(Debug)]
pub(crate) struct Perf {
    program: OsString,
    folder: PathBuf,
    hertz: u32,
    recording: Option<Recording>,
}

/// A running `perf record`.
#[derive(Debug)]
struct Recording {
    child: Child,
    answers: Receiver<String>,
}

impl Drop for Recording {
    /// Kills `perf`, so that it does not outlive its trial.
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Perf {
    /// Tests `perf` on itself. Its files are written to a separate folder.
    ///
    /// # Errors
    /// The reason why it does not work here and the remedy, in one line.
    pub(crate) fn find(program: impl Into<OsString>, folder: &Path) -> Result<Self, String> {
        let perf = Self { program: program.into(), folder: folder.to_path_buf(), hertz: HERTZ, recording: None };
        let mut command = perf.record();
        let child = command.arg("--").arg(&perf.program).arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = child.spawn().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => MISSING.to_owned(),
            _ => format!("perf could not be started: {e}"),
        })?;
        match wait(&mut child, GRACE, &mut || true) {
            Some(status) if status.success() => Ok(perf),
            _ => Err(perf.refusal()),
        }
    }

    /// Sets the sampling rate for a variant: lower for a long trial on many processors.
    pub(crate) fn aim(&mut self, variant: &Variant) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.hertz = hertz(variant.duration_ms, processors);
    }

    fn record(&self) -> Command {
        let mut command = self.command("record");
        // Not `cycles`, because virtual machines have no such counter, and a clock measures time. Stacks are copied and
        // unwound later, because optimised builds have no frame pointers. No build ids, because `perf` would keep them
        // in the user's home.
        command.args(["-q", "-B", "-N", "-e", "cpu-clock", "-F"]).arg(self.hertz.to_string());
        command.args(["--max-size", LARGEST, "--call-graph"]).arg(format!("dwarf,{STACK}"));
        command.arg("-o").arg(self.data());
        command
    }

    /// `perf` without the user's settings, in English, and without network.
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(verb).current_dir(&self.folder);
        command.env("PERF_CONFIG", "/dev/null").env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
        let errors = File::create(self.folder.join("stderr"));
        command.stderr(errors.map_or_else(|_| Stdio::null(), Stdio::from));
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("perf.data")
    }

    /// Samples all threads of these processes, including future ones. Returns when sampling has begun.
    ///
    /// # Errors
    /// The reason, in one line.
    pub(crate) fn begin(
        &mut self,
        processes: impl Iterator<Item = u32>,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), String> {
        let processes: Vec<String> = processes.map(|id| id.to_string()).collect();
        // Left by a failed trial; `perf` would rename it.
        let _removed = std::fs::remove_file(self.data());
        let mut command = self.record();
        // It starts without sampling, reads commands from its standard input, and acknowledges each on its standard
        // output.
        command.args(["-D", "-1", "--control", "fd:0,1", "-p", &processes.join(",")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let answers = answers(&mut child);
        let mut recording = Recording { child, answers };
        recording.say("enable");
        if !recording.is_answered(keep_going) {
            return Err(self.refusal());
        }
        self.recording = Some(recording);
        Ok(())
    }

    /// Ends the recording; all samples are then in its file.
    ///
    /// # Errors
    /// The reason, in one line.
    pub(crate) fn end(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<(), String> {
        let Some(mut recording) = self.recording.take() else { return Ok(()) };
        // Before its end, `perf` writes its samples.
        signal(recording.child.id(), Signal::INT);
        match wait(&mut recording.child, GRACE, keep_going) {
            Some(_) => Ok(()),
            None => Err("perf did not end its recording".into()),
        }
    }

    /// The call stacks of the finished recording, at most [`LIMIT`] bytes. Removes its file.
    ///
    /// # Errors
    /// The reason, in one line.
    pub(crate) fn stacks(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<Stacks, String> {
        let mut command = self.command("script");
        // Without inlined functions: looking them up for each address takes minutes, and their time belongs to the
        // caller.
        command.args(["--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i"]).arg(self.data());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let output = child.stdout.take();
        let folding = std::thread::spawn(move || output.map_or_else(|| Ok(String::new()), fold));
        let status = wait(&mut child, NAMING, keep_going);
        let folded = folding.join().map_err(|_| "its call stacks could not be folded".to_owned())?;
        let _removed = std::fs::remove_file(self.data());
        match status {
            Some(status) if status.success() => {}
            Some(_) => return Err(self.refusal()),
            None => return Err("perf took too long to name the functions".into()),
        }
        let stacks = Stacks::parse(&folded?, self.hertz).bounded(LIMIT);
        if stacks.samples() == 0 {
            return Err("perf saw the runner use no CPU time: a longer trial has more of it".into());
        }
        Ok(stacks)
    }

    /// Reason for a failure of `perf`, from its standard error.
    fn refusal(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("stderr")).unwrap_or_default();
        let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        explain(&text, level.trim())
    }
}

pub(crate) const MISSING: &str = "perf is missing: install it (Debian: apt-get install linux-perf; Ubuntu: linux-tools-generic; Fedora: dnf install perf)";

/// Converts the message of `perf` to one line with the remedy.
pub(crate) fn explain(stderr: &str, level: &str) -> String {
    let lower = stderr.to_lowercase();
    if ["permission", "not permitted", "paranoid", "limited"].iter().any(|word| lower.contains(word)) {
        return format!(
            "this machine does not allow perf (kernel.perf_event_paranoid is {}): allow it with `sysctl kernel.perf_event_paranoid=1` as root, a container with --cap-add PERFMON",
            if level.is_empty() { "not known" } else { level }
        );
    }
    let said = stderr.lines().map(str::trim).find(|line| !line.is_empty() && *line != "Error:");
    match said {
        Some(line) => format!("perf failed: {}", line.chars().take(200).collect::<String>()),
        None => "perf ended without a word".into(),
    }
}

/// Number of samples per second with which a trial of this length has at most [`SAMPLES`]; odd.
pub(crate) fn hertz(duration_ms: Option<u64>, processors: usize) -> u32 {
    let seconds = duration_ms.map_or(0.0, |ms| ms as f64 / 1e3) * processors as f64;
    if seconds <= 0.0 {
        return HERTZ;
    }
    // The value is at most [`HERTZ`], so that the conversion only drops its fraction.
    ((SAMPLES / seconds).min(f64::from(HERTZ)) as u32).max(LEAST_HERTZ) | 1
}

/// Converts the output of `perf script` to folded stacks.
pub(crate) fn fold(output: impl Read) -> Result<String, String> {
    let mut options = Options::default();
    options.annotate_kernel = true;
    let mut folded = Vec::new();
    Folder::from(options)
        .collapse(BufReader::new(output), &mut folded)
        .map_err(|e| format!("what perf says cannot be read: {e}"))?;
    Ok(String::from_utf8_lossy(&folded).into_owned())
}

/// The lines on its standard output.
fn answers(child: &mut Child) -> Receiver<String> {
    let (sender, answers) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            // Each answer ends in a line feed and a zero byte.
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines {
                if sender.send(line.trim_matches('\0').to_owned()).is_err() {
                    break;
                }
            }
        });
    }
    answers
}

impl Recording {
    fn say(&mut self, word: &str) {
        // A `perf` that has died does not answer.
        if let Some(input) = &mut self.child.stdin {
            let _written = writeln!(input, "{word}").and_then(|()| input.flush());
        }
    }

    fn is_answered(&self, keep_going: &mut dyn FnMut() -> bool) -> bool {
        let since = Instant::now();
        while since.elapsed() < GRACE && keep_going() {
            match self.answers.recv_timeout(Duration::from_millis(20)) {
                Ok(answer) if answer == "ack" => return true,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        false
    }
}

/// Exit status of a process; `None` if it was killed after `patience` or because `keep_going` returned `false`.
fn wait(child: &mut Child, patience: Duration, keep_going: &mut dyn FnMut() -> bool) -> Option<ExitStatus> {
    let since = Instant::now();
    while since.elapsed() < patience && keep_going() {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => break,
        }
    }
    let _gone = child.kill();
    let _reaped = child.wait();
    None
}
