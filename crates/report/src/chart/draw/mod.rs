//! Drawing tools of the charts.
//!
//! | file | content |
//! |---|---|
//! | [`svg`] | the picture around a drawing; numbers, texts and paths in it |
//! | [`text`] | width and line breaks of a text |
//! | [`ticks`] | values of ticks, and their labels |
//! | [`scale`] | mapping from values to positions |
//! | [`axis`] | a range, its ticks and its title |
//! | [`frame`] | the rectangle between two axes |
//! | [`mark`] | colour, shape and dash of series |
//! | [`legend`] | samples of marks with their meaning |

pub(super) mod axis;
pub(super) mod frame;
pub(super) mod legend;
pub(crate) mod mark;
pub(super) mod scale;
pub(super) mod svg;
pub(super) mod text;
pub(super) mod ticks;
