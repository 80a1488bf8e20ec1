//! A quantity over the time of a trial.

use litelab_model::metric::Unit;
use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::frame::{Frame, Space};
use super::draw::legend::{self, Entry, Sample};
use super::draw::mark;
use super::draw::scale::Kind;
use super::draw::svg::{self, Path};
use super::draw::unit;
use super::{Chart, say};

/// One quantity, several arms or roles, with what happened marked below. Stands for readers without scripts where the
/// page would draw a chart to zoom into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSeries {
    /// What is shown: `size of the write-ahead log`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the vertical axis measures: `WAL size`.
    pub quantity: String,
    /// Unit of all values; none is read as a number of things.
    pub unit: Option<Unit>,
    /// One for each arm or role.
    pub lines: Vec<Line>,
    /// Kinds of events, each marked on a row of its own.
    pub events: Vec<Events>,
}

/// One arm or role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its name in the legend; may be empty where it is the only one.
    pub name: String,
    /// Seconds since the beginning, in order, and the value. A value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
}

/// Events of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// `checkpoint`.
    pub name: String,
    /// Seconds since the beginning.
    pub seconds: Vec<f64>,
}

const HEIGHT: f64 = 150.0;
/// Height of a row of events.
const LANE: f64 = 14.0;
/// Width of a column of points that are drawn by their extremes.
const COLUMN: f64 = 1.5;
/// Events of a kind beyond this many have no line through the plot: it would be a grey area.
const LINES: usize = 40;

impl Chart for TimeSeries {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let lines = self.lines.iter().map(|line| line.sentence(self.unit));
        let events =
            self.events.iter().filter(|events| !events.seconds.is_empty()).map(|events| {
                format!("{}: {}", events.name, crate::number::counted(events.seconds.len() as u64, "time"))
            });
        let marks: Vec<String> = lines.chain(events).collect();
        say::description(&self.summary, &format!("{} over time in seconds.", self.quantity), marks.into_iter())
    }

    fn svg(&self, id: &str) -> Markup {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let drawn = points().filter(|(seconds, value)| Kind::Linear.places(*seconds) && Kind::Linear.places(*value));
        let y = Axis::rounded(
            &self.quantity,
            Some(self.unit.unwrap_or(Unit::Count)),
            drawn.clone().map(|(_, value)| *value),
        );
        let events = self.events.iter().flat_map(|events| &events.seconds);
        let range = Kind::Linear.range(drawn.map(|(seconds, _)| *seconds).chain(events.copied()));
        let (Some((first, last)), Some(y)) = (range, y) else { return svg::empty(self, id) };
        let range = super::draw::scale::widened((first.min(0.0), last.max(0.0)));
        let x = Axis::between("time since the beginning", unit::SECONDS, range);
        let kinds: Vec<&Events> = self.events.iter().filter(|events| !events.seconds.is_empty()).collect();
        let lines = self.lines.iter().enumerate().map(|(i, line)| Entry::new(Sample::Line(i), &line.name));
        let lines = lines.filter(|entry| !entry.text.trim().is_empty());
        let marks = kinds
            .iter()
            .enumerate()
            .map(|(i, events)| Entry::new(Sample::Shape(event_shape(i), "mark event".into()), &events.name));
        let (legend, top) = legend::legend(&lines.chain(marks).collect::<Vec<_>>(), 0.0);
        let frame = Frame::new(&x, &y, Space { lanes: kinds.len() as f64 * LANE, ..Space::new(top, HEIGHT) });
        let inner = html! {
            (legend)
            (frame.markup())
            @for (i, events) in kinds.iter().enumerate() { (events.marks(&frame, i)) }
            @for (i, line) in self.lines.iter().enumerate() {
                (Path::default().through(line.places(&frame)).markup(&mark::line(i)))
            }
        };
        svg::figure(self, id, frame.end, &inner)
    }
}

/// Shapes of events, beginning with the triangle.
fn event_shape(kind: usize) -> usize {
    2 + kind % (mark::SERIES - 2)
}

impl Events {
    /// At most one for each unit across.
    fn marks(&self, frame: &Frame, kind: usize) -> Markup {
        let mut places: Vec<f64> = self.seconds.iter().filter_map(|seconds| frame.x.at(*seconds)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup_by(|a, b| (*a - *b).abs() < 1.0);
        let (mut lines, mut marks) = (Path::default(), Path::default());
        for x in &places {
            if places.len() <= LINES {
                lines.start(*x, frame.top).down(frame.bottom);
            }
            mark::shape(&mut marks, event_shape(kind), (*x, frame.bottom + (kind as f64 + 0.6) * LANE));
        }
        html! { (lines.markup("event-line")) (marks.markup("mark event")) }
    }
}

impl Line {
    /// Of all points that fall into the same column, the first, the lowest, the highest and the last.
    fn places(&self, frame: &Frame) -> Vec<Option<(f64, f64)>> {
        let mut thinned: Vec<Option<(f64, f64)>> = Vec::new();
        let mut column: Vec<(f64, f64)> = Vec::new();
        for (seconds, value) in &self.points {
            let place = frame.at(*seconds, *value);
            let same = |x: f64| column.first().is_some_and(|(first, _)| (first - x).abs() < COLUMN);
            if !place.is_some_and(|(x, _)| same(x)) {
                thinned.extend(ends(&column));
                column.clear();
            }
            match place {
                Some(place) => column.push(place),
                None => thinned.push(None),
            }
        }
        thinned.extend(ends(&column));
        thinned
    }

    fn sentence(&self, unit: Option<Unit>) -> String {
        let unit = Some(unit.unwrap_or(Unit::Count));
        let values = self.points.iter().map(|(_, value)| *value);
        let name = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        match Kind::Linear.range(values) {
            Some((low, high)) => format!("{name}from {} to {}", say::value(low, unit), say::value(high, unit)),
            None => format!("{name}nothing that could be drawn"),
        }
    }
}

/// First, lowest, highest and last of a column, in their order.
fn ends(column: &[(f64, f64)]) -> Vec<Option<(f64, f64)>> {
    let by_height = |(_, a): &(usize, &(f64, f64)), (_, b): &(usize, &(f64, f64))| a.1.total_cmp(&b.1);
    let lowest = column.iter().enumerate().max_by(by_height).map(|(i, _)| i);
    let highest = column.iter().enumerate().min_by(by_height).map(|(i, _)| i);
    let mut kept: Vec<usize> = [Some(0), lowest, highest, column.len().checked_sub(1)].into_iter().flatten().collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().filter_map(|i| column.get(i).copied().map(Some)).collect()
}
