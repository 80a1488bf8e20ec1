//! Exact CPU time of a child, which the kernel reports once: to the process that reaps it.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Interval of polling while waiting with a deadline.
const POLL: Duration = Duration::from_millis(1);

/// Exit of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exited {
    /// Exit status.
    pub status: ExitStatus,
    /// CPU time in user mode and in the kernel from start to end, in nanoseconds, including that of its children that it
    /// reaped. Not limited to the 10 ms resolution of `/proc`, and so fit for short trials.
    pub cpu_ns: u64,
}

/// A child that is reaped through `wait4`. It owns the [`Child`], because a second wait by the standard library would
/// fail, and a second kill could hit an unrelated process that reuses the process id.
///
/// Like [`Child`], dropping it neither kills nor reaps the process.
#[derive(Debug)]
pub struct MeasuredChild {
    child: Child,
    exited: Option<Exited>,
}

impl MeasuredChild {
    /// Takes ownership of a child that has not been reaped. Take its pipes before.
    #[must_use]
    pub fn new(child: Child) -> Self {
        MeasuredChild { child, exited: None }
    }

    /// Process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// CPU time of the child alone so far, in nanoseconds; 0 where the system has no clock of it.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        #[cfg(target_os = "linux")]
        {
            let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
            // The id is still the child's, because only `wait` reaps it.
            // SAFETY: both pointers are to live, writable memory of the types that the calls fill.
            let read = unsafe {
                libc::clock_getcpuclockid(self.child.id().cast_signed(), &raw mut clock) == 0
                    && libc::clock_gettime(clock, &raw mut time) == 0
            };
            if read {
                return time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned();
            }
        }
        0
    }

    /// Whether the child has ended, **without reaping it**: until [`MeasuredChild::wait`] its final figures remain
    /// readable under `/proc`.
    ///
    /// # Errors
    /// Those of `waitid`.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        if self.exited.is_some() {
            return Ok(true);
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    /// Like [`MeasuredChild::has_ended`], after waiting for at most `limit`. `false` means that the child still runs.
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

    /// Waits for the end and reaps the child. Later calls return the same result.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn wait(&mut self) -> io::Result<Exited> {
        // A child that waits for the end of its input must receive it, as with `Child::wait`.
        drop(self.child.stdin.take());
        if let Some(exited) = self.exited {
            return Ok(exited);
        }
        let exited = self.reap()?;
        self.exited = Some(exited);
        Ok(exited)
    }

    /// Kills the child, unless it has been reaped. It must still be reaped.
    ///
    /// # Errors
    /// Those of the kill system call.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.exited.is_some() { Ok(()) } else { self.child.kill() }
    }

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
        // SAFETY: an all-zero rusage is valid, and wait4 has filled it.
        let usage = unsafe { usage.assume_init() };
        Ok(Exited {
            status: ExitStatus::from_raw(status),
            cpu_ns: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
        })
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    // The kernel's values are never negative, although the type is signed.
    u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000)
        + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
}

#[cfg(test)]
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
    fn a_busy_child_has_cpu_time_and_a_sleeping_one_has_little() {
        let used = |script| shell(script).wait().unwrap().cpu_ns;
        let (idle, busy) = (used("true"), used("i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"));
        assert!(busy > 5 * idle && busy > 10_000_000, "{idle} {busy}");
        let asleep = used("sleep 0.05; sleep 0.05");
        assert!(asleep < 90_000_000, "{asleep}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_of_a_running_child_agrees_with_its_end() {
        let mut child = shell("i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; read line");
        let mut last = 0;
        // Until it has used no CPU time between two readings, because it waits for its input.
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let now = child.cpu_ns();
            if now > 0 && now == last {
                break;
            }
            last = now;
        }
        let exact = child.wait().unwrap().cpu_ns;
        assert!(last > 10_000_000, "{last}");
        // Ending takes some CPU time, and less than a tick of /proc.
        assert!((last..last + 10_000_000).contains(&exact), "{last} {exact}");
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
        let exact = child.wait().unwrap().cpu_ns;
        // /proc counts in ticks; both figures agree within one tick per mode.
        assert!(last.cpu_ns().abs_diff(exact) <= 20_000_000, "{last:?} {exact}");
        assert!(last.cpu_ns() > 0);
        probe.read(true);
        assert!(probe.gone());
    }
}
