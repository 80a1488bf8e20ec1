//! One trial: a fresh copy of the database, a fresh process, a barrier, observation from outside, and checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use litelab_model::Variant;
use litelab_model::study::Location;
use litelab_model::text::message;
use litelab_observe::{FileSizes, Sampler, Summary};
use litelab_protocol::{ConnectionSettings, Message, Tick, Trial, TrialResult, Until};
use litelab_record::outcome::{Failure, FailureKind, Measurement, Outcome, Series};
use litelab_record::stacks::Stacks;

use crate::context::Stop;
pub use crate::context::{Patience, TrialContext};
use crate::kills::Kills;
use crate::merge::merge;
use crate::perf::Perf;
use crate::placed::{Placed, place};
use crate::process::{POLL, RunnerProcess, SILENT, Silence};
use crate::runner::NOOP;
use crate::servers::NodeFault;
use crate::split::split;
use crate::stall;
use crate::verify;

/// Data collected so far, kept if the trial fails.
#[derive(Default)]
struct Evidence {
    /// Settings after all connections were opened.
    settings: Vec<ConnectionSettings>,
    /// Settings after all workers had ended.
    ended: Vec<ConnectionSettings>,
    result: Option<TrialResult>,
    stderr: String,
    series: Series,
}

/// Runs a trial. An error becomes the outcome of the trial.
pub fn run(variant: &Variant, id: &str, bench: &mut TrialContext<'_>) -> (Outcome, Series) {
    sampled(variant, id, bench, None)
}

/// CPU time of a variant by function: one further trial under `perf record`, which is part of no other result. The trial
/// is checked like any other, because stacks of incorrect work are meaningless.
///
/// # Errors
/// The reason why there are no stacks, in one line.
pub(crate) fn stacks(
    variant: &Variant,
    id: &str,
    bench: &mut TrialContext<'_>,
    perf: &mut Perf,
) -> Result<Stacks, String> {
    perf.aim(variant);
    let (outcome, _) = sampled(variant, id, bench, Some(perf));
    // After a failed trial the recording still runs.
    perf.end(bench.keep_going)?;
    match outcome {
        Outcome::Measured(_) => perf.stacks(bench.keep_going),
        Outcome::Failed(failure) => Err(failure.reason),
    }
}

/// Like [`run`], with `perf` sampling the processes from `go` to the result. The trial fails if sampling fails.
fn sampled(variant: &Variant, id: &str, bench: &mut TrialContext<'_>, perf: Option<&mut Perf>) -> (Outcome, Series) {
    let mut evidence = Evidence::default();
    let outcome = match attempt(variant, id, bench, &mut evidence, perf) {
        Ok(measurement) => Outcome::Measured(Box::new(measurement)),
        Err(stop) => Outcome::Failed(Box::new(Failure {
            kind: stop.kind,
            reason: message(&stop.reason),
            stderr: evidence.stderr,
            settings: evidence.settings,
            result: evidence.result,
        })),
    };
    clear(bench.directory);
    (outcome, evidence.series)
}

/// Removes all files from the directory of a trial.
fn clear(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let _left = std::fs::remove_file(entry.path());
    }
}

fn attempt(
    variant: &Variant,
    id: &str,
    bench: &mut TrialContext<'_>,
    evidence: &mut Evidence,
    mut perf: Option<&mut Perf>,
) -> Result<Measurement, Stop> {
    clear(bench.directory);
    // Dropping `placed` drops the schemas on a server: at the end of this function, after the last runner process.
    let mut placed = place(variant, bench)?;
    let databases = placed.databases();
    let trial = Trial { id: id.to_owned(), databases, ..variant.trial.clone() };
    // An in-memory database has no files to observe until it is dumped.
    let watched = match &placed {
        Placed::Files { files, .. } if variant.location == Location::File => files.clone(),
        _ => Vec::new(),
    };
    let sampler = Sampler::start(watched)
        .map_err(|e| Stop::new(FailureKind::Runner, format!("observation could not be started: {e}")))?;

    let mut processes = Vec::new();
    let mut fault = NodeFault::of(variant, bench.servers).map_err(|e| Stop::new(FailureKind::Preparation, e))?;
    let opened = open(&trial, variant.processes, bench, &sampler, &mut processes, evidence);
    let unsampled = |e: String| Stop::new(FailureKind::Runner, e);
    let begun = opened.and_then(|()| match &mut perf {
        Some(perf) => perf.begin(processes.iter().map(RunnerProcess::id), bench.keep_going).map_err(unsampled),
        None => Ok(()),
    });
    let driven = begun.and_then(|()| drive(variant, bench, &sampler, (&mut processes, &mut fault), evidence));
    let timed = driven.and_then(|()| match &mut perf {
        Some(perf) => perf.end(bench.keep_going).map_err(unsampled),
        None => Ok(()),
    });
    if timed.is_ok() {
        // Takes the last sample before the ended processes are reaped. A process without a result is killed below, so
        // waiting for it would only cost time.
        processes.iter_mut().for_each(|p| {
            p.settle();
        });
    }
    evidence.series.samples = sampler.stop();
    let mut total_cpu: u64 = 0;
    let mut ended_badly = None;
    for process in &mut processes {
        let exited = process.finish().map_err(|e| Stop::new(FailureKind::Runner, e.to_string()))?;
        // What those that were killed have done is counted nowhere.
        total_cpu += if process.was_killed() { 0 } else { exited.cpu_ns };
        evidence.stderr.push_str(&process.stderr());
        let status = exited.status;
        let what = match process.was_killed() {
            true if by_kill(status) => continue,
            true => "a runner that was to be killed had died by itself before",
            false if status.success() => continue,
            false => "the runner gave its result and did not end well",
        };
        ended_badly.get_or_insert_with(|| format!("{what} ({status}){}", process.evidence()));
    }
    // Also after a failed trial, because the next trial needs a complete server.
    let fault = fault.as_mut().map(|fault| fault.finish(bench.keep_going));
    timed?;
    if let Some(reason) = ended_badly {
        return Err(Stop::new(FailureKind::Runner, reason));
    }
    let mut gauges = fault.transpose().map_err(|e| Stop::new(FailureKind::Server, e))?;

    let result = evidence.result.clone().unwrap_or_default();
    verify::counts(variant, &result)
        .and_then(|()| verify::ceiling(variant, &result))
        .map_err(|e| Stop::new(FailureKind::Counts, e))?;
    // Measured before the checks open the database, which checkpoints the log.
    let sizes = placed.files().iter().map(|f| FileSizes::of(f));
    let (database_bytes, wal_after_bytes) =
        sizes.fold((0, 0), |(db, wal), s| (db + s.database.unwrap_or(0), wal + s.wal.unwrap_or(0)));
    verify::storage(&result).map_err(|e| Stop::new(FailureKind::Storage, e))?;
    verify::failures(variant, &result).map_err(|e| Stop::new(FailureKind::Transactions, e))?;
    let complete = variant.kill.is_none() && result.operations.iter().all(|o| o.unfinished.is_empty());
    if variant.trial.driver != NOOP {
        verify::kept(&evidence.settings, &evidence.ended, complete).map_err(|e| Stop::new(FailureKind::Settings, e))?;
    }
    let broken = |e| Stop::new(FailureKind::Invariant, e);
    verify::verified(&result).map_err(broken)?;
    let content = match &mut gauges {
        None => placed.check(variant, &result).map_err(broken)?,
        Some(gauges) => {
            let (content, lost) = placed.check_nodes(variant, &result).map_err(broken)?;
            gauges.extend(lost.map(|lost| ("lost".to_owned(), lost as f64)));
            content
        }
    };
    let summary = Summary::since(&evidence.series.samples, evidence.series.go_ns);
    let late = if summary.samples == 0 { 0.0 } else { summary.late_samples as f64 / summary.samples as f64 };
    Ok(Measurement {
        cpu_ns: total_cpu,
        database_bytes,
        wal_after_bytes,
        flags: verify::flags(variant, &result, late),
        settings: std::mem::take(&mut evidence.settings),
        content,
        summary,
        result,
        search: None,
        on_server: variant.server.is_some(),
        stall_ns: stall::longest(&evidence.series.ticks),
        gauges: gauges.unwrap_or_default(),
        timed_ns: timed_roles(&variant.trial),
    })
}

/// Roles that end by time, with their duration after the warm-up in nanoseconds.
fn timed_roles(trial: &Trial) -> BTreeMap<String, u64> {
    let timed = trial.roles.iter().filter_map(|role| match role.until {
        Until::Time { ms } => Some((role.name.clone(), ms.saturating_sub(trial.warmup_ms).saturating_mul(1_000_000))),
        Until::Count { .. } | Until::Role { .. } => None,
    });
    timed.collect()
}

/// Whether a process was ended by the signal that a trial uses for kills.
fn by_kill(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::KILL.as_raw())
}

/// Starts the processes one after the other, each after the previous one has opened its connections: switching the
/// journal mode needs exclusive access to the database, and the start of an application's processes is not measured.
fn open(
    trial: &Trial,
    split_into: Option<u32>,
    bench: &mut TrialContext<'_>,
    sampler: &Sampler,
    processes: &mut Vec<RunnerProcess>,
    evidence: &mut Evidence,
) -> Result<(), Stop> {
    for part in split(trial, split_into) {
        let mut process = RunnerProcess::start(bench.runner.command("run"), &part, bench.directory)
            .map_err(|e| Stop::new(FailureKind::Runner, e))?;
        sampler.add_process(process.id());
        let line = process.next_line(bench.patience.ready, bench.keep_going);
        let outcome = match line {
            Ok(Message::Ready(ready)) => {
                evidence.settings.extend(ready.connections);
                Ok(())
            }
            Ok(Message::Failed(failed)) => Err(refused(&failed)),
            Ok(other) => Err(broken(&process, &format!("the runner said `{}` where `ready` was due", other.kind()))),
            Err(e) => Err(Stop::new(FailureKind::Runner, e)),
        };
        processes.push(process);
        outcome?;
    }
    Ok(())
}

/// Failure for a violation of the protocol, with the runner's standard error.
fn broken(process: &RunnerProcess, what: &str) -> Stop {
    Stop::new(FailureKind::Runner, format!("{what}{}", process.evidence()))
}

/// Lines received from a process since `go`.
#[derive(Default)]
struct Received {
    silent: Silence,
    ticks: Vec<Tick>,
    result: Option<TrialResult>,
}

/// Drives the processes from `go` to the last line of the last process.
fn drive(
    variant: &Variant,
    bench: &mut TrialContext<'_>,
    sampler: &Sampler,
    (processes, fault): (&mut [RunnerProcess], &mut Option<NodeFault<'_>>),
    evidence: &mut Evidence,
) -> Result<(), Stop> {
    // The no-op driver has no connection with settings.
    if variant.trial.driver != NOOP {
        verify::settings(variant, &evidence.settings).map_err(|e| Stop::new(FailureKind::Settings, e))?;
    }

    // Without a sampler, which would have panicked, there are no samples to compare this time with.
    evidence.series.go_ns = sampler.sample_now().unwrap_or_default();
    let begun = Instant::now();
    let limit = variant.duration_ms.map_or(bench.patience.trial, |ms| {
        Duration::from_millis(ms * 3 + variant.trial.drain_ms) + Duration::from_secs(60)
    });
    processes.iter_mut().for_each(|process| process.go(limit));
    let mut kills = Kills::new(variant, processes);
    fault.iter_mut().for_each(|fault| fault.begin(begun));
    let mut heard: Vec<Received> = processes.iter().map(|_| Received::default()).collect();
    let mut open: Vec<usize> = (0..processes.len()).collect();
    let (mut idle, mut spent) = (Silence::default(), Silence::default());
    while !open.is_empty() {
        kills.due(begun.elapsed());
        fault.iter_mut().for_each(NodeFault::poll);
        if !(bench.keep_going)() {
            return Err(Stop::new(FailureKind::Runner, "stopped"));
        }
        // Reads one line of each process in turn, so that a hang is detected while other processes work.
        let (round, wait) = (Instant::now(), (POLL / open.len() as u32).max(Duration::from_millis(1)));
        for index in std::mem::take(&mut open) {
            let (process, heard) = (&mut processes[index], &mut heard[index]);
            match process.line_within(wait) {
                Ok(None) => open.push(index),
                Ok(Some(Message::Tick(tick))) => {
                    if is_progress(&variant.trial, &tick) {
                        idle = Silence::default();
                    }
                    heard.ticks.push(tick);
                    heard.silent = Silence::default();
                    open.push(index);
                }
                Ok(Some(Message::Result(_))) if kills.is_victim(index) => {
                    return Err(broken(process, "a runner that was to be killed while it worked had ended before"));
                }
                Ok(Some(Message::Result(result))) => heard.result = Some(*result),
                Err(_) if kills.killed(index) => process.expect_killed(),
                Ok(Some(Message::Failed(failed))) => return Err(refused(&failed)),
                Ok(Some(other @ Message::Ready(_))) => {
                    return Err(broken(process, &format!("the runner said `{}` twice", other.kind())));
                }
                Err(e) if kills.is_victim(index) => {
                    let how = e.strip_prefix("the runner died").map_or_else(|| format!(": {e}"), str::to_owned);
                    let reason = format!("a runner that was to be killed had died by itself before{how}");
                    return Err(Stop::new(FailureKind::Runner, reason));
                }
                Err(e) => return Err(Stop::new(FailureKind::Runner, e)),
            }
        }
        if spent.add(round.elapsed()) > limit
            && let Some(first) = open.first()
        {
            let reason = format!("the trial was not over after {:.0} s", limit.as_secs_f64());
            return Err(broken(&processes[*first], &reason));
        }
        for index in &open {
            let lasts = heard[*index].silent.lasts(round.elapsed(), bench.patience.silence, SILENT);
            lasts.map_err(|e| Stop::new(FailureKind::Runner, e))?;
        }
        if variant.duration_ms.is_none() {
            let lasts = idle.lasts(round.elapsed(), bench.patience.progress, "no transaction ended");
            lasts.map_err(|e| Stop::new(FailureKind::Runner, e))?;
        }
    }
    // Ticks are stored one process after the other.
    let (mut results, mut ticks_of_killed) = (Vec::new(), Vec::new());
    for heard in heard {
        match heard.result {
            Some(result) => {
                results.push(result);
                evidence.series.ticks.extend(heard.ticks);
            }
            None => ticks_of_killed.extend(heard.ticks),
        }
    }
    let mut result = merge(results);
    evidence.ended = std::mem::take(&mut result.connections);
    check_ticks(&evidence.series.ticks, &result).map_err(|e| Stop::new(FailureKind::Counts, e))?;
    // Ticks of killed processes belong to the time series, but not to the result.
    evidence.series.ticks.append(&mut ticks_of_killed);
    evidence.result = Some(result);
    Ok(())
}

/// Whether a transaction has ended, or an error occurred, in a role that does not end with another one.
fn is_progress(trial: &Trial, tick: &Tick) -> bool {
    let waits = |name: &str| trial.roles.iter().any(|r| r.name == name && matches!(r.until, Until::Role { .. }));
    tick.counts.iter().any(|c| c.committed + c.empty + c.failed + c.errors > 0 && !waits(&c.role))
}

/// Checks that the ticks do not add up to more than the result. They may add up to less: ticks may stop before the end.
fn check_ticks(ticks: &[Tick], result: &TrialResult) -> Result<(), String> {
    let ticked: u64 = ticks.iter().flat_map(|t| &t.counts).map(|c| c.committed).sum();
    let total: u64 = result.operations.iter().map(|o| o.committed).sum();
    if ticked > total {
        return Err(format!("ticks add up to {ticked} committed transactions, the result to {total}"));
    }
    Ok(())
}

fn refused(failed: &litelab_protocol::Failed) -> Stop {
    let code = failed.code.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
    Stop::new(FailureKind::Refused, format!("{}{code}", failed.reason))
}
