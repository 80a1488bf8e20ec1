//! Static pictures: SVG with its numbers in words, drawn from plain data.
//!
//! | type | is |
//! |---|---|
//! | [`Xy`] | quantities against one horizontal axis: what the figures of a page configure |
//! | [`Forest`] | ratios with intervals, one row each |
//! | [`Heatmap`] | a metric over two dimensions |
//! | [`Flame`] | CPU time by call stack |
//!
//! Every picture scales with its column (its own width is 440 units, at which text is 13 units high), carries a title
//! and a description for screen readers, and names the unit of each axis. Colours are classes of [`CSS`] in a light
//! and a dark theme; no picture has a `style` attribute, and none tells by colour alone: series differ in marker and
//! dash too. What cannot be placed (not finite, or not above 0 on a logarithmic axis) is left out. None of them panics,
//! whatever it is given.

mod draw;
mod flame;
mod forest;
mod heatmap;
mod reading;
pub(crate) mod say;
#[cfg(test)]
pub(crate) mod tests;
mod xy;

pub use flame::Flame;
pub use forest::{Forest, ForestRow, Verdict};
pub use heatmap::{Cell, Dimension, Heatmap};
pub use reading::Reading;

pub(crate) use draw::axis::Axis;
pub(crate) use draw::legend::{Entry, Sample};
pub(crate) use draw::mark;
pub(crate) use draw::scale::Kind;
pub(crate) use xy::{Lane, Mark, Panel, Xy};

use maud::Markup;

/// What the classes of all charts look like, light and dark: to be put once into the page's `<style>`. It follows the
/// reader's system; print is light.
pub const CSS: &str = include_str!("chart.css");

/// A picture.
pub trait Chart {
    /// What it shows, in a few words; the page may put it above the picture as well.
    fn title(&self) -> &str;

    /// Its main sentence and what the marks say, for readers who do not see it.
    fn description(&self) -> String;

    /// The picture. `id` is to be unique in the page: the ids of its parts begin with it. Characters that have no
    /// place in an id are replaced by `-`.
    fn svg(&self, id: &str) -> Markup;
}
