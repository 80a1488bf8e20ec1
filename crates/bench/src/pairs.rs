//! Pairs of trials, each side in a new process and in random order, and their comparison.

use anyhow::{Context, Result, bail, ensure};
use litelab_engine::Servers;
use litelab_engine::runner::Runner;
use litelab_engine::trial::{self, Patience, TrialContext};
use litelab_model::Variant;
use litelab_record::outcome::Outcome as TrialOutcome;
use litelab_stats::{Bounds, Confidence, Estimate, PairedRatio};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Folder of the benches' files, below the current folder: on a real disk, and ignored by git.
const FOLDER: &str = "litelab-runs/bench";

/// Pause between two trials, for the disk and the clock frequency.
const REST: Duration = Duration::from_millis(300);

/// Measurement that one side takes of itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Wall-clock time of the work, in seconds.
    pub seconds: f64,
    /// CPU time of the process in seconds, user and system, all threads; `None` if a side cannot separate that of its
    /// loop.
    pub cpu_seconds: Option<f64>,
    /// Units of work; equal on both sides if they end by count.
    pub units: u64,
}

impl Sample {
    /// Units per second.
    fn rate(&self) -> f64 {
        self.units as f64 / self.seconds
    }
}

/// Runs `work`, which returns its number of units, and prints the sample for the parent process.
pub fn report(work: impl FnOnce() -> Result<u64>) -> Result<()> {
    let cpu_before = cpu_seconds()?;
    let begun = Instant::now();
    let units = work()?;
    let seconds = begun.elapsed().as_secs_f64();
    let sample = Sample { seconds, cpu_seconds: Some(cpu_seconds()? - cpu_before), units };
    println!("{}", serde_json::to_string(&sample)?);
    Ok(())
}

fn cpu_seconds() -> Result<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Runs one side in a new process: this program with `side` and `arguments`.
pub fn trial(arguments: &[&OsStr]) -> Result<Sample> {
    let program = std::env::current_exe().context("find this program")?;
    let output = Command::new(program).arg("side").args(arguments).output().context("start a side")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?} ended with {}: {errors}", output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?} said no sample: {errors}"))
}

/// Runs sides in this order. Returns their samples by the number of the side.
pub fn in_order(order: &[usize], mut run: impl FnMut(usize) -> Result<Sample>) -> Result<Vec<Sample>> {
    let mut samples = order.iter().map(|&side| Ok((side, run(side)?))).collect::<Result<Vec<_>>>()?;
    samples.sort_by_key(|(side, _)| *side);
    Ok(samples.into_iter().map(|(_, sample)| sample).collect())
}

/// Runs one trial in an empty folder.
pub fn by_runner(
    runner: &Runner,
    variant: &Variant,
    prepared: &Path,
    servers: Option<&Servers>,
    folder: &Path,
) -> Result<Sample> {
    let directory = std::path::absolute(folder)?;
    let patience = Patience::default();
    let mut bench =
        TrialContext { runner, prepared, servers, directory: &directory, patience, keep_going: &mut || true };
    match trial::run(variant, "bench", &mut bench).0 {
        TrialOutcome::Measured(m) => {
            let failed: u64 = m.result.operations.iter().map(|o| o.failed).sum();
            ensure!(failed == 0, "{failed} of litelab's transactions failed");
            let committed = m.result.operations.iter().map(|o| o.committed).sum();
            Ok(Sample { seconds: m.result.elapsed_ns as f64 / 1e9, cpu_seconds: None, units: committed })
        }
        TrialOutcome::Failed(failure) => bail!("the runner failed: {}", failure.reason),
    }
}

/// A folder for one bench, deleted with its content on drop.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new(bench: &str) -> Result<Self> {
        fs::create_dir_all(FOLDER).with_context(|| format!("make {FOLDER}"))?;
        let mut builder = tempfile::Builder::new();
        // The user of a server must be able to search it.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
        Ok(Self(builder.prefix(bench).tempdir_in(FOLDER)?))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates an empty folder for one trial. An existing folder of that name is deleted.
    pub fn fresh(&self, name: &str) -> Result<PathBuf> {
        let folder = self.0.path().join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        Ok(folder)
    }
}

/// Syncs the files of a trial, so that the next trial does not wait for them, and pauses.
pub fn settle(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(folder)?.sync_all()?;
    std::thread::sleep(REST);
    Ok(())
}

/// Reads a file once, so that later trials find it in the page cache.
pub fn warm(path: &Path) -> Result<()> {
    std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    Ok(())
}

/// One target: the speed of litelab relative to its yardstick.
pub struct Comparison {
    /// Description for the reader.
    pub name: String,
    /// Smallest ratio of rates, litelab / yardstick, that meets the target.
    pub target: f64,
    /// Whether the sides end by time, and so with different numbers of units.
    timed: bool,
    rounds: Vec<(Sample, Sample)>,
}

/// Result for one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The whole interval is at or above the target.
    Shown,
    /// The estimate is at or above the target, but the interval is not, or there is none.
    Likely,
    /// The estimate is below the target.
    Missed,
}

impl Comparison {
    pub fn new(name: &str, target: f64) -> Self {
        Self { name: name.to_owned(), target, timed: false, rounds: Vec::new() }
    }

    /// A comparison of sides that work for the same time.
    pub fn for_a_time(name: &str, target: f64) -> Self {
        Self { timed: true, ..Self::new(name, target) }
    }

    /// Adds a pair and prints it.
    pub fn add(&mut self, yardstick: Sample, litelab: Sample) -> Result<()> {
        let same = yardstick.units == litelab.units;
        ensure!(self.timed || same, "{}: {yardstick:?} and {litelab:?} did different work", self.name);
        let side = |sample: Sample| {
            let cpu = sample.cpu_seconds.map(|cpu| format!(" ({cpu:.2} CPU s)")).unwrap_or_default();
            match self.timed {
                true => format!("{:.0}/s{cpu}", sample.rate()),
                false => format!("{:.3} s{cpu}", sample.seconds),
            }
        };
        let ratio = litelab.rate() / yardstick.rate();
        println!("  {:<18} yardstick {}, litelab {}: {ratio:.3}", self.name, side(yardstick), side(litelab));
        self.rounds.push((yardstick, litelab));
        Ok(())
    }

    /// Prints the ratios of rates and of CPU time. Returns the result for the target.
    pub fn conclude(&self) -> Result<Outcome> {
        let rate = self.paired(|sample| Some(sample.rate()))?.context("no pairs")?;
        let cpu = self.paired(|sample| sample.cpu_seconds)?;
        let outcome = judge(&rate, self.target);
        let verdict = match outcome {
            Outcome::Shown => "met",
            Outcome::Likely => "met by the estimate, not by the whole interval",
            Outcome::Missed => "MISSED",
        };
        let cpu = cpu.map(|cpu| format!("; CPU time {}", show(&cpu))).unwrap_or_default();
        println!("{}: litelab/yardstick {} (target {}): {verdict}{cpu}", self.name, show(&rate), self.target);
        Ok(outcome)
    }

    /// `None` if a sample lacks the metric.
    fn paired(&self, metric: impl Fn(&Sample) -> Option<f64>) -> Result<Option<Estimate>> {
        let rounds: Option<Vec<_>> =
            self.rounds.iter().map(|(base, ours)| Some((metric(base)?, metric(ours)?))).collect();
        Ok(match rounds {
            Some(rounds) => Some(PairedRatio::from_rounds(&rounds, Confidence::P95)?.ratio),
            None => None,
        })
    }
}

fn judge(rate: &Estimate, target: f64) -> Outcome {
    match rate.low() {
        Some(low) if low >= target => Outcome::Shown,
        _ if rate.value >= target => Outcome::Likely,
        _ => Outcome::Missed,
    }
}

fn show(estimate: &Estimate) -> String {
    match &estimate.bounds {
        Bounds::Interval(interval) => format!(
            "{:.3} [{:.3}, {:.3}] at {:.1} %, n = {}",
            estimate.value,
            interval.low(),
            interval.high(),
            100.0 * interval.confidence(),
            estimate.n
        ),
        Bounds::NeedsAtLeast(pairs) => {
            format!("{:.3}, n = {} (an interval needs {pairs})", estimate.value, estimate.n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(ratios: &[f64]) -> Comparison {
        let mut comparison = Comparison::new("test", 0.9);
        for ratio in ratios {
            let sample = |seconds| Sample { seconds, cpu_seconds: Some(seconds), units: 100 };
            comparison.add(sample(1.0), sample(1.0 / ratio)).expect("same work");
        }
        comparison
    }

    #[test]
    fn a_target_is_judged_by_estimate_and_interval() {
        let above = comparison(&[1.0, 1.1, 1.05, 0.95, 1.02, 1.2]);
        assert_eq!(above.conclude().expect("judged"), Outcome::Shown);
        let across = comparison(&[1.0, 1.1, 1.05, 0.8, 1.02, 1.2]);
        assert_eq!(across.conclude().expect("judged"), Outcome::Likely);
        let below = comparison(&[0.8, 0.85, 0.7, 1.1, 0.8, 0.82]);
        assert_eq!(below.conclude().expect("judged"), Outcome::Missed);
        // Three pairs are too few for a 95 % interval.
        assert_eq!(comparison(&[1.5, 1.5, 1.5]).conclude().expect("judged"), Outcome::Likely);
    }

    #[test]
    fn different_work_is_no_pair() {
        let sample = |units| Sample { seconds: 1.0, cpu_seconds: None, units };
        assert!(Comparison::new("test", 1.0).add(sample(10), sample(11)).is_err());
    }

    #[test]
    fn sides_that_end_by_time_are_compared_by_their_rates() {
        let sample = |units, seconds| Sample { seconds, cpu_seconds: None, units };
        let comparison = |ours| {
            let mut comparison = Comparison::for_a_time("test", 0.9);
            (0..6).for_each(|_| comparison.add(sample(1000, 5.0), ours).expect("a pair"));
            comparison.conclude().expect("judged")
        };
        assert_eq!(comparison(sample(460, 2.5)), Outcome::Shown);
        assert_eq!(comparison(sample(440, 2.5)), Outcome::Missed);
    }
}
