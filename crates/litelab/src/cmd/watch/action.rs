//! `--exec` and `--webhook`: a program for each event that is severe enough, not too often.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use litelab_doctor::Severity;
use litelab_record::recording::{Event, Phase};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::exit::BadInput;

/// Programs that run at the same time; further events are left out.
const AT_ONCE: usize = 4;
/// Time after which a program is ended.
const DEADLINE: Duration = Duration::from_secs(30);
/// Time for programs that still run when the watch ends; less than that of the whole program after a signal.
const LAST: Duration = Duration::from_secs(5);

/// Programs for events.
pub struct Actions {
    exec: Option<String>,
    webhook: Option<String>,
    least: Severity,
    every: Duration,
    /// Last call for a kind of event of a database, if there was one, and the number of events left out since.
    last: HashMap<(String, String), (Option<Instant>, u64)>,
    running: Vec<(Child, Instant, &'static str)>,
    failures: Vec<String>,
}

impl Actions {
    pub fn new(exec: Option<String>, webhook: Option<String>, least: Severity, every: Duration) -> Result<Self> {
        if webhook.is_some() && Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
            return Err(
                BadInput("--webhook needs `curl`, which is not installed: install it, or use --exec".into()).into()
            );
        }
        Ok(Self { exec, webhook, least, every, last: HashMap::new(), running: Vec::new(), failures: Vec::new() })
    }

    /// Starts the programs for an event, unless it is not severe enough, ends, or came too soon after the last.
    pub fn take(&mut self, event: &Event) {
        self.reap();
        let severe = Severity::named(&event.severity).unwrap_or(Severity::Note) >= self.least;
        if event.phase == Phase::End || !severe || (self.exec.is_none() && self.webhook.is_none()) {
            return;
        }
        let now = Instant::now();
        let key = (event.database.clone(), event.kind.clone());
        let (at, left_out) = self.last.entry(key).or_default();
        if at.is_some_and(|at| now - at < self.every) {
            *left_out += 1;
            return;
        }
        let started = usize::from(self.exec.is_some()) + usize::from(self.webhook.is_some());
        if self.running.len() + started > AT_ONCE {
            *left_out += 1;
            self.failures.push(format!("{} programs of events are still running: one event was left out", AT_ONCE));
            return;
        }
        *at = Some(now);
        let left_out = std::mem::take(left_out);
        let mut body = serde_json::to_value(event).unwrap_or_default();
        body["left_out_before"] = left_out.into();
        let body = format!("{body}\n");
        if let Some(command) = self.exec.clone() {
            let mut shell = Command::new("sh");
            shell.args(["-c", &command]);
            self.start("--exec", shell, event, &body);
        }
        if let Some(url) = self.webhook.clone() {
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--show-error", "--fail", "--max-time", "10", "--header"]);
            curl.args(["content-type: application/json", "--data-binary", "@-", "--", &url]);
            self.start("--webhook", curl, event, &body);
        }
    }

    fn start(&mut self, option: &'static str, mut command: Command, event: &Event, body: &str) {
        command.env("LITELAB_KIND", &event.kind).env("LITELAB_DATABASE", &event.database);
        command.env("LITELAB_RULE", &event.rule).env("LITELAB_MESSAGE", &event.message);
        // In its own process group, so that all its children end with it.
        command.process_group(0);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        match spawned {
            Ok(mut child) => {
                if let Some(mut input) = child.stdin.take() {
                    // It fits into a pipe. A program that does not read it is no error.
                    let _unread = input.write_all(body.as_bytes());
                }
                self.running.push((child, Instant::now(), option));
            }
            Err(error) => self.failures.push(format!("{option}: {error}")),
        }
    }

    fn reap(&mut self) {
        let failures = &mut self.failures;
        self.running.retain_mut(|(child, since, option)| match child.try_wait() {
            Ok(None) if since.elapsed() < DEADLINE => true,
            Ok(None) => {
                failures.push(format!("{option}: ended after {} s without a result", DEADLINE.as_secs()));
                end(child);
                false
            }
            Ok(Some(status)) if !status.success() => {
                failures.push(format!("{option}: {status}"));
                false
            }
            Ok(Some(_)) | Err(_) => false,
        });
    }

    /// Waits for the programs that run, for at most [`LAST`], then ends the others. Returns the failures.
    pub fn finish(&mut self) -> Vec<String> {
        let begun = Instant::now();
        while !self.running.is_empty() && begun.elapsed() < LAST {
            std::thread::sleep(Duration::from_millis(20));
            self.reap();
        }
        for (mut child, _, option) in self.running.drain(..) {
            self.failures.push(format!("{option}: ended without a result, because the watch ends"));
            end(&mut child);
        }
        self.failures()
    }

    /// Failures since the last call.
    pub fn failures(&mut self) -> Vec<String> {
        self.reap();
        std::mem::take(&mut self.failures)
    }
}

/// Ends a program with its children.
fn end(child: &mut Child) {
    let _ended = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _reaped = child.wait();
}
