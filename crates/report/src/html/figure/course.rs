//! Single trials over their time: a sketch for every reader, and the same numbers for a chart to zoom into.

use litelab_model::metric::Unit;
use serde_json::{Value, json};

use super::{Figure, Source, left_out};
use crate::analysis::ArmAnalysis;
use crate::chart::{Events, Line, TimeSeries};
use crate::html::timing::{Course, MOST_ARMS};
use crate::number;

/// A quantity: its title, the word on its axis, its unit, its values, and what one of them has to be above.
type Quantity = (&'static str, &'static str, Unit, fn(&Course) -> &Vec<f64>, f64);

/// Nanoseconds: as late as the next timer is due, by the usual period of the probe.
const LATE: f64 = 10e6;

const QUANTITIES: [Quantity; 5] = [
    ("throughput", "committed", Unit::PerSecond, |course| &course.throughput, 0.0),
    ("size of the write-ahead log", "WAL size", Unit::Bytes, |course| &course.wal, 0.0),
    ("busy errors, those that a retry cured included", "busy errors", Unit::PerSecond, |course| &course.busy, 0.0),
    ("other errors, those that a retry cured included", "other errors", Unit::PerSecond, |course| &course.other, 0.0),
    (
        "how late timers of the host program ran (its event loop or scheduler)",
        "longest lag",
        Unit::Nanos,
        |course| &course.lag,
        LATE,
    ),
];
/// Of the sizes, which have checkpoints marked below them.
const WAL: usize = 1;

/// The arms of which there is a course.
fn shown<'a>(source: Source<'a>) -> Vec<(&'a ArmAnalysis, &'a Course)> {
    let leading = source.scenario.leading(source.analysis, MOST_ARMS);
    leading.into_iter().filter_map(|arm| Some((arm, source.evidence.courses.get(&arm.index)?))).collect()
}

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    (0..QUANTITIES.len()).filter_map(|at| figure(source, at)).collect()
}

fn figure(source: Source<'_>, at: usize) -> Option<Figure> {
    let (title, quantity, unit, values, least) = QUANTITIES[at];
    let shown = shown(source);
    // A log that is never there, errors that never come and timers that are in time need no picture.
    if !shown.iter().any(|(_, course)| values(course).iter().any(|value| *value > least)) {
        return None;
    }
    let line = |(arm, course): &(&ArmAnalysis, &Course)| Line {
        name: source.name(arm),
        points: course.seconds().zip(values(course).iter().copied()).collect(),
    };
    let events = |(arm, course): &(&ArmAnalysis, &Course)| Events {
        name: format!("checkpoint, {}", source.name(arm)),
        seconds: course.checkpoints.iter().map(|window| course.middle(*window)).collect(),
    };
    let marks: Vec<Events> =
        shown.iter().filter(|(_, course)| at == WAL && !course.checkpoints.is_empty()).map(events).collect();
    let checkpoints = if marks.is_empty() { "" } else { " Marked are windows in which a checkpoint moved pages." };
    let chart = TimeSeries {
        title: format!("{}: {title} over the time of a trial", source.scenario.name),
        summary: String::new(),
        quantity: quantity.into(),
        unit: Some(unit),
        lines: shown.iter().map(line).collect(),
        events: marks,
    };
    let step = shown.iter().map(|(_, course)| course.step).fold(0.0, f64::max);
    let blocks: Vec<String> = shown.iter().map(|(_, course)| (course.block + 1).to_string()).collect();
    let note = format!(
        "{}One trial of each: that with the median of its arm (block {}), in windows of up to {}; a trial, no estimate.{checkpoints}",
        left_out(shown.len(), source.measured().count(), "the baseline and the best by the first metric"),
        blocks.join(", "),
        number::value(step * 1e9, Unit::Nanos),
    );
    let arms = shown.iter().map(|(arm, _)| arm.index).collect();
    Some(Figure { chart: Box::new(chart), note, arms, course: Some(at) })
}

/// The numbers of a picture for the page's script: one time for all lines, which `null` where a line has no value.
pub(in crate::html) fn live(source: Source<'_>, at: usize) -> Option<Value> {
    let (_, quantity, unit, values, _) = QUANTITIES.get(at)?;
    let shown = shown(source);
    let step = shown.iter().map(|(_, course)| course.step).fold(f64::INFINITY, f64::min);
    let count = shown.iter().map(|(_, c)| (c.step * c.throughput.len() as f64 / step).round() as usize).max()?;
    let seconds: Vec<f64> = (0..count).map(|at| round((at as f64 + 0.5) * step)).collect();
    let series = shown.iter().map(|(arm, course)| {
        let at = |seconds: &f64| values(course).get((seconds / course.step) as usize).filter(|value| value.is_finite());
        let values: Vec<Value> =
            seconds.iter().map(|s| at(s).map_or(Value::Null, |value| json!(round(*value)))).collect();
        json!({ "name": source.name(arm), "values": values })
    });
    let marks: Vec<Vec<f64>> = match at {
        WAL => {
            shown.iter().map(|(_, c)| c.checkpoints.iter().map(|window| round(c.middle(*window))).collect()).collect()
        }
        _ => Vec::new(),
    };
    let unit = match unit {
        Unit::Bytes => "bytes",
        Unit::Nanos => "ns",
        _ => "per second",
    };
    Some(
        json!({ "quantity": quantity, "unit": unit, "seconds": seconds, "series": series.collect::<Vec<_>>(), "marks": marks }),
    )
}

/// To four significant digits: more are not seen.
fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
