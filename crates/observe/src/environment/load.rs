//! CPU load of the machine, including time taken by other guests.

use std::time::Instant;

use procfs_core::{FromRead, LoadAverage};
use serde::{Deserialize, Serialize};

use crate::proc_file;

/// CPU time of the machine during a window. Shares are of the time of all processors, from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadWindow {
    /// Length of the window, seconds.
    pub seconds: f64,
    /// Clock ticks counted over all processors. Few ticks make the shares coarse: one tick in 20 is 5 %.
    pub ticks: Option<u64>,
    /// Share of time spent working, including this program.
    pub busy_share: Option<f64>,
    /// Share of time in which the hypervisor ran other guests although this machine had work.
    pub steal_share: Option<f64>,
    /// Load averages over 1, 5 and 15 minutes at the end of the window. On Linux they include waits for storage.
    pub load_average: Option<[f64; 3]>,
}

/// A window in progress.
#[derive(Debug)]
pub struct LoadProbe {
    begin: Instant,
    ticks: Option<Ticks>,
}

impl LoadProbe {
    /// Starts a window.
    #[must_use]
    pub fn start() -> Self {
        LoadProbe { begin: Instant::now(), ticks: Ticks::now() }
    }

    /// Ends the window.
    #[must_use]
    pub fn finish(&self) -> LoadWindow {
        let mut window = self.ticks.zip(Ticks::now()).map(|(a, b)| a.until(b)).unwrap_or_default();
        window.seconds = self.begin.elapsed().as_secs_f64();
        window.load_average = proc_file("/proc/loadavg").and_then(|text| load_average(&text));
        window
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    total: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::parse(&proc_file("/proc/stat")?)
    }

    /// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. The two guest
    /// columns after them are already part of user and nice.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let columns: Vec<u64> = line.split_whitespace().take(8).map_while(|column| column.parse().ok()).collect();
        let at = |column: usize| columns.get(column).copied().unwrap_or(0);
        let total = columns.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
        (columns.len() >= 4).then(|| Ticks { total, idle: at(3), iowait: at(4), steal: at(7) })
    }

    fn until(self, later: Self) -> LoadWindow {
        let ticks = later.total.saturating_sub(self.total);
        // iowait may decrease, so a difference is at least zero.
        let part = |of: fn(&Self) -> u64| of(&later).saturating_sub(of(&self));
        let share = |ticks_of: u64| (ticks > 0).then(|| (ticks_of as f64 / ticks as f64).min(1.0));
        let idle = part(|t| t.idle) + part(|t| t.iowait) + part(|t| t.steal);
        LoadWindow {
            ticks: Some(ticks),
            busy_share: share(ticks.saturating_sub(idle)),
            steal_share: share(part(|t| t.steal)),
            ..LoadWindow::default()
        }
    }
}

fn load_average(text: &str) -> Option<[f64; 3]> {
    let load = LoadAverage::from_read(text.as_bytes()).ok()?;
    // The file has two decimals; a direct conversion from f32 would give 0.10000000149.
    Some([load.one, load.five, load.fifteen].map(|load| (f64::from(load) * 100.0).round() / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_window() {
        let before = Ticks::parse("cpu  100 0 50 1000 20 1 2 10 99 0\ncpu0 1 1 1 1\n").unwrap();
        let after = Ticks::parse("cpu  150 0 70 1060 30 1 2 70 120 0\n").unwrap();
        // 50 user + 20 system + 60 idle + 10 iowait + 60 stolen = 200.
        let window = before.until(after);
        assert_eq!((window.ticks, window.steal_share, window.busy_share), (Some(200), Some(0.3), Some(0.35)));
    }

    #[test]
    fn a_window_without_a_tick_has_no_shares() {
        let ticks = Ticks::parse("cpu  1 2 3 4\n").unwrap();
        assert_eq!((ticks.until(ticks).steal_share, ticks.until(ticks).ticks), (None, Some(0)));
        assert_eq!(Ticks::parse("cpu  1 2\n"), None);
        assert_eq!(Ticks::parse("cpu0 1 2 3 4\n"), None);
    }

    #[test]
    fn load_averages() {
        assert_eq!(load_average("0.10 1.25 13.07 3/512 4711\n"), Some([0.1, 1.25, 13.07]));
        assert_eq!(load_average("x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_is_seen_as_busy() {
        let probe = LoadProbe::start();
        let begin = Instant::now();
        while begin.elapsed().as_millis() < 200 {
            std::hint::black_box(0);
        }
        let window = probe.finish();
        assert!(window.ticks > Some(0) && window.seconds >= 0.2, "{window:?}");
        // One of n processors was busy with this test, or its time was stolen. n counts all processors in the file,
        // although this process may be restricted to some of them.
        let stat = proc_file("/proc/stat").unwrap();
        let cores = (stat.lines().filter(|line| line.starts_with("cpu")).count() - 1) as f64;
        let at_work = window.busy_share.unwrap() + window.steal_share.unwrap();
        assert!(at_work >= 0.5 / cores, "{window:?}");
    }
}
