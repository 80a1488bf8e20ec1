//! Time series of all trials as CSV: one row for each sample, with the ticks since the previous one.
//!
//! `seconds` count from `go`; sizes are in bytes; frames, restarts and CPU are totals; transactions and errors are
//! counts since the previous row; the lag of the host is the longest since then, and empty without a probe. What is of files
//! is empty for a server and for a database in memory.

use std::io::Write;

use litelab_model::study::Location;
use litelab_model::text::printable;
use litelab_record::outcome::{Outcome, Series};
use litelab_record::{RunFile, RunInfo};

use crate::error::ReportError;

/// The first line: names of the values of a trial, then of a sample.
const HEADER: &str = "round,variant,scenario,label,\
    seconds,committed,empty,failed,errors,busy,host_lag_ns,\
    database_bytes,wal_bytes,wal_backlog,frames_backfilled,wal_restarts,cpu_ns";

/// Writes the time series of all measured trials, one trial at a time.
///
/// # Errors
/// If the run file cannot be read or is damaged, or the output cannot be written.
pub fn trials(file: &RunFile, info: &RunInfo, out: impl Write) -> Result<(), ReportError> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(HEADER.split(','))?;
    let mut trials = Vec::new();
    file.trials(&mut |trial| {
        if let Outcome::Measured(measurement) = &trial.record.outcome {
            trials.push((trial.id, trial.record.round, trial.record.variant, measurement.on_server));
        }
        Ok(())
    })?;
    for (id, round, variant, on_server) in trials {
        let planned = info.plan.variants.get(variant);
        let has_files = !on_server && planned.is_some_and(|variant| variant.location == Location::File);
        let scenario = planned.and_then(|a| info.plan.scenarios.get(a.scenario));
        let label = planned.map(litelab_model::Variant::label).unwrap_or_default();
        let name = scenario.map(|s| s.name.as_str()).unwrap_or_default();
        let head =
            [round.to_string(), variant.to_string(), printable(name).into_owned(), printable(&label).into_owned()];
        for row in rows(&file.series(id)?, has_files) {
            writer.write_record(head.iter().chain(&row))?;
        }
    }
    writer.flush().map_err(ReportError::Write)
}

/// Rows of a trial; those of files are empty if it has none here.
fn rows(series: &Series, has_files: bool) -> Vec<[String; 13]> {
    let of_files = |value: u64| if has_files { value.to_string() } else { String::new() };
    let mut ticks: Vec<_> = series.ticks.iter().collect();
    ticks.sort_by_key(|tick| tick.t_ms);
    let mut ticks = ticks.into_iter().peekable();
    let mut rows = Vec::new();
    let mut samples = series.samples.iter().filter(|sample| sample.at_ns >= series.go_ns).peekable();
    while let Some(sample) = samples.next() {
        let nanos = sample.at_ns - series.go_ns;
        let last = samples.peek().is_none();
        let mut counts = [0_u64; 5];
        let mut lag: Option<u64> = None;
        // The last tick is emitted after the last sample, so the last row takes all remaining ticks.
        while let Some(tick) = ticks.next_if(|tick| last || tick.t_ms.saturating_mul(1_000_000) <= nanos) {
            lag = lag.max(tick.lag_ns);
            for count in &tick.counts {
                let all = [count.committed, count.empty, count.failed, count.errors, count.busy];
                counts.iter_mut().zip(all).for_each(|(sum, n)| *sum = sum.saturating_add(n));
            }
        }
        let [committed, empty, failed, errors, busy] = counts.map(|n| n.to_string());
        rows.push([
            format!("{:.3}", nanos as f64 / 1e9),
            committed,
            empty,
            failed,
            errors,
            busy,
            lag.map(|nanos| nanos.to_string()).unwrap_or_default(),
            of_files(sample.database_bytes),
            of_files(sample.wal_bytes),
            sample.wal_backlog.map(|frames| frames.to_string()).unwrap_or_default(),
            of_files(sample.frames_backfilled),
            of_files(sample.wal_restarts),
            sample.process.map(|p| p.cpu_ns().to_string()).unwrap_or_default(),
        ]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use litelab_protocol::{Tick, TickCount};
    use litelab_record::Sample;

    use super::*;

    #[test]
    fn every_tick_is_in_one_row() {
        let tick = |t_ms| Tick {
            t_ms,
            counts: vec![TickCount { committed: t_ms, ..TickCount::default() }],
            ..Tick::default()
        };
        let sample = |ms: u64| Sample { at_ns: ms * 1_000_000, ..Sample::default() };
        let samples = vec![sample(90), sample(100), sample(200), sample(300)];
        let series = Series { samples, go_ns: 100_000_000, ticks: vec![tick(150), tick(50), tick(250)] };
        assert!(rows(&series, false).iter().all(|row| row[7..12].iter().all(String::is_empty)));
        let rows = rows(&series, true);
        // The sample before `go` has no row.
        let committed: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(committed, ["0", "50", "400"]);
        assert_eq!(rows[2][0], "0.200");
    }
}
