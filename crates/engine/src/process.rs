//! Processes of runners: one of a trial and the lines it says, or one that only answers a question.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use litelab_observe::{Exited, MeasuredChild};
use litelab_protocol::{Line, Trial};

use crate::last_words::telling;
use crate::runner::Runner;

/// Longest line a runner may say; histograms make a few hundred kilobytes.
const LONGEST_LINE: u64 = 64 << 20;
/// What is kept of standard error: its last part.
const STDERR_KEPT: usize = 8 << 10;
/// How long a runner may take to end after its last line.
const EXIT_GRACE: Duration = Duration::from_secs(10);
/// How long a runner that answers a question may take once it is to stop: a run that is stopped at once has a file.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// Between two looks at what is waited for.
pub(crate) const POLL: Duration = Duration::from_millis(20);
/// What one wait counts for silence at the most: a core that was itself stopped has not heard because it did not listen.
const WAIT: Duration = Duration::from_millis(500);

/// A running runner.
#[derive(Debug)]
pub struct RunnerProcess {
    child: MeasuredChild,
    /// What is sent is written by a thread: a runner that does not read must not stop the core.
    stdin: Option<Sender<Vec<u8>>>,
    lines: Receiver<Result<Line, String>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    killed: bool,
    exited: Option<Exited>,
}

impl RunnerProcess {
    /// Starts a runner and hands it its trial.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn start(
        runner: &Runner,
        trial: &Trial,
        directory: &Path,
        environment: &[(String, String)],
    ) -> Result<Self, String> {
        let mut child = runner
            .command("run")
            .current_dir(directory)
            .envs(environment.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| format!("the runner could not be started: {e}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr_pipe = child.stderr.take();
        let child = MeasuredChild::new(child);

        let (sender, lines) = channel();
        if let Some(stdout) = stdout {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stdout);
                loop {
                    let mut text = String::new();
                    let message = match reader.by_ref().take(LONGEST_LINE).read_line(&mut text) {
                        Ok(0) => break,
                        Ok(_) => serde_json::from_str(&text).map_err(|e| bad_line(&text, &e)),
                        Err(e) => Err(format!("the runner's output could not be read: {e}")),
                    };
                    let bad = message.is_err();
                    if sender.send(message).is_err() || bad {
                        break;
                    }
                }
            });
        }
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(mut pipe) = stderr_pipe {
            let kept = Arc::clone(&stderr);
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(&buffer[..n]);
                    let over = kept.len().saturating_sub(STDERR_KEPT);
                    kept.drain(..over);
                }
            });
        }
        let (stdin_sender, texts) = channel::<Vec<u8>>();
        if let Some(mut stdin) = stdin {
            std::thread::spawn(move || {
                // A runner that has died already shows in its lines; a broken pipe adds nothing.
                while let Ok(text) = texts.recv()
                    && stdin.write_all(&text).and_then(|()| stdin.flush()).is_ok()
                {}
            });
        }
        let process = Self { child, stdin: Some(stdin_sender), lines, stderr, killed: false, exited: None };
        let mut text = serde_json::to_vec(trial).map_err(|e| e.to_string())?;
        text.push(b'\n');
        process.send(text);
        Ok(process)
    }

    fn send(&self, text: Vec<u8>) {
        if let Some(stdin) = &self.stdin {
            // Nobody is left to write it to: see above.
            let _ended = stdin.send(text);
        }
    }

    /// Process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to begin.
    pub fn go(&mut self) {
        self.send(b"{\"type\":\"go\"}\n".to_vec());
    }

    /// Closes its input: a runner that has not been told to begin must end.
    pub fn close_input(&mut self) {
        drop(self.stdin.take());
    }

    /// The next line; an error says why there will be none. `poll` is called a few times a second meanwhile and ends
    /// the wait by returning false.
    ///
    /// # Errors
    /// A line that is none, silence for `silence`, the end of the runner, or the end of patience.
    pub fn next_line(&mut self, silence: Duration, poll: &mut dyn FnMut() -> bool) -> Result<Line, String> {
        let mut silent = Silence::default();
        loop {
            let since = Instant::now();
            if let Some(line) = self.line_within(POLL)? {
                return Ok(line);
            }
            if !poll() {
                return Err("stopped".into());
            }
            silent.lasts(since.elapsed(), silence, SILENT)?;
        }
    }

    /// The next line, waited for as long as `wait`; none where there was none yet.
    ///
    /// # Errors
    /// A line that is none, or the end of the runner.
    pub(crate) fn line_within(&mut self, wait: Duration) -> Result<Option<Line>, String> {
        match self.lines.recv_timeout(wait) {
            Ok(line) => line.map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(self.last_words()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Why a runner ended without a last line.
    fn last_words(&mut self) -> String {
        if !self.child.ended_within(EXIT_GRACE).unwrap_or(false) {
            return "the runner closed its output and went on running".into();
        }
        match self.finish() {
            Ok(exited) => format!("the runner died ({}){}{}", exited.status, hint(exited.status), self.evidence()),
            Err(e) => format!("the runner ended, and waiting for it failed: {e}"),
        }
    }

    /// The line of standard error that tells most, for a reason.
    #[must_use]
    pub fn evidence(&self) -> String {
        match telling(&self.stderr()) {
            Some(line) => format!(": {}", line.chars().take(300).collect::<String>()),
            None => String::new(),
        }
    }

    /// What is kept of standard error.
    #[must_use]
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.iter().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// Its end by a signal is what the trial asked for.
    pub fn expect_killed(&mut self) {
        self.killed = true;
    }

    /// Whether [`RunnerProcess::expect_killed`] was said of it.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        self.killed
    }

    /// Waits until the runner has ended by itself after its last line, without reaping it.
    pub fn settle(&mut self) -> bool {
        self.child.ended_within(EXIT_GRACE).unwrap_or(false)
    }

    /// Reaps the runner after it has settled; kills it if it has not, and all that it has started in any case.
    ///
    /// # Errors
    /// When waiting fails.
    pub fn finish(&mut self) -> std::io::Result<Exited> {
        drop(self.stdin.take());
        if let Some(exited) = self.exited {
            return Ok(exited);
        }
        let exited = end(&mut self.child)?;
        self.exited = Some(exited);
        Ok(exited)
    }
}

/// What a runner that hangs did.
pub(crate) const SILENT: &str = "it said nothing";

/// How long a runner has not done what is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence(Duration);

impl Silence {
    /// It was not done in this time.
    ///
    /// # Errors
    /// After `most`; `what` is the reason.
    pub(crate) fn lasts(&mut self, time: Duration, most: Duration, what: &str) -> Result<(), String> {
        self.0 += time.min(WAIT);
        if self.0 > most {
            return Err(format!("the runner hung: {what} for {:.0} s", most.as_secs_f64()));
        }
        Ok(())
    }
}

/// How a process ended that was asked a question.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With this answer.
    ByItself(Output),
    /// It was killed, for there was to be an end.
    Stopped,
    /// It was killed, for its time was over.
    TooLate,
}

/// Runs a command to its end, in a process group of its own, which is killed afterwards; for as long as `limit`.
pub(crate) fn output(mut command: Command, limit: Duration, stop: Option<&AtomicBool>) -> std::io::Result<Ended> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let [stdout, stderr] = [child.stdout.take().map(read_all), child.stderr.take().map(read_all)];
    let mut child = MeasuredChild::new(child);
    let begun = Instant::now();
    let mut ended = None;
    while !child.ended_within(POLL)? {
        let is_stopped = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if is_stopped && begun.elapsed() > STOP_GRACE {
            ended = Some(Ended::Stopped);
            break;
        }
        if begun.elapsed() > limit {
            ended = Some(Ended::TooLate);
            break;
        }
    }
    let status = end(&mut child)?.status;
    // What has left the group may hold the pipes open.
    let said = |pipe: Option<Receiver<Vec<u8>>>| pipe.and_then(|p| p.recv_timeout(EXIT_GRACE).ok()).unwrap_or_default();
    Ok(match ended {
        Some(ended) => ended,
        None => Ended::ByItself(Output { status, stdout: said(stdout), stderr: said(stderr) }),
    })
}

fn read_all(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, all) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _until_it_broke = pipe.take(LONGEST_LINE).read_to_end(&mut text);
        let _listening = sender.send(text);
    });
    all
}

/// Ends a child that leads a process group, and all that is left in the group, and reaps it.
fn end(child: &mut MeasuredChild) -> std::io::Result<Exited> {
    if !child.has_ended()? {
        child.kill()?;
    }
    // As long as the child is not reaped its number, and with it that of the group, is nobody else's.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _nobody_left = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    child.wait()
}

impl Drop for RunnerProcess {
    /// No runner outlives its trial.
    fn drop(&mut self) {
        let _reaped = self.finish();
    }
}

fn bad_line(text: &str, error: &serde_json::Error) -> String {
    let start: String = text.trim_end().chars().take(80).collect();
    format!("the runner said what is no line of the protocol ({error}): {start}")
}

/// What a signal means that no message explains. SQLite maps the index of a write-ahead log into memory, where a full disk
/// has no error code: sigaction(2), `BUS_ADRERR`.
fn hint(status: ExitStatus) -> &'static str {
    if status.signal() == Some(rustix::process::Signal::BUS.as_raw()) {
        ": a file that it maps into memory lacks a page, as when the disk is full"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_is_not_answered_in_time_is_given_up() {
        let mut command = Command::new("sleep");
        command.arg("30");
        let ended = output(command, Duration::from_millis(200), None).expect("started");
        assert!(matches!(ended, Ended::TooLate), "{ended:?}");
    }

    #[test]
    fn a_bus_error_is_explained() {
        assert!(hint(ExitStatus::from_raw(7)).contains("the disk is full"));
        assert_eq!(hint(ExitStatus::from_raw(6)), "");
    }
}
