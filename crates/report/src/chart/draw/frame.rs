//! The frame of a plot: the rectangle between two axes.

use maud::{Markup, html};

use super::axis::{Axis, Tick};
use super::scale::Scale;
use super::svg::{self, Anchor, Path, WIDTH};
use super::text;

/// Free width to the right of the plot.
const MARGIN: f64 = 8.0;
/// Distance between the ends of an axis and the outermost marks.
const INSET: f64 = 8.0;
/// Half the height of a digit: the distance from the middle of a label down to its baseline.
const HALF: f64 = 4.5;

/// Position and size of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::chart) struct Space {
    /// Position at which the title begins.
    pub(in crate::chart) above: f64,
    /// Height of the plot alone.
    pub(in crate::chart) height: f64,
    /// Height below the plot that is reserved for other marks.
    pub(in crate::chart) lanes: f64,
}

/// A placed plot with its title above it and ticks on both axes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::chart) struct Frame {
    pub(in crate::chart) x: Scale,
    pub(in crate::chart) y: Scale,
    /// Positions of the four borders.
    pub(in crate::chart) left: f64,
    pub(in crate::chart) right: f64,
    pub(in crate::chart) top: f64,
    pub(in crate::chart) bottom: f64,
    /// Position below everything that belongs to the plot.
    pub(in crate::chart) end: f64,
    across: Vec<Tick>,
    up: Vec<Tick>,
    titles: (Vec<String>, Vec<String>),
    space: Space,
}

impl Frame {
    pub(in crate::chart) fn new(x: &Axis, y: &Axis, space: Space) -> Self {
        let Space { above, height, lanes } = space;
        // Labels depend on the length of the scale only, not on its position.
        let up = y.ticks_up(&y.scale(height, 0.0));
        let title_up = text::wrap(&y.title(&up), WIDTH);
        let top = above + title_up.len() as f64 * text::LINE + 8.0;
        let bottom = top + height;
        let left = left_of(&up);
        let right = WIDTH - MARGIN;
        let x_scale = x.scale(left + INSET, right - INSET);
        let across = x.ticks_across(&x_scale);
        let title_across = text::wrap(&x.title(&across), right);
        let end = bottom + lanes + 20.0 + title_across.len() as f64 * text::LINE + 6.0;
        Self {
            x: x_scale,
            y: y.scale(bottom, top),
            left,
            right,
            top,
            bottom,
            end,
            across,
            up: up.into_iter().map(|tick| Tick { place: top + tick.place, ..tick }).collect(),
            titles: (title_across, title_up),
            space,
        }
    }

    /// Position of a pair of values.
    pub(in crate::chart) fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.at(x)?, self.y.at(y)?))
    }

    /// Draws grid, ticks and titles, to be placed before the marks.
    pub(in crate::chart) fn markup(&self) -> Markup {
        let mut grid = Path::default();
        for tick in &self.up {
            grid.start(self.left, tick.place).across(self.right);
        }
        for tick in &self.across {
            grid.start(tick.place, self.top).down(self.bottom);
        }
        let mut axis = Path::default();
        axis.start(self.left, self.bottom).across(self.right);
        let foot = self.bottom + self.space.lanes;
        for tick in &self.across {
            axis.start(tick.place, self.bottom).down(self.bottom + 4.0);
        }
        let up = self.up.iter().map(|tick| (self.left - 5.0, tick.place + HALF, tick.label.as_str()));
        let across = self.across.iter().map(|tick| (tick.middle(), foot + 18.0, tick.label.as_str()));
        html! {
            (grid.markup("grid"))
            (axis.markup("axis"))
            (svg::lines(0.0, self.space.above + 12.0, Anchor::Start, "title", &self.titles.1))
            (svg::labels("tick", Anchor::End, up))
            (svg::labels("tick", Anchor::Middle, across))
            (svg::lines(self.right, foot + 36.0, Anchor::End, "title", &self.titles.0))
        }
    }
}

fn left_of(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|tick| text::width(&tick.label)).fold(12.0, f64::max) + 6.0
}
