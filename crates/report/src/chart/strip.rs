//! A metric by block: one dot for each block, one panel for each arm.

use litelab_model::metric::Unit;
use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::frame::{Frame, Space};
use super::draw::scale::{self, Kind};
use super::draw::svg::{self, Anchor, Path};
use super::draw::{legend, text, unit};
use super::{Chart, Reading, say};

/// Panels below each other that show drift and outliers. Blocks run from left to right in the order of measurement.
/// Each panel has its own ticks, yet all reach equally far from their median in proportion, so that a wide scatter
/// looks wide.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    /// What is shown: `throughput by block`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the vertical axes measure: `throughput`.
    pub axis: String,
    /// Unit of all values; none for a ratio.
    pub unit: Option<Unit>,
    /// From top to bottom.
    pub arms: Vec<StripArm>,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripArm {
    /// The arm; long ones are wrapped.
    pub label: String,
    /// Number of the block, and the value measured in it.
    pub values: Vec<(u32, f64)>,
    /// The median and its interval.
    pub median: Option<Reading>,
}

const HEIGHT: f64 = 76.0;

impl Chart for Strip {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let drawn = format!("{} by block in the order of measurement, one panel for each arm.", self.axis);
        say::description(&self.summary, &drawn, self.arms.iter().map(|arm| arm.sentence(self.unit)))
    }

    fn svg(&self, id: &str) -> Markup {
        let blocks = self.arms.iter().flat_map(StripArm::placed).map(|(block, _)| block);
        let Some(x) = Axis::whole("block, in the order of measurement", blocks) else { return svg::empty(self, id) };
        let reach = self.reach();
        let entries = [
            legend::Entry::new(legend::Sample::Shape(0, "dot-sample".into()), "one block"),
            legend::Entry::new(legend::Sample::Rule("median"), "median"),
            legend::Entry::new(legend::Sample::Area("interval"), "its interval"),
        ];
        let (legend, mut y) = legend::legend(&entries, 0.0);
        let arms: Vec<(&StripArm, Axis)> = self
            .arms
            .iter()
            .filter(|arm| arm.placed().next().is_some())
            .map(|arm| (arm, arm.axis(&self.axis, self.unit, reach)))
            .collect();
        let left = arms.iter().map(|(_, axis)| Frame::left(axis, HEIGHT)).fold(0.0, f64::max);
        let mut panels = Vec::new();
        for (i, (arm, axis)) in arms.iter().enumerate() {
            let label = text::wrap_bold(&arm.label, svg::WIDTH);
            let above = y + label.len() as f64 * text::LINE;
            let labelled = i + 1 == arms.len();
            let frame = Frame::new(&x, axis, Space { left, labelled, ..Space::new(above, HEIGHT) });
            panels.push(html! {
                (svg::lines(0.0, y + 12.0, Anchor::Start, "strong", &label))
                (frame.markup())
                (arm.marks(&frame))
            });
            y = frame.end + 8.0;
        }
        svg::figure(self, id, y, &html! { (legend) @for panel in panels { (panel) } })
    }
}

impl Strip {
    /// How far values reach below and above their arm's centre, as ratios, over all arms.
    fn reach(&self) -> (f64, f64) {
        let ratios = self.arms.iter().flat_map(|arm| {
            let centre = arm.centre();
            arm.shown().into_iter().filter_map(move |value| Some(value / centre?))
        });
        let (low, high) = Kind::Linear.range(ratios).unwrap_or((1.0, 1.0));
        let margin = (high - low) * 0.08 + 0.001;
        (low - margin, high + margin)
    }
}

impl StripArm {
    /// Values that can be drawn.
    fn placed(&self) -> impl Iterator<Item = (u32, f64)> {
        self.values.iter().copied().filter(|(_, value)| Kind::Linear.places(*value))
    }

    /// All that is to be seen: values, median and interval.
    fn shown(&self) -> Vec<f64> {
        let median = self.median.iter().flat_map(|median| {
            let (low, high) = median.range.unwrap_or((median.value, median.value));
            [median.value, low, high]
        });
        self.placed().map(|(_, value)| value).chain(median).filter(|value| Kind::Linear.places(*value)).collect()
    }

    /// The median, if values can be measured against it.
    fn centre(&self) -> Option<f64> {
        let median = self.median.map(|median| median.value).or_else(|| {
            let mut values: Vec<f64> = self.placed().map(|(_, value)| value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        });
        // Beyond that, ratios would be without meaning.
        median.filter(|median| (1e-12..1e80).contains(median))
    }

    fn range(&self, reach: (f64, f64)) -> (f64, f64) {
        let own = Kind::Linear.range(self.shown()).unwrap_or((0.0, 1.0));
        match self.centre() {
            Some(centre) => {
                let low = own.0.min(centre * reach.0);
                // What cannot be negative has no axis below 0.
                (if own.0 >= 0.0 { low.max(0.0) } else { low }, own.1.max(centre * reach.1))
            }
            None => {
                let margin = (own.1 - own.0) * 0.08;
                (own.0 - margin, own.1 + margin)
            }
        }
    }

    fn axis(&self, what: &str, unit: Option<Unit>, reach: (f64, f64)) -> Axis {
        let range = scale::widened(self.range(reach));
        let greatest = self.centre().unwrap_or_else(|| range.0.abs().max(range.1.abs()));
        Axis::between(what, unit::choose(unit, greatest), range)
    }

    fn marks(&self, frame: &Frame) -> Markup {
        let mut values: Vec<(u32, f64)> = self.placed().collect();
        values.sort_by_key(|(block, _)| *block);
        let places = values.iter().filter_map(|(block, value)| frame.at(f64::from(*block), *value));
        let places: Vec<(f64, f64)> = places.collect();
        let mut dots = Path::default();
        for (x, y) in &places {
            // A line of no length with round ends is a dot.
            dots.start(*x, *y).then("h0");
        }
        let mut thread = Path::default();
        thread.through(places.iter().copied().map(Some));
        let place = |value: f64| frame.y.at(value);
        let median = self.median.and_then(|median| place(median.value));
        let end = |value: f64, open: f64| if value.is_finite() { place(value) } else { Some(open) };
        let range = self.median.and_then(|median| median.range).filter(|(low, high)| low <= high);
        let range = range.and_then(|(low, high)| Some((end(low, frame.bottom)?, end(high, frame.top)?)));
        let mut line = Path::default();
        if let Some(y) = median {
            line.start(frame.left, y).across(frame.right);
        }
        html! {
            @if let Some((low, high)) = range {
                (svg::rect("interval", (frame.left, high), frame.right - frame.left, low - high))
            }
            (line.markup("median"))
            (thread.markup("thread"))
            (dots.markup(if places.len() > 80 { "dot small" } else { "dot" }))
        }
    }

    fn sentence(&self, unit: Option<Unit>) -> String {
        let Some((low, high)) = Kind::Linear.range(self.placed().map(|(_, value)| value)) else {
            return format!("{}: nothing that could be drawn", self.label);
        };
        let median = self.median.map(|median| format!("median {}, ", say::reading(&median, unit))).unwrap_or_default();
        let blocks = crate::number::counted(self.placed().count() as u64, "block");
        format!("{}: {median}{blocks} from {} to {}", self.label, say::value(low, unit), say::value(high, unit))
    }
}
