//! One runner process of a trial, and the lines it says.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
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

/// A running runner.
#[derive(Debug)]
pub struct RunnerProcess {
    child: MeasuredChild,
    stdin: Option<ChildStdin>,
    lines: Receiver<Result<Line, String>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    killed: bool,
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
            .spawn()
            .map_err(|e| format!("the runner could not be started: {e}"))?;
        let mut stdin = child.stdin.take();
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
        if let Some(stdin) = &mut stdin {
            let mut text = serde_json::to_string(trial).map_err(|e| e.to_string())?;
            text.push('\n');
            // A runner that has died already shows in its lines; a broken pipe adds nothing.
            let _written = stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush());
        }
        Ok(Self { child, stdin, lines, stderr, killed: false })
    }

    /// Process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to begin.
    pub fn go(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            let _written = stdin.write_all(b"{\"type\":\"go\"}\n").and_then(|()| stdin.flush());
        }
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
        let since = Instant::now();
        loop {
            match self.lines.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => return line,
                Err(RecvTimeoutError::Disconnected) => return Err(self.last_words()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !poll() {
                return Err("stopped".into());
            }
            if since.elapsed() > silence {
                return Err(format!("the runner hung: it said nothing for {:.0} s", silence.as_secs_f64()));
            }
        }
    }

    /// Why a runner ended without a last line.
    fn last_words(&mut self) -> String {
        if !self.child.ended_within(EXIT_GRACE).unwrap_or(false) {
            return "the runner closed its output and went on running".into();
        }
        match self.child.wait() {
            Ok(exited) => format!("the runner died ({}){}", exited.status, self.evidence()),
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

    /// Reaps the runner after it has settled; kills it if it has not.
    ///
    /// # Errors
    /// When waiting fails.
    pub fn finish(&mut self) -> std::io::Result<Exited> {
        drop(self.stdin.take());
        if !self.child.has_ended()? {
            self.child.kill()?;
        }
        self.child.wait()
    }
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
