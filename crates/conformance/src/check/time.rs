//! Time: limits, pauses, the warm-up, and a complete account of each worker's time.

use litelab_engine::verify;
use litelab_protocol::{Load, Until};
use litelab_record::outcome::Flag;

use super::{Found, passed, sharing};
use crate::draft::{Draft, TABLE, count, slow_insert};
use crate::error::{ensure, timely};
use crate::subject::Subject;

/// Allowance for the last transaction and a busy machine, in milliseconds.
const SLACK_MS: u64 = 500;

pub fn limit(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let trial = Draft::new(subject).on(&*database).transaction(slow_insert(500)).only(1, Until::Time { ms: 200 });
    let heard = subject.run(&trial)?;
    let result = &heard.result;
    let (elapsed, measured) = (result.elapsed_ns, result.measured_ns);
    let ran = elapsed / 1_000_000;
    ensure!(ran >= 195, "it was to run for 200 ms, and says it ran for {ran} ms");
    let wall = heard.took.as_nanos() as u64;
    ensure!(elapsed <= wall, "it says it ran for {elapsed} ns, and from outside it was {wall} ns");
    ensure!(measured == elapsed, "without a warm-up {measured} ns of {elapsed} were measured");
    let operation = &result.operations[0];
    sharing::of_workers(subject, &trial, result, &*database, 0)?;
    timely!(ran < 200 + SLACK_MS, "it was to run for 200 ms, and says it ran for {ran} ms");
    // On a busy machine each transaction may take as long as ten; the sums below check that they fill the time.
    timely!(operation.committed > 5, "{} transactions of half a millisecond in 200 ms", operation.committed);
    let least = operation.service.quantile(0.0).unwrap_or_default();
    ensure!(least >= 495_000, "every transaction pauses for 500 µs, and one took {least} ns by its `service`");
    let worker = &result.workers[0];
    let whole = worker.inside_ns + worker.outside_ns;
    // The window ends after 200 ms, however long the last transaction takes.
    let window = measured.min(200_000_000);
    timely!(
        whole.abs_diff(window) < window / 20,
        "its worker spent {} ns inside and {} outside of {window}",
        worker.inside_ns,
        worker.outside_ns
    );
    for flag in verify::flags(&subject.variant(&trial), result, 0.0) {
        if let Flag::LittlesLaw { difference } = flag {
            timely!(false, "Little's law: number in flight × rate is off by {:.0} %", difference * 100.0);
        }
    }
    passed(format!("{} transactions in {:.1} ms", operation.committed, elapsed as f64 / 1e6))
}

pub fn think(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let mut trial = Draft::new(subject).on(&*database).transaction(slow_insert(0)).only(1, count(9));
    trial.roles[0].load = Load::Closed { think_us: 40_000 };
    let result = subject.run(&trial)?.result;
    // The pause after the last transaction may be omitted.
    let outside = result.workers[0].outside_ns / 1_000_000;
    ensure!(outside >= 319, "9 transactions with 40 ms between them, and its worker was {outside} ms outside them");
    let typical = result.operations[0].service.quantile(0.5).unwrap_or_default() / 1_000_000;
    timely!(typical < 36, "a single insert took {typical} ms: the pause after it does not belong to it");
    passed(format!("{outside} ms outside transactions"))
}

pub fn warm_up(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let draft = Draft::new(subject).on(&*database).transaction(slow_insert(1_000));
    // On a disk that stalls, a transaction can take longer than the first tries last.
    let warmup_ms = 120 << subject.tried;
    let mut trial = draft.only(1, Until::Time { ms: 2 * warmup_ms });
    trial.warmup_ms = warmup_ms;
    let result = subject.run(&trial)?.result;
    let operation = &result.operations[0];
    let (committed, measured, ended) = (operation.committed, operation.measured, operation.ended);
    let warm = result.elapsed_ns.saturating_sub(result.measured_ns);
    ensure!(
        warm == warmup_ms * 1_000_000,
        "the warm-up lasts {warmup_ms} ms, and elapsed and measured time differ by {warm} ns"
    );
    if subject.has_database() {
        ensure!(operation.rows == measured, "{measured} inserts were measured, and {} rows", operation.rows);
        let rows = database.integer("SELECT count(*) FROM t")? as u64;
        ensure!(rows == committed, "{committed} were committed, warm-up included, and there are {rows} rows");
    }
    timely!(measured > 0, "nothing was measured after the warm-up");
    // Half of the time is warm-up; a busy machine can shift the boundary.
    timely!(measured * 10 < committed * 9, "{measured} of {committed} are measured, and half of the time is warm-up");
    timely!(ended * 10 < committed * 9, "{ended} of {committed} ended after the warm-up, which is half of the time");
    // Transactions that end in the window also began there, except one at each end.
    timely!(ended.abs_diff(measured) <= 1, "{ended} ended in the window, and {measured} began there");
    let fits = (result.measured_ns / 1_000_000).max(1);
    ensure!(measured <= fits, "{measured} transactions of 1 ms were measured in {fits} ms");
    let of_worker = result.workers[0].inside_ns + result.workers[0].outside_ns;
    timely!(
        of_worker.abs_diff(result.measured_ns) < result.measured_ns / 10,
        "its worker accounts for {of_worker} ns of the {} measured",
        result.measured_ns
    );
    passed(format!("{measured} of {committed} measured"))
}
