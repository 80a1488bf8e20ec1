//! Processes, distinguished from later ones with the same number.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

/// Interval at which the end of a process is checked.
const POLL: Duration = Duration::from_millis(20);

/// A process, identified by its number and start time, which no later process shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process number.
    pub pid: u32,
    /// Start time, in clock ticks since boot (field 22 of `/proc/PID/stat`, proc(5)).
    pub start: u64,
    /// Identifier of the boot.
    pub boot: String,
}

impl Process {
    /// The process that has this number now.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start: stat(pid)?, boot: boot()? })
    }

    /// Whether the process runs: it exists, has the same start time, and is not a zombie.
    #[must_use]
    pub fn lives(&self) -> bool {
        stat(self.pid) == Some(self.start) && self.is_of_this_boot()
    }

    /// Whether the machine has not been rebooted since.
    #[must_use]
    pub(super) fn is_of_this_boot(&self) -> bool {
        boot().as_ref() == Some(&self.boot)
    }

    /// Sends a signal if the process runs.
    ///
    /// SIGKILL also goes to the process group that it leads, as every server does: programs that copy data to a node
    /// would continue without it. SIGKILL and SIGCONT go to all its children: a process of PostgreSQL leads its own
    /// group, and while it is stopped it does not notice the end of its parent. Returns these others.
    pub fn signal(&self, signal: Signal) -> Vec<Self> {
        let raw = |pid: u32| i32::try_from(pid).ok().and_then(Pid::from_raw);
        let Some(pid) = raw(self.pid).filter(|_| self.lives()) else { return Vec::new() };
        if signal == Signal::KILL {
            // A stopped process starts no further children.
            let _leads_none = kill_process_group(pid, Signal::STOP);
        }
        let family = matches!(signal, Signal::KILL | Signal::CONT);
        let family: Vec<Self> = if family { self.family().filter_map(Self::of).collect() } else { Vec::new() };
        if signal == Signal::KILL {
            family.iter().for_each(|member| forget(member.pid));
        }
        // An error means that the process has just ended.
        let _ended = match signal {
            Signal::KILL => kill_process_group(pid, signal).or_else(|_| kill_process(pid, signal)),
            _ => kill_process(pid, signal),
        };
        for member in family.iter().filter(|member| member.lives()) {
            let _ended = raw(member.pid).map(|pid| kill_process(pid, signal));
        }
        family
    }

    /// Kills the process and its children, and waits until all are gone. False if one still runs after `patience`.
    #[must_use]
    pub fn kill(&self, patience: Duration) -> bool {
        let family = self.signal(Signal::KILL);
        let deadline = Instant::now() + patience;
        let ends = |process: &Self| process.ends_within(deadline.saturating_duration_since(Instant::now()));
        ends(self) && family.iter().all(ends)
    }

    /// Children of the process, and members of the process group that it leads.
    fn family(&self) -> impl Iterator<Item = u32> {
        let this = self.pid.to_string();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        // The parent and the group.
        let is_of_it = move |fields: Vec<String>| fields.iter().take(3).skip(1).any(|field| *field == this);
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(move |pid| fields(*pid).is_some_and(&is_of_it))
    }

    /// Waits until the process is gone. False if it still runs after `patience`.
    #[must_use]
    pub fn ends_within(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        while self.lives() {
            if begun.elapsed() > patience {
                return false;
            }
            std::thread::sleep(POLL);
        }
        true
    }
}

/// Unlinks PostgreSQL's shared memory that a process has mapped. The program that creates a data directory has it in
/// `/dev/shm`, where no other program would remove it.
fn forget(pid: u32) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    for file in maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5)) {
        if file.starts_with("/dev/shm/PostgreSQL.") {
            let _gone = std::fs::remove_file(file);
        }
    }
}

/// Start time of a process in clock ticks. `None` if it does not exist or is a zombie.
fn stat(pid: u32) -> Option<u64> {
    let fields = fields(pid)?;
    // Field 20 is the number of threads: the first thread may end before the others.
    let ended = matches!(fields.first()?.as_str(), "Z" | "X")
        && fields.get(17)?.parse::<u32>().is_ok_and(|threads| threads < 2);
    if ended { None } else { fields.get(19)?.parse().ok() }
}

/// The fields of `/proc/PID/stat` from the third on: state, parent, …
fn fields(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in front may contain blanks and parentheses.
    Some(text.rsplit_once(')')?.1.split_ascii_whitespace().map(str::to_owned).collect())
}

fn boot() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_that_got_the_number_later_is_left_alone() {
        let mut child = sleeper();
        let real = Process::of(child.id()).unwrap();
        for other in [
            Process { start: real.start - 1, ..real.clone() },
            Process { boot: "another start of the machine".into(), ..real.clone() },
        ] {
            assert!(!other.lives());
            other.signal(Signal::KILL);
            assert!(other.ends_within(Duration::ZERO), "it is gone already");
        }
        assert!(real.lives() && child.try_wait().unwrap().is_none(), "the sleeper lives");
        assert!(!real.ends_within(Duration::ZERO));
        real.signal(Signal::KILL);
        // The child is not reaped yet: a zombie does not count as running.
        assert!(real.ends_within(Duration::from_secs(30)));
        child.wait().unwrap();
        assert!(!real.lives());
    }

    #[test]
    fn a_killed_process_takes_its_children_along() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & sleep 600 & wait"]).stdin(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let shell = Process::of(child.id()).unwrap();
        // The shell and two sleepers, which are of its group.
        let family = || shell.family().filter_map(Process::of).collect::<Vec<_>>();
        let begun = Instant::now();
        while family().len() < 3 {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", family());
            std::thread::sleep(POLL);
        }
        let members = family();
        assert!(members.iter().all(Process::lives));
        assert!(shell.kill(Duration::from_secs(30)));
        assert!(!members.iter().any(Process::lives));
        child.wait().unwrap();
    }
}
