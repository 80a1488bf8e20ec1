//! Static charts: SVG with a description of its numbers in words, drawn from plain data.
//!
//! | type | content |
//! |---|---|
//! | [`Xy`] | quantities over one horizontal axis, configured by the figures of a page |
//! | [`Flame`] | CPU time by call stack |
//!
//! Every chart scales with its column (its own width is 440 units, with text 13 units high), has a title and a
//! description for screen readers, and names the unit of each axis. Colours are classes of [`CSS`] in a light and a
//! dark theme. No chart has a `style` attribute, and none relies on colour alone: series differ in marker and dash as
//! well. A value that cannot be placed (not finite, or not above 0 on a logarithmic axis) is left out. No input makes a
//! chart panic.

mod draw;
mod flame;
mod say;
#[cfg(test)]
pub(crate) mod tests;
mod xy;

pub use flame::Flame;

pub(crate) use draw::axis::Axis;
pub(crate) use draw::legend::{Entry, Sample};
pub(crate) use draw::mark;
pub(crate) use draw::scale::Kind;
pub(crate) use xy::{Lane, Mark, Xy};

use maud::Markup;

/// Style sheet of the classes of all charts, light and dark, to be included once in the page's `<style>`. It follows
/// the reader's system; print is light.
pub const CSS: &str = include_str!("chart.css");

/// A chart of plain data.
pub trait Chart {
    /// Title in a few words; the page may print it above the chart as well.
    fn title(&self) -> &str;

    /// Main sentence and marks in words, for readers who do not see the chart.
    fn description(&self) -> String;

    /// Draws the chart. `id` must be unique in the page, because the ids of its parts begin with it.
    fn svg(&self, id: &str) -> Markup;
}
