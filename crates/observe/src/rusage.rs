//! The exact resource usage of a child, which the kernel gives once: to whoever waits for it.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Between two looks at a child that is waited for with a deadline.
const POLL: Duration = Duration::from_millis(1);

/// What a process used from its start to its end, and with it those children of its own that it waited for. Without
/// the 10 ms steps of `/proc`, so good for short trials too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ResourceUsage {
    /// CPU time in user mode, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Highest resident memory in bytes. On Linux never below the parent's own peak at the moment of the spawn, since
    /// the kernel keeps the figure across `execve`: prefer [`super::ProcessUsage::rss_peak_bytes`] where there is one.
    pub max_rss_bytes: u64,
    /// Times a thread gave up the CPU of its own.
    pub voluntary_switches: u64,
    /// Times a thread was made to give up the CPU.
    pub involuntary_switches: u64,
    /// Reads from storage, in units of 512 bytes on Linux, in operations elsewhere.
    pub blocks_in: u64,
    /// Writes that belong on storage, in the same units.
    pub blocks_out: u64,
}

/// The end of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exited {
    /// How it ended.
    pub status: ExitStatus,
    /// What it used; `None` where the system has no `wait4`.
    pub usage: Option<ResourceUsage>,
}

/// A child that is waited for through `wait4`. It owns the [`Child`], because a second wait by the standard library
/// would fail, and a second kill could hit a stranger that has got the same number.
///
/// Dropping it neither kills nor waits, as with [`Child`].
#[derive(Debug)]
pub struct MeasuredChild {
    child: Child,
    exited: Option<Exited>,
}

impl MeasuredChild {
    /// Takes over a child that nobody has waited for yet. Take its pipes out before, or reach them by
    /// [`MeasuredChild::pipes`].
    #[must_use]
    pub fn new(child: Child) -> Self {
        MeasuredChild { child, exited: None }
    }

    /// The process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child, to take its pipes out. Do not wait for it or kill it through this.
    pub fn pipes(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether the child has ended, **leaving it unwaited for**: until [`MeasuredChild::wait`] its last figures can
    /// still be read under `/proc`.
    ///
    /// # Errors
    /// Those of `waitid`.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        if self.exited.is_some() {
            return Ok(true);
        }
        self.peek()
    }

    /// As [`MeasuredChild::has_ended`], waiting for at most `limit`. `false` means that it still runs.
    ///
    /// # Errors
    /// Those of `waitid`.
    pub fn ended_within(&mut self, limit: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + limit;
        loop {
            if self.has_ended()? {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    /// Waits for the end and reaps the child. Further calls give the same answer.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn wait(&mut self) -> io::Result<Exited> {
        // A child that waits for the end of its input must see it, as with `Child::wait`.
        drop(self.child.stdin.take());
        if let Some(exited) = self.exited {
            return Ok(exited);
        }
        let exited = self.reap()?;
        self.exited = Some(exited);
        Ok(exited)
    }

    /// Kills the child, unless it has been reaped already. Still to be waited for.
    ///
    /// # Errors
    /// Those of the system's kill.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.exited.is_some() { Ok(()) } else { self.child.kill() }
    }

    #[cfg(unix)]
    fn peek(&mut self) -> io::Result<bool> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    #[cfg(unix)]
    fn reap(&mut self) -> io::Result<Exited> {
        use std::os::unix::process::ExitStatusExt;
        let pid = libc::pid_t::try_from(self.child.id()).map_err(io::Error::other)?;
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        loop {
            // SAFETY: both pointers are to live, writable memory of the types that wait4 fills.
            if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } == pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // SAFETY: all zeros is a valid rusage, and wait4 has filled it besides.
        let usage = unsafe { usage.assume_init() };
        Ok(Exited { status: ExitStatus::from_raw(status), usage: Some(from_c(&usage)) })
    }

    #[cfg(not(unix))]
    fn peek(&mut self) -> io::Result<bool> {
        let status = self.child.try_wait()?;
        self.exited = status.map(|status| Exited { status, usage: None });
        Ok(status.is_some())
    }

    #[cfg(not(unix))]
    fn reap(&mut self) -> io::Result<Exited> {
        Ok(Exited { status: self.child.wait()?, usage: None })
    }
}

#[cfg(unix)]
fn from_c(usage: &libc::rusage) -> ResourceUsage {
    // The kernel's figures are signed by tradition only.
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    // Seconds and microseconds are of different widths from system to system.
    let nanoseconds = |time: libc::timeval| {
        let (seconds, microseconds) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
        seconds.unwrap_or(0).saturating_mul(1_000_000_000) + microseconds.unwrap_or(0) * 1_000
    };
    let rss_unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    ResourceUsage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        max_rss_bytes: count(usage.ru_maxrss) * rss_unit,
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        blocks_in: count(usage.ru_inblock),
        blocks_out: count(usage.ru_oublock),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::ProcessProbe;

    fn shell(script: &str) -> MeasuredChild {
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        MeasuredChild::new(child)
    }

    #[test]
    fn an_idle_child_and_a_busy_one_differ() {
        let used = |script| shell(script).wait().unwrap().usage.unwrap();
        let idle = used("true");
        let busy = used("i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done");
        let cpu = |usage: &ResourceUsage| usage.user_ns + usage.system_ns;
        assert!(cpu(&busy) > 5 * cpu(&idle), "{idle:?} {busy:?}");
        assert!(cpu(&busy) > 10_000_000, "{busy:?}");
        assert!(idle.max_rss_bytes > 100_000, "{idle:?}");
    }

    #[test]
    fn sleeping_costs_switches_but_no_cpu() {
        let usage = shell("sleep 0.05; sleep 0.05").wait().unwrap().usage.unwrap();
        assert!(usage.voluntary_switches >= 2, "{usage:?}");
        assert!(usage.user_ns + usage.system_ns < 90_000_000, "{usage:?}");
    }

    #[test]
    fn the_status_is_kept_and_given_again() {
        let mut child = shell("exit 7");
        let first = child.wait().unwrap();
        assert_eq!(first.status.code(), Some(7));
        assert_eq!(child.wait().unwrap(), first);
        assert!(child.has_ended().unwrap());
        child.kill().unwrap();
    }

    #[test]
    fn a_deadline_passes_and_a_kill_is_seen_as_one() {
        let mut child = shell("exec sleep 60");
        assert!(!child.ended_within(Duration::from_millis(20)).unwrap());
        child.kill().unwrap();
        assert!(child.ended_within(Duration::from_secs(60)).unwrap());
        assert_eq!(child.wait().unwrap().status.signal(), Some(9));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn figures_can_be_read_between_the_end_and_the_wait() {
        let mut child = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
        assert!(child.ended_within(Duration::from_secs(60)).unwrap());
        let mut probe = ProcessProbe::new(child.id());
        let last = probe.read(true).unwrap();
        let exact = child.wait().unwrap().usage.unwrap();
        // /proc counts in ticks; the two agree to one in each mode.
        assert!(last.cpu_ns().abs_diff(exact.user_ns + exact.system_ns) <= 20_000_000, "{last:?} {exact:?}");
        assert!(last.cpu_ns() > 0);
        probe.read(true);
        assert!(probe.gone());
    }
}
