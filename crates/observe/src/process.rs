//! Resource usage of a running process, from `/proc/PID`.

use std::collections::HashMap;
use std::path::PathBuf;

use procfs_core::FromRead;
use procfs_core::process::{Io, Stat};
use serde::{Deserialize, Serialize};

use super::proc_text::{number, proc_file};

/// Resource usage of a process, or the sum over several. Every field is a total since the start of the process, except
/// `rss_bytes` and `threads`, which are current values. `None` if the system does not report the value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// CPU time in user mode, nanoseconds, with the resolution of a clock tick (usually 10 ms).
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds, with the same resolution.
    pub system_ns: u64,
    /// Resident memory in bytes.
    pub rss_bytes: Option<u64>,
    /// Peak resident memory in bytes. The sum over several processes is an upper bound of their common peak.
    pub rss_peak_bytes: Option<u64>,
    /// Bytes requested by read calls, including those served by the page cache (`rchar`).
    pub read_call_bytes: Option<u64>,
    /// Bytes passed to write calls (`wchar`).
    pub write_call_bytes: Option<u64>,
    /// Number of write calls (`syscw`).
    pub write_calls: Option<u64>,
    /// Bytes read from storage (`read_bytes`).
    pub read_bytes: Option<u64>,
    /// Bytes of page cache dirtied for files on storage (`write_bytes`). A page dirtied several times before its
    /// writeback counts once, so this is not the amount written by the device.
    pub write_bytes: Option<u64>,
    /// Voluntary context switches of all observed threads. A thread that starts and ends between two reads is not
    /// observed.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches of all observed threads.
    pub involuntary_switches: Option<u64>,
    /// Current number of threads.
    pub threads: Option<u64>,
}

impl ProcessUsage {
    /// Total CPU time in nanoseconds.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// Sum of both. A field missing in either is missing in the sum, because a partial sum would be misleading.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| Some(a?.saturating_add(b?)), u64::saturating_add)
    }

    /// Maximum of each field; a known value takes precedence over `None`.
    #[must_use]
    pub(super) fn max(&self, other: &Self) -> Self {
        self.zip(other, Option::max, u64::max)
    }

    fn zip(
        &self,
        other: &Self,
        optional: impl Fn(Option<u64>, Option<u64>) -> Option<u64>,
        plain: impl Fn(u64, u64) -> u64,
    ) -> Self {
        ProcessUsage {
            user_ns: plain(self.user_ns, other.user_ns),
            system_ns: plain(self.system_ns, other.system_ns),
            rss_bytes: optional(self.rss_bytes, other.rss_bytes),
            rss_peak_bytes: optional(self.rss_peak_bytes, other.rss_peak_bytes),
            read_call_bytes: optional(self.read_call_bytes, other.read_call_bytes),
            write_call_bytes: optional(self.write_call_bytes, other.write_call_bytes),
            write_calls: optional(self.write_calls, other.write_calls),
            read_bytes: optional(self.read_bytes, other.read_bytes),
            write_bytes: optional(self.write_bytes, other.write_bytes),
            voluntary_switches: optional(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: optional(self.involuntary_switches, other.involuntary_switches),
            threads: optional(self.threads, other.threads),
        }
    }
}

/// Observer of one process. Totals never decrease: they are kept after threads end and after the process ends. A later
/// process with the same process id is not confused with it.
#[derive(Debug)]
pub struct ProcessProbe {
    directory: PathBuf,
    started_at: Option<u64>,
    gone: bool,
    last: Option<ProcessUsage>,
    switches: HashMap<u32, [u64; 2]>,
}

impl ProcessProbe {
    /// Creates a probe of the process with this id. Reads nothing.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        ProcessProbe {
            directory: PathBuf::from(format!("/proc/{pid}")),
            started_at: None,
            gone: false,
            last: None,
            switches: HashMap::new(),
        }
    }

    /// Current usage of the process, or the last known usage after its end. `None` if the process was never observed,
    /// as on a system without `/proc`.
    ///
    /// With `each_thread` the context switches of every thread are read, at the cost of one file per thread; without
    /// it, the result keeps the values of the last such read.
    pub fn read(&mut self, each_thread: bool) -> Option<ProcessUsage> {
        match self.look(each_thread) {
            Some(now) => self.last = Some(self.last.map_or(now, |last| carried(&last, &now))),
            None => self.gone = true,
        }
        if self.gone
            && let Some(last) = &mut self.last
        {
            (last.rss_bytes, last.threads) = (Some(0), Some(0));
        }
        self.last
    }

    /// Whether the process has ended or was never observed. A zombie still counts as existing.
    #[must_use]
    pub fn gone(&self) -> bool {
        self.gone
    }

    fn look(&mut self, each_thread: bool) -> Option<ProcessUsage> {
        if self.gone {
            return None;
        }
        let stat = stat(&proc_file(self.directory.join("stat"))?)?;
        if *self.started_at.get_or_insert(stat.started_at) != stat.started_at {
            return None;
        }
        if each_thread {
            self.look_at_threads();
        }
        let mut usage = ProcessUsage { user_ns: stat.user_ns, system_ns: stat.system_ns, ..ProcessUsage::default() };
        if let Some(text) = proc_file(self.directory.join("status")) {
            usage.rss_bytes = number(&text, "VmRSS");
            usage.rss_peak_bytes = number(&text, "VmHWM");
            usage.threads = number(&text, "Threads");
        }
        if let Some(io) = proc_file(self.directory.join("io")).and_then(|text| Io::from_read(text.as_bytes()).ok()) {
            usage.read_call_bytes = Some(io.rchar);
            usage.write_call_bytes = Some(io.wchar);
            usage.write_calls = Some(io.syscw);
            usage.read_bytes = Some(io.read_bytes);
            usage.write_bytes = Some(io.write_bytes);
        }
        if !self.switches.is_empty() {
            let sum = |which: usize| Some(self.switches.values().map(|switches| switches[which]).sum());
            (usage.voluntary_switches, usage.involuntary_switches) = (sum(0), sum(1));
        }
        Some(usage)
    }

    fn look_at_threads(&mut self) {
        let Ok(tasks) = std::fs::read_dir(self.directory.join("task")) else {
            return;
        };
        for task in tasks.flatten() {
            let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let Some(text) = proc_file(task.path().join("status")) else {
                continue;
            };
            let keys = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
            if let [Some(voluntary), Some(involuntary)] = keys.map(|key| number(&text, key)) {
                self.switches.insert(thread, [voluntary, involuntary]);
            }
        }
    }
}

/// Totals of `now`, replaced by those of `last` where `now` has none: a zombie has lost its memory figures.
fn carried(last: &ProcessUsage, now: &ProcessUsage) -> ProcessUsage {
    ProcessUsage { rss_bytes: now.rss_bytes.or(Some(0)), threads: now.threads, ..last.max(now) }
}

struct StatTimes {
    user_ns: u64,
    system_ns: u64,
    started_at: u64,
}

fn stat(text: &str) -> Option<StatTimes> {
    let stat = Stat::from_read(text.as_bytes()).ok()?;
    let nanoseconds = |ticks: u64| ticks.saturating_mul(1_000_000_000 / ticks_per_second());
    Some(StatTimes { user_ns: nanoseconds(stat.utime), system_ns: nanoseconds(stat.stime), started_at: stat.starttime })
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_of_a_process_with_an_awkward_name() {
        let text = "42 (a) b (c) S 1 42 42 0 -1 4194304 500 0 3 0 250 75 0 0 20 0 4 0 987654 1000000 300 \
                    18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let times = stat(text).unwrap();
        let tick = 1_000_000_000 / ticks_per_second();
        assert_eq!((times.user_ns, times.system_ns), (250 * tick, 75 * tick));
        assert_eq!(times.started_at, 987_654);
        assert!(stat("42 (cut").is_none());
        assert!(stat("").is_none());
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let a = ProcessUsage { user_ns: 1, rss_bytes: Some(2), write_bytes: None, ..ProcessUsage::default() };
        let b = ProcessUsage { user_ns: 3, rss_bytes: Some(4), write_bytes: Some(5), ..ProcessUsage::default() };
        let sum = a.plus(&b);
        assert_eq!((sum.user_ns, sum.rss_bytes, sum.write_bytes), (4, Some(6), None));
    }

    #[test]
    fn totals_stay_when_the_memory_figures_go() {
        let seen =
            ProcessUsage { user_ns: 9, rss_bytes: Some(50), rss_peak_bytes: Some(70), ..ProcessUsage::default() };
        let zombie = ProcessUsage { user_ns: 11, threads: Some(1), ..ProcessUsage::default() };
        let now = carried(&seen, &zombie);
        assert_eq!((now.user_ns, now.rss_bytes, now.rss_peak_bytes, now.threads), (11, Some(0), Some(70), Some(1)));
    }

    #[test]
    fn no_such_process() {
        let mut probe = ProcessProbe::new(u32::MAX);
        assert_eq!(probe.read(true), None);
        assert!(probe.gone());
    }

    #[cfg(target_os = "linux")]
    mod live {
        use std::io::Write;
        use std::time::{Duration, Instant};

        use super::*;
        use crate::testkit::this_test;

        /// Child of the test below: uses 200 ms of CPU in each of two threads, writes 1 MiB, sleeps 20 times.
        #[test]
        #[ignore = "the child side of a test, not a test"]
        fn busy_child() {
            let Some(file) = std::env::var_os("LITELAB_TEST_BUSY_CHILD") else {
                return;
            };
            let burn = || {
                let begin = cpu_ns();
                let mut x = 1u64;
                while cpu_ns() - begin < 200_000_000 {
                    (0..10_000).for_each(|_| x = std::hint::black_box(x).wrapping_mul(3));
                }
            };
            let other = std::thread::spawn(burn);
            burn();
            other.join().unwrap();
            let mut file = std::fs::File::create(file).unwrap();
            (0..256).for_each(|_| file.write_all(&[7; 4096]).unwrap());
            file.sync_all().unwrap();
            (0..20).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
            writeln!(std::io::stderr(), "done").unwrap();
            let _ = std::io::stdin().read_line(&mut String::new());
        }

        fn cpu_ns() -> u64 {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        }

        #[test]
        fn a_live_child_that_burns_writes_and_sleeps() {
            use std::io::BufRead;
            use std::process::Stdio;

            let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            let mut child = this_test("process::tests::live::busy_child")
                .env("LITELAB_TEST_BUSY_CHILD", dir.path().join("out"))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut probe = ProcessProbe::new(child.id());
            let first = probe.read(true).unwrap();
            let mut line = String::new();
            std::io::BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "done\n");
            let used = probe.read(true).unwrap();
            // Two threads of 200 ms each; the upper bound leaves room for start-up and steal.
            assert!((380_000_000..2_000_000_000).contains(&used.cpu_ns()), "{used:?}");
            assert!(used.user_ns >= first.user_ns);
            let written = used.write_call_bytes.unwrap();
            assert!((1_048_576..1_200_000).contains(&written), "{used:?}");
            assert!(used.write_calls.unwrap() >= 256, "{used:?}");
            assert!(used.voluntary_switches.unwrap() >= 20, "{used:?}");
            assert!(used.rss_peak_bytes >= used.rss_bytes && used.rss_bytes > Some(100_000), "{used:?}");

            // As a zombie it keeps exact totals, and its memory is freed.
            drop(child.stdin.take());
            let deadline = Instant::now() + Duration::from_secs(60);
            let ended = loop {
                let usage = probe.read(true).unwrap();
                if usage.rss_bytes == Some(0) || Instant::now() > deadline {
                    break usage;
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            assert_eq!(ended.rss_bytes, Some(0));
            assert!(!probe.gone());
            assert!(ended.cpu_ns() >= used.cpu_ns() && ended.rss_peak_bytes >= used.rss_peak_bytes);
            assert!(ended.write_call_bytes >= used.write_call_bytes);

            child.wait().unwrap();
            let gone = probe.read(true).unwrap();
            assert!(probe.gone());
            assert_eq!((gone.cpu_ns(), gone.threads), (ended.cpu_ns(), Some(0)));
        }
    }
}
