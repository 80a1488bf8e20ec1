//! Runner processes that a trial kills while they work.

use std::time::Duration;

use litelab_model::Arm;
use litelab_model::condition::KillPlan;

use crate::process::RunnerProcess;

/// Who is to be killed, and when.
pub(crate) struct Kills {
    /// Index of the process, its number, and the time after `go`.
    due: Vec<(usize, u32, Duration)>,
    /// How many of those were killed.
    done: usize,
}

impl Kills {
    /// The processes are in the order of [`crate::trial::split`]: role by role, worker by worker.
    pub(crate) fn new(arm: &Arm, processes: &[RunnerProcess]) -> Self {
        let Some(KillPlan::Processes { role: name, processes: count, after_ms }) = &arm.kill else {
            return Self { due: Vec::new(), done: 0 };
        };
        let roles = arm.trial.roles.iter().take_while(|role| role.name != *name);
        let first: usize = roles.map(|role| role.workers as usize).sum();
        let victims = processes.iter().enumerate().skip(first).take(*count as usize);
        let after = |nth: usize| Duration::from_millis(after_ms.saturating_mul(nth as u64 + 1));
        let due = victims.enumerate().map(|(nth, (index, process))| (index, process.id(), after(nth))).collect();
        Self { due, done: 0 }
    }

    /// Kills those whose time has come. To be called a few times a second; a process that has been waited for must have
    /// been killed before, or its number may be another's.
    pub(crate) fn due(&mut self, elapsed: Duration) {
        while let Some((_, id, _)) = self.due.get(self.done).filter(|(.., after)| *after <= elapsed) {
            kill(*id);
            self.done += 1;
        }
    }

    /// Whether this process is to be killed, now or later.
    pub(crate) fn is_victim(&self, index: usize) -> bool {
        self.due.iter().any(|(victim, ..)| *victim == index)
    }

    /// Whether this process was killed.
    pub(crate) fn killed(&self, index: usize) -> bool {
        self.due[..self.done].iter().any(|(victim, ..)| *victim == index)
    }
}

#[cfg(unix)]
fn kill(id: u32) {
    // Fails only where the process is gone, which its lines then tell.
    if let Some(pid) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(_: u32) {}
