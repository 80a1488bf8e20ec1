//! What charts are drawn with.
//!
//! | file | is |
//! |---|---|
//! | [`svg`] | the picture around a drawing; numbers, texts and paths in it |
//! | [`text`] | how wide a text is, and where it is broken |
//! | [`ticks`] | values that are worth a tick, and their labels |
//! | [`unit`] | the unit of an axis |
//! | [`scale`] | from values to places |
//! | [`axis`] | a range, its ticks and its title |
//! | [`frame`] | the rectangle between two axes |
//! | [`mark`] | what tells series apart: colour, shape and dash |
//! | [`legend`] | which mark is which |

pub(super) mod axis;
pub(super) mod frame;
pub(super) mod legend;
pub(crate) mod mark;
pub(super) mod scale;
pub(super) mod svg;
pub(super) mod text;
pub(super) mod ticks;
pub(super) mod unit;
