//! Trials as CSV: one row for each role and transaction of each trial; one row for a failed trial.
//!
//! Times are in nanoseconds, sizes in bytes, rates per second. Columns from `cpu_ns` on describe the whole trial and
//! are repeated in each of its rows. A field without a value is empty, as is that of a quantile q of fewer than
//! 10/(1 − q) observations.

use std::io::Write;

use litelab_model::metric::Timing;
use litelab_model::text::printable;
use litelab_protocol::TransactionResult;
use litelab_protocol::histogram::Histogram;
use litelab_record::measure;
use litelab_record::outcome::{Measurement, Outcome, TrialRecord};
use litelab_record::{RunFile, RunInfo};

use crate::error::ReportError;

/// The first line: names of the values of a trial, of an operation and of the whole trial.
const HEADER: &str = "round,position,variant,scenario,label,driver,profile,started,seconds,outcome,reason,\
    role,transaction,committed,empty,failed,ended,unfinished,measured,rows,errors,errors_cured,unserved,measured_ns,\
    throughput,rows_per_second,mean,p50,p95,p99,p999,max,\
    response_p50,response_p99,response_max,lag_p50,lag_p99,lag_max,wait_p50,wait_p99,query,first_row,\
    cpu_ns,wal_peak,wal_after,database_size,written,memory,voluntary_switches,involuntary_switches";

/// Writes all trials of a run, one at a time.
///
/// # Errors
/// If the run file cannot be read or is damaged, or the output cannot be written.
pub fn trials(file: &RunFile, info: &RunInfo, out: impl Write) -> Result<(), ReportError> {
    let mut writer = csv::Writer::from_writer(out);
    let mut done = writer.write_record(HEADER.split(',')).map_err(ReportError::from);
    file.trials(&mut |trial| {
        if done.is_ok() {
            done = rows(&trial.record, info)
                .iter()
                .try_for_each(|row| writer.write_record(row.iter().map(|field| printable(field).into_owned())))
                .map_err(ReportError::from);
        }
        Ok(())
    })?;
    done?;
    writer.flush().map_err(ReportError::Write)
}

fn rows(record: &TrialRecord, info: &RunInfo) -> Vec<Vec<String>> {
    let variant = info.plan.variants.get(record.variant);
    let scenario = variant.and_then(|variant| info.plan.scenarios.get(variant.scenario));
    let (outcome, reason) = match &record.outcome {
        Outcome::Measured(_) => ("measured".to_owned(), String::new()),
        Outcome::Failed(failure) => {
            let kind = serde_json::to_value(failure.kind).ok().and_then(|k| k.as_str().map(str::to_owned));
            (format!("failed:{}", kind.unwrap_or_default()), failure.reason.clone())
        }
    };
    let head = vec![
        record.round.to_string(),
        record.position.to_string(),
        record.variant.to_string(),
        scenario.map(|s| s.name.clone()).unwrap_or_default(),
        variant.map(litelab_model::Variant::label).unwrap_or_default(),
        variant.map(|a| a.driver.clone()).unwrap_or_default(),
        variant.map(|a| a.profile.clone()).unwrap_or_default(),
        record.started.clone(),
        record.seconds.to_string(),
        outcome,
        reason,
    ];
    match &record.outcome {
        Outcome::Failed(_) => {
            let mut row = head;
            row.resize(HEADER.split(',').count(), String::new());
            vec![row]
        }
        Outcome::Measured(measurement) => {
            let operations = measurement.result.operations.iter();
            operations.map(|o| [head.clone(), operation(o, measurement), whole(measurement)].concat()).collect()
        }
    }
}

fn operation(operation: &TransactionResult, measurement: &Measurement) -> Vec<String> {
    let rate = |count: f64| text(measure::rate(measurement, operation, count));
    let ended = operation.ended as f64;
    let sum = |of: fn(&litelab_protocol::ErrorCount) -> u64| {
        operation.errors.values().map(of).fold(0, u64::saturating_add).to_string()
    };
    let service = measure::latencies(operation, Timing::Service);
    let service = service.as_deref();
    let enough = |histogram: &&Histogram, q: f64| histogram.count() as f64 * (1.0 - q) > 9.999;
    let at = |histogram: Option<&Histogram>, q: f64| {
        text(histogram.filter(|histogram| enough(histogram, q)).and_then(|histogram| histogram.quantile(q)))
    };
    let max = |histogram: Option<&Histogram>| text(histogram.and_then(Histogram::max));
    let timer = |name: &str| operation.timers.get(name);
    let (response, lag, wait) = (measure::latencies(operation, Timing::Response), timer("lag"), timer("wait"));
    let response = response.as_deref();
    vec![
        operation.role.clone(),
        operation.transaction.clone(),
        operation.committed.to_string(),
        operation.empty.to_string(),
        operation.failed.to_string(),
        operation.ended.to_string(),
        operation.unfinished.len().to_string(),
        operation.measured.to_string(),
        operation.rows.to_string(),
        sum(|e| e.seen),
        sum(|e| e.cured),
        operation.unserved.to_string(),
        measurement.result.measured_ns.to_string(),
        rate(ended),
        rate(operation.rows as f64 * ended / operation.measured.max(1) as f64),
        text(service.and_then(Histogram::mean)),
        at(service, 0.5),
        at(service, 0.95),
        at(service, 0.99),
        at(service, 0.999),
        max(service),
        at(response, 0.5),
        at(response, 0.99),
        max(response),
        at(lag, 0.5),
        at(lag, 0.99),
        max(lag),
        at(wait, 0.5),
        at(wait, 0.99),
        at(timer("query"), 0.5),
        at(timer("first_row"), 0.5),
    ]
}

fn whole(measurement: &Measurement) -> Vec<String> {
    let summary = &measurement.summary;
    // The sizes of a server's files are not measured.
    let of_files = |bytes: Option<u64>| text(bytes.filter(|_| !measurement.on_server));
    vec![
        measurement.cpu_ns.to_string(),
        of_files(Some(summary.wal_peak_bytes)),
        of_files(Some(measurement.wal_after_bytes)),
        of_files(Some(measurement.database_bytes)),
        of_files(summary.written_bytes),
        text(summary.rss_peak_bytes),
        text(summary.voluntary_switches),
        text(summary.involuntary_switches),
    ]
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
