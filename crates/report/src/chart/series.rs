//! A quantity over the time of a trial.

use litelab_model::metric::Unit;
use maud::Markup;

use super::{Chart, svg};

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

impl Chart for TimeSeries {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        self.summary.clone()
    }

    fn svg(&self, id: &str) -> Markup {
        svg::figure(self, id, 40.0, maud::html! {})
    }
}
