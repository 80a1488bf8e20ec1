//! Charts of a quantity over a horizontal axis.

use litelab_stats::Estimate;
use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::frame::{Frame, Space};
use super::draw::legend::{self, Entry};
use super::draw::svg::{self, Anchor, Path, WIDTH};
use super::draw::{mark, text};
use super::{Chart, say};

/// A chart that a figure configures, from data alone. A value that cannot be placed on its axis is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Xy {
    /// Title of the chart.
    pub(crate) title: String,
    /// The answer in a sentence; may be empty.
    pub(crate) summary: String,
    /// The quantities that are drawn, in a sentence.
    pub(crate) drawn: String,
    /// The marks in words, in the order of the legend.
    pub(crate) words: Vec<String>,
    /// Legend; entries without a text are left out.
    pub(crate) legend: Vec<Entry>,
    /// Horizontal axis; `None` if no value can be placed on it.
    pub(crate) x: Option<Axis>,
    /// Vertical axis; `None` if no value can be placed on it.
    pub(crate) y: Option<Axis>,
    /// Height of the plot in units of the picture.
    pub(crate) height: f64,
    /// Marks; later ones are drawn over earlier ones.
    pub(crate) marks: Vec<Mark>,
    /// Rows of events below the plot.
    pub(crate) lanes: Vec<Lane>,
    /// Lines below the plot; long ones are wrapped.
    pub(crate) caption: Vec<String>,
}

/// A mark, with its CSS class first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// A line through points, with a gap at a point that cannot be placed.
    Line(String, Vec<(f64, f64)>),
    /// A shape at each point.
    Points(String, usize, Vec<(f64, f64)>),
    /// A vertical interval at each horizontal position.
    Whiskers(String, Vec<(f64, Estimate)>),
    /// A line from left to right.
    Across(&'static str, f64),
    /// A line from top to bottom.
    Down(&'static str, f64),
}

/// A row of shapes below a plot, for events.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lane {
    pub(crate) class: &'static str,
    pub(crate) shape: usize,
    /// Positions on the horizontal axis.
    pub(crate) at: Vec<f64>,
    /// Whether each event has a line through the plot.
    pub(crate) through: bool,
}

/// Height of a lane.
const LANE: f64 = 16.0;

impl Chart for Xy {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        say::description(&self.summary, &self.drawn, self.words.iter().cloned())
    }

    fn svg(&self, id: &str) -> Markup {
        let (Some(x), Some(y)) = (&self.x, &self.y) else { return svg::empty(self, id) };
        let named: Vec<Entry> = self.legend.iter().filter(|entry| !entry.text.trim().is_empty()).cloned().collect();
        let (legend, above) = legend::legend(&named);
        let frame = Frame::new(x, y, Space { above, height: self.height, lanes: self.lanes.len() as f64 * LANE });
        let caption: Vec<String> = self.caption.iter().flat_map(|line| text::wrap(line, WIDTH)).collect();
        let inner = html! {
            (legend)
            (frame.markup())
            @for (row, lane) in self.lanes.iter().enumerate() { (lane.markup(&frame, row)) }
            @for mark in &self.marks { (mark.markup(&frame)) }
            (svg::lines(0.0, frame.end + 20.0, Anchor::Start, "", &caption))
        };
        let below = if caption.is_empty() { 0.0 } else { caption.len() as f64 * text::LINE + 14.0 };
        svg::figure(self, id, frame.end + below, &inner)
    }
}

impl Mark {
    fn markup(&self, frame: &Frame) -> Markup {
        let mut path = Path::default();
        let class = match self {
            Self::Line(class, points) => {
                path.through(points.iter().map(|(x, y)| frame.at(*x, *y)));
                class.as_str()
            }
            Self::Points(class, shape, points) => {
                let places = points.iter().filter_map(|(x, y)| frame.at(*x, *y));
                places.for_each(|place| mark::shape(&mut path, *shape, place));
                class.as_str()
            }
            Self::Whiskers(class, estimates) => {
                let places = estimates.iter().filter_map(|(x, estimate)| Some((frame.x.at(*x)?, estimate)));
                places.for_each(|(x, estimate)| mark::whisker(&mut path, x, estimate, &frame.y));
                class.as_str()
            }
            Self::Across(class, y) => {
                if let Some(y) = frame.y.at(*y) {
                    path.start(frame.left, y).across(frame.right);
                }
                class
            }
            Self::Down(class, x) => {
                if let Some(x) = frame.x.at(*x) {
                    path.start(x, frame.top).down(frame.bottom);
                }
                class
            }
        };
        path.markup(class)
    }
}

impl Lane {
    fn markup(&self, frame: &Frame, row: usize) -> Markup {
        let (mut lines, mut marks) = (Path::default(), Path::default());
        for x in self.at.iter().filter_map(|at| frame.x.at(*at)) {
            if self.through {
                lines.start(x, frame.top).down(frame.bottom);
            }
            mark::shape(&mut marks, self.shape, (x, frame.bottom + (row as f64 + 0.6) * LANE));
        }
        html! { (lines.markup("event-line")) (marks.markup(self.class)) }
    }
}
