//! Latencies by percentile.

use litelab_model::metric::Timing;

use super::{Figure, Source, left_out};
use crate::chart::{PercentileCurve, Percentiles};
use crate::html::evidence::{Latency, latencies};
use crate::number;

/// Curves that can be told apart.
const MOST: usize = 6;

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let all = latencies(&source.scenario.metrics);
    all.iter().filter_map(|latency| figure(source, latency)).collect()
}

fn figure(source: Source<'_>, latency: &Latency) -> Option<Figure> {
    let (timing, transaction) = latency;
    let shown = source.scenario.leading(source.analysis, MOST);
    let curves: Vec<(usize, PercentileCurve, u64)> = shown
        .iter()
        .filter_map(|arm| {
            let all = source.evidence.latency(arm.index, latency)?;
            Some((arm.index, PercentileCurve { name: source.name(arm), points: all.curve() }, all.total()))
        })
        .collect();
    let least = curves.iter().map(|(_, _, total)| *total).min()?;
    let what = words(*timing);
    let of = transaction.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
    let note = format!(
        "{}All blocks pooled, {} or more in each curve; the last point is the longest, and no other is drawn that fewer \
         than ten lie beyond.",
        left_out(shown.len(), source.measured().count(), "the baseline and the best by the first metric"),
        number::counted(least, noun(*timing)),
    );
    let chart = Percentiles {
        title: format!("{}: {what}{of} by percentile", source.scenario.name),
        summary: String::new(),
        axis: format!("{what}{of}"),
        of: format!("{}s", noun(*timing)),
        curves: curves.iter().map(|(_, curve, _)| curve.clone()).collect(),
    };
    let arms = curves.iter().map(|(arm, ..)| *arm).collect();
    Some(Figure { chart: Box::new(chart), note, arms, course: None })
}

fn words(timing: Timing) -> &'static str {
    match timing {
        Timing::Service => "service time",
        Timing::Response => "response time from the scheduled start",
        Timing::Lag => "lag behind the schedule",
        Timing::Wait => "wait for a connection or lock",
        Timing::Query => "time until the query's call returned",
        Timing::FirstRow => "time until the first row",
        Timing::Probe => "lateness of the host program's timer",
        Timing::PoolWait => "wait of a job in the runtime's blocking pool",
        Timing::Scheduler => "wait of the runtime's tasks for a processor",
    }
}

fn noun(timing: Timing) -> &'static str {
    match timing {
        Timing::Probe => "timer",
        Timing::PoolWait => "job",
        Timing::Scheduler => "task",
        _ => "transaction",
    }
}
