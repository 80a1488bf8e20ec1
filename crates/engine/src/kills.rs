//! Kills of runner processes during a trial.

use std::time::Duration;

use litelab_model::Variant;
use litelab_model::condition::KillPlan;
use rustix::process::Signal;

use crate::process::{RunnerProcess, signal};

/// Schedule of the kills of a trial.
pub(crate) struct Kills {
    /// Index of the process, its process id, and the time after `go`.
    due: Vec<(usize, u32, Duration)>,
    /// Number of processes killed so far.
    done: usize,
}

impl Kills {
    /// Creates the schedule. Order of `processes` as in [`crate::split::split`]: role by role, worker by worker.
    pub(crate) fn new(variant: &Variant, processes: &[RunnerProcess]) -> Self {
        let Some(KillPlan::Processes { role: name, processes: count, after_ms }) = &variant.kill else {
            return Self { due: Vec::new(), done: 0 };
        };
        let roles = variant.trial.roles.iter().take_while(|role| role.name != *name);
        let first: usize = roles.map(|role| role.workers as usize).sum();
        let victims = processes.iter().enumerate().skip(first).take(*count as usize);
        let after = |nth: usize| Duration::from_millis(after_ms.saturating_mul(nth as u64 + 1));
        let due = victims.enumerate().map(|(nth, (index, process))| (index, process.id(), after(nth))).collect();
        Self { due, done: 0 }
    }

    /// Kills the processes that are due. Call it several times a second, and before a victim is reaped: its process id
    /// may be reused after that.
    pub(crate) fn due(&mut self, elapsed: Duration) {
        while let Some((_, id, _)) = self.due.get(self.done).filter(|(.., after)| *after <= elapsed) {
            // Fails only if the process has ended already, which its output shows.
            signal(*id, Signal::KILL);
            self.done += 1;
        }
    }

    /// Whether the schedule contains this process.
    pub(crate) fn is_victim(&self, index: usize) -> bool {
        self.due.iter().any(|(victim, ..)| *victim == index)
    }

    /// Whether this process has been killed.
    pub(crate) fn killed(&self, index: usize) -> bool {
        self.due[..self.done].iter().any(|(victim, ..)| *victim == index)
    }
}
