//! Runner processes: one that runs a trial and prints protocol lines, or one that answers a single query.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use litelab_observe::{Exited, MeasuredChild};
use litelab_protocol::{Message, Trial};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::last_words::telling;

/// Longest permitted line of a runner, in bytes; histograms take a few hundred kilobytes.
const LONGEST_LINE: u64 = 64 << 20;
/// Number of lines of a runner that may be unread. A runner that sends more has to wait: they would fill the memory.
const UNREAD_LINES: usize = 1024;
/// Number of bytes kept from the end of standard error.
const STDERR_KEPT: usize = 8 << 10;
/// Time that a runner has to exit after its last line.
const EXIT_GRACE: Duration = Duration::from_secs(10);
/// Time for reading the rest of standard error of a runner that has ended.
const STDERR_GRACE: Duration = Duration::from_secs(1);
/// Time that a runner has to answer a query after a request to stop; a run stopped meanwhile still gets its file.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// Interval of polling.
pub(crate) const POLL: Duration = Duration::from_millis(20);
/// Most that one wait adds to the measured silence: after litelab itself was suspended, a long wait is no sign of a
/// hang.
const WAIT: Duration = Duration::from_millis(500);

/// A running runner process.
#[derive(Debug)]
pub struct RunnerProcess {
    child: MeasuredChild,
    /// Sends input to a writer thread, because a runner that does not read must not block litelab.
    stdin: Option<Sender<Vec<u8>>>,
    lines: Receiver<Result<Message, String>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected when standard error is read to its end.
    stderr_ended: Receiver<()>,
    /// Time between two ticks, in milliseconds.
    tick_ms: u64,
    /// Number of further ticks that the trial's length allows.
    ticks_left: u64,
    /// CPU time before `go`, in nanoseconds.
    cpu_before_go: u64,
    killed: bool,
    exited: Option<Exited>,
}

impl RunnerProcess {
    /// Starts a runner by its command ([`crate::runner::Runner::command`]) and sends it its trial.
    ///
    /// # Errors
    /// The reason for which it could not be started.
    pub fn start(mut command: Command, trial: &Trial, directory: &Path) -> Result<Self, String> {
        let mut child = command
            .current_dir(directory)
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

        let (sender, lines) = sync_channel(UNREAD_LINES);
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
        let (reads, stderr_ended) = channel::<()>();
        if let Some(mut pipe) = stderr_pipe {
            let kept = Arc::clone(&stderr);
            std::thread::spawn(move || {
                let _reads = reads;
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
                // The end of a dead runner's output already reports its death, so a broken pipe is ignored.
                while let Ok(text) = texts.recv()
                    && stdin.write_all(&text).and_then(|()| stdin.flush()).is_ok()
                {}
            });
        }
        let process = Self {
            child,
            stdin: Some(stdin_sender),
            lines,
            stderr,
            stderr_ended,
            tick_ms: trial.tick_ms.max(1),
            ticks_left: u64::MAX,
            cpu_before_go: 0,
            killed: false,
            exited: None,
        };
        let mut text = serde_json::to_vec(trial).map_err(|e| e.to_string())?;
        text.push(b'\n');
        process.send(text);
        Ok(process)
    }

    fn send(&self, text: Vec<u8>) {
        if let Some(stdin) = &self.stdin {
            // The writer thread has ended with the runner: see `start`.
            let _ended = stdin.send(text);
        }
    }

    /// Process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends `go`: the work begins, and takes at most `limit`. More ticks than are due in that time are an error.
    pub fn go(&mut self, limit: Duration) {
        // One more tick holds the rest of the counts.
        self.ticks_left = limit.as_millis() as u64 / self.tick_ms + 1;
        self.cpu_before_go = self.child.cpu_ns();
        self.send(b"{\"type\":\"go\"}\n".to_vec());
    }

    /// Closes the runner's input. A runner that has not received `go` must then exit.
    pub fn close_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Waits for the next line. Calls `poll` several times a second, and stops waiting when it returns `false`.
    ///
    /// # Errors
    /// As [`RunnerProcess::line_within`], no line for `silence`, or `poll` returning `false`.
    pub fn next_line(&mut self, silence: Duration, poll: &mut dyn FnMut() -> bool) -> Result<Message, String> {
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

    /// Waits up to `wait` for the next line; `None` if there is none yet.
    ///
    /// # Errors
    /// A malformed line, more ticks than the trial's length allows, or the end of the runner.
    pub(crate) fn line_within(&mut self, wait: Duration) -> Result<Option<Message>, String> {
        match self.lines.recv_timeout(wait) {
            Ok(Ok(Message::Tick(_))) if self.ticks_left == 0 => {
                Err(format!("the runner sent too many ticks: one is due every {} ms", self.tick_ms))
            }
            Ok(line) => {
                self.ticks_left -= u64::from(matches!(line, Ok(Message::Tick(_))));
                line.map(Some)
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.last_words()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Waits up to `wait` until the runner has closed its output. Returns the line that it sends in place of that.
    ///
    /// # Errors
    /// A malformed line, or an output that stays open.
    pub fn line_after_last(&mut self, wait: Duration) -> Result<Option<Message>, String> {
        match self.lines.recv_timeout(wait) {
            Ok(line) => line.map(Some),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err("its output stays open".into()),
        }
    }

    /// Reason for which a runner ended without a last line.
    fn last_words(&mut self) -> String {
        if !self.child.ended_within(EXIT_GRACE).unwrap_or(false) {
            return "the runner closed its output and went on running".into();
        }
        match self.finish() {
            Ok(exited) => format!("the runner died ({}){}{}", exited.status, hint(exited.status), self.evidence()),
            Err(e) => format!("the runner ended, and waiting for it failed: {e}"),
        }
    }

    /// The most informative line of standard error, to be appended to a reason.
    #[must_use]
    pub fn evidence(&self) -> String {
        match telling(&self.stderr()) {
            Some(line) => format!(": {}", line.chars().take(300).collect::<String>()),
            None => String::new(),
        }
    }

    /// The last part of standard error, at most 8 KiB.
    #[must_use]
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.iter().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// Marks the process as killed by the trial, so that its end by a signal is expected.
    pub fn expect_killed(&mut self) {
        self.killed = true;
    }

    /// Whether [`RunnerProcess::expect_killed`] has been called.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        self.killed
    }

    /// Waits until the runner has exited after its last line, without reaping it.
    pub fn settle(&mut self) -> bool {
        self.child.ended_within(EXIT_GRACE).unwrap_or(false)
    }

    /// Reaps the runner; kills it first if it still runs, and in any case all processes that it has started. The CPU time
    /// is that since `go`.
    ///
    /// # Errors
    /// If waiting fails.
    pub fn finish(&mut self) -> std::io::Result<Exited> {
        drop(self.stdin.take());
        if let Some(exited) = self.exited {
            return Ok(exited);
        }
        let mut exited = end(&mut self.child)?;
        exited.cpu_ns = exited.cpu_ns.saturating_sub(self.cpu_before_go);
        // A process that has left the group may keep the pipe open.
        let _ended = self.stderr_ended.recv_timeout(STDERR_GRACE);
        self.exited = Some(exited);
        Ok(exited)
    }
}

/// Reason of a runner that sent no line.
pub(crate) const SILENT: &str = "it said nothing";

/// Time since a runner last did what is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence(Duration);

impl Silence {
    /// Adds a time in which it was not done, at most [`WAIT`].
    ///
    /// # Errors
    /// If the total exceeds `most`; `what` is the reason.
    pub(crate) fn lasts(&mut self, time: Duration, most: Duration, what: &str) -> Result<(), String> {
        if self.add(time) > most {
            return Err(format!("the runner hung: {what} for {:.0} s", most.as_secs_f64()));
        }
        Ok(())
    }

    /// Adds a time, at most [`WAIT`], and returns the total: litelab itself may have been suspended meanwhile.
    pub(crate) fn add(&mut self, time: Duration) -> Duration {
        self.0 += time.min(WAIT);
        self.0
    }
}

/// Result of a process that answers a query.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The process exited with this output.
    ByItself(Output),
    /// The process was killed on a request to stop.
    Stopped,
    /// The process was killed after its time limit.
    TooLate,
}

/// Runs a command with this standard input for at most `limit` in a separate process group, and kills the group
/// afterwards.
pub(crate) fn output(
    mut command: Command,
    input: Vec<u8>,
    limit: Duration,
    stop: Option<&AtomicBool>,
) -> std::io::Result<Ended> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        std::thread::spawn(move || {
            // A process that does not read its input shows that by its answer.
            let _written = stdin.write_all(&input);
        });
    }
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
    // A process that has left the group may keep the pipes open.
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

/// Ends and reaps a child that leads a process group, and kills the rest of the group.
fn end(child: &mut MeasuredChild) -> std::io::Result<Exited> {
    if !child.has_ended()? {
        child.kill()?;
    }
    // Until the child is reaped, its process id, and so the id of its group, cannot be reused.
    if let Some(group) = pid(child.id()) {
        let _nobody_left = kill_process_group(group, Signal::KILL);
    }
    child.wait()
}

/// Sends a signal to a process that was not reaped. Does nothing if it has ended.
pub(crate) fn signal(id: u32, signal: Signal) {
    let _gone = pid(id).map(|pid| kill_process(pid, signal));
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

impl Drop for RunnerProcess {
    /// Ends the runner, so that none outlives its trial.
    fn drop(&mut self) {
        let _reaped = self.finish();
    }
}

fn bad_line(text: &str, error: &serde_json::Error) -> String {
    let start: String = text.trim_end().chars().take(80).collect();
    format!("the runner said what is no line of the protocol ({error}): {start}")
}

/// Explanation of a signal that comes without a message. SQLite maps the index of a write-ahead log into memory, where
/// a full disk has no error code: sigaction(2), `BUS_ADRERR`.
fn hint(status: ExitStatus) -> &'static str {
    if status.signal() == Some(Signal::BUS.as_raw()) {
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
        let ended = output(command, Vec::new(), Duration::from_millis(200), None).expect("started");
        assert!(matches!(ended, Ended::TooLate), "{ended:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_before_go_is_not_counted() {
        let study = "name = 's'\ntitle = '?'\n[[scenario]]\nname = 'one'\nworkload = 'insert'\nrole.w = { run = 'insert', count = 1 }";
        let plan = crate::testkit::plan(None, study);
        let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let said = r#"echo '{"type":"failed","reason":"ready"}'"#;
        let used = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let folder = std::env::temp_dir();
            let mut process = RunnerProcess::start(command, &plan.variants[0].trial, &folder).expect("started");
            assert!(process.next_line(Duration::from_secs(60), &mut || true).is_ok());
            process.go(Duration::from_secs(1));
            assert!(process.settle());
            process.finish().expect("reaped").cpu_ns
        };
        let before = used(&format!("read -r trial; {burn}; {said}; read -r go"));
        let after = used(&format!("read -r trial; {said}; read -r go; {burn}"));
        assert!(after > 10_000_000 && before < after / 4, "{before} {after}");
    }

    #[test]
    fn a_bus_error_is_explained() {
        assert!(hint(ExitStatus::from_raw(7)).contains("the disk is full"));
        assert_eq!(hint(ExitStatus::from_raw(6)), "");
    }
}
