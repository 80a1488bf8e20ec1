//! Charts of single trials over time: a static chart for every reader, and the same numbers for an interactive one.

use litelab_model::metric::Unit;
use serde_json::{Value, json};

use super::{Figure, Source, left_out};
use crate::analysis::VariantAnalysis;
use crate::chart::{Axis, Entry, Kind, Lane, Mark, Sample, Xy, mark};
use crate::html::rounded;
use crate::html::timing::{Course, MOST_VARIANTS};
use crate::number;

/// A quantity: its title, its name on the axis, its unit, its values, and the value that one of them must exceed.
type Quantity = (&'static str, &'static str, Unit, fn(&Course) -> &Vec<f64>, f64);

/// A name, and points of seconds since the beginning and value, in order; a value that is not finite is a gap.
type Line = (String, Vec<(f64, f64)>);
/// A kind of event, and the seconds at which it occurred.
type Events = (String, Vec<f64>);

/// Number of events of a kind above which they have no line through the plot, because the lines would form a grey area.
const THROUGH: usize = 40;
/// Lateness of timers, in nanoseconds, from which it is drawn: the usual period of the probe.
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
/// Index of the log's size, which has checkpoints marked below it.
const WAL: usize = 1;

/// Variants of which there is a time series.
fn shown<'a>(source: Source<'a>) -> Vec<(&'a VariantAnalysis, &'a Course)> {
    let leading = source.scenario.leading(source.analysis, MOST_VARIANTS);
    leading.into_iter().filter_map(|variant| Some((variant, source.evidence.courses.get(&variant.index)?))).collect()
}

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    (0..QUANTITIES.len()).filter_map(|at| figure(source, at)).collect()
}

fn figure(source: Source<'_>, at: usize) -> Option<Figure> {
    let (title, quantity, unit, values, least) = QUANTITIES[at];
    let shown = shown(source);
    // No chart for a log that does not exist, errors that do not occur, or timers that are in time.
    if !shown.iter().any(|(_, course)| values(course).iter().any(|value| *value > least)) {
        return None;
    }
    let line = |(variant, course): &(&VariantAnalysis, &Course)| {
        (variant.words.clone(), course.seconds().zip(values(course).iter().copied()).collect())
    };
    let marks = |(variant, course): &(&VariantAnalysis, &Course)| {
        let seconds = course.checkpoints.iter().map(|window| course.middle(*window));
        (format!("checkpoint, {}", variant.words), seconds.collect())
    };
    let marked = shown.iter().filter(|(_, course)| at == WAL && !course.checkpoints.is_empty());
    let marks: Vec<Events> = marked.map(marks).collect();
    let checkpoints = if marks.is_empty() { "" } else { " Marked are windows in which a checkpoint moved pages." };
    let chart = Xy {
        title: format!("{}: {title} over the time of a trial", source.scenario.name),
        ..chart(quantity, unit, &shown.iter().map(line).collect::<Vec<Line>>(), &marks)
    };
    let step = shown.iter().map(|(_, course)| course.step).fold(0.0, f64::max);
    let rounds: Vec<String> = shown.iter().map(|(_, course)| (course.round + 1).to_string()).collect();
    let note = format!(
        "{}One trial of each: that with the median of its variant (round {}), in windows of up to {}; a trial, no estimate.{checkpoints}",
        left_out(shown.len(), source.measured().count(), "the baseline and the best by the first metric"),
        rounds.join(", "),
        number::value(step * 1e9, Unit::Nanos),
    );
    Some(Figure { chart: Box::new(chart), note, course: Some(at) })
}

/// A static chart of one quantity of several variants, with events marked below. The page's script replaces it by an
/// interactive one.
pub(in crate::html) fn chart(quantity: &str, unit: Unit, lines: &[Line], events: &[Events]) -> Xy {
    let points = || lines.iter().flat_map(|(_, points)| points).filter(|(_, value)| value.is_finite());
    let lane = |(i, (_, at)): (usize, &Events)| Lane {
        class: "mark event",
        shape: event(i),
        at: at.clone(),
        through: at.len() <= THROUGH,
    };
    let named = lines.iter().enumerate().map(|(i, (name, _))| Entry::new(Sample::Line(i), name));
    let happened = events.iter().enumerate();
    let happened = happened.map(|(i, (name, _))| Entry::new(Sample::Shape(event(i), "mark event".into()), name));
    let sentence = |(name, points): &Line| match Kind::Linear.range(points.iter().map(|(_, value)| *value)) {
        Some((low, high)) => format!("{name}: from {} to {}", number::value(low, unit), number::value(high, unit)),
        None => format!("{name}: nothing that could be drawn"),
    };
    let times = |(name, at): &Events| format!("{name}: {}", number::counted(at.len() as u64, "time"));
    let seconds = points().map(|(seconds, _)| *seconds).chain(events.iter().flat_map(|(_, at)| at).copied());
    let line = |(i, (_, points)): (usize, &Line)| Mark::Line(mark::line(i), points.clone());
    Xy {
        drawn: format!("{quantity} over time in seconds."),
        words: lines.iter().map(sentence).chain(events.iter().map(times)).collect(),
        legend: named.chain(happened).collect(),
        x: Axis::seconds("time since the beginning", seconds),
        y: Axis::rounded(quantity, unit, points().map(|(_, value)| *value)),
        height: 150.0,
        marks: lines.iter().enumerate().map(line).collect(),
        lanes: events.iter().enumerate().map(lane).collect(),
        ..Xy::default()
    }
}

/// Shape of a kind of event, from the triangle on.
fn event(kind: usize) -> usize {
    2 + kind % (mark::SERIES - 2)
}

/// Numbers of a chart for the page's script: one list of times for all lines, with `null` where a line has no value.
pub(in crate::html) fn live(source: Source<'_>, at: usize) -> Option<Value> {
    let (_, quantity, unit, values, _) = QUANTITIES.get(at)?;
    let shown = shown(source);
    let step = shown.iter().map(|(_, course)| course.step).fold(f64::INFINITY, f64::min);
    let count = shown.iter().map(|(_, c)| (c.step * c.throughput.len() as f64 / step).round() as usize).max()?;
    let seconds: Vec<f64> = (0..count).map(|at| rounded((at as f64 + 0.5) * step)).collect();
    let series = shown.iter().map(|(variant, course)| {
        let at = |seconds: &f64| values(course).get((seconds / course.step) as usize).filter(|value| value.is_finite());
        let values: Vec<Value> =
            seconds.iter().map(|s| at(s).map_or(Value::Null, |value| json!(rounded(*value)))).collect();
        json!({ "name": variant.words, "values": values })
    });
    let marks: Vec<Vec<f64>> = match at {
        WAL => {
            shown.iter().map(|(_, c)| c.checkpoints.iter().map(|window| rounded(c.middle(*window))).collect()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::look::{draw, marks};
    use crate::chart::tests::sound::places;

    #[test]
    fn gaps_and_spikes_stay_and_many_events_are_no_grey_area() {
        let mut points: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i) / 10.0, f64::from(i % 7))).collect();
        points[40].1 = 1000.0;
        points[70].1 = f64::NAN;
        let events = |count: u32| ("checkpoint".to_owned(), (0..count).map(|i| f64::from(i) / 9.0).collect());
        let svg = |count| draw(&chart("WAL size", Unit::Bytes, &[("a".into(), points.clone())], &[events(count)]));
        let many = svg(80);
        let line = marks(&many, "line").into_iter().find(|line| line.matches('L').count() > 50).unwrap();
        assert_eq!(line.matches('M').count(), 2, "one gap");
        let heights = || places(&line).unwrap().into_iter().map(|(_, y)| y);
        let (high, low) = (heights().fold(f64::MAX, f64::min), heights().fold(f64::MIN, f64::max));
        assert!(low - high > 140.0, "the spike is there: {high} to {low}");
        assert!(marks(&many, "event-line").is_empty() && !marks(&svg(4), "event-line").is_empty());
    }
}
