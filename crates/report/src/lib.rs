//! Reports of a run: pure functions of a run file.
//!
//! | directory | content |
//! |---|---|
//! | [`analysis`] | from trials to estimates, comparisons, verdicts, claims and findings |
//! | [`calibration`] | noise of a host, and its consequence for a study |
//! | [`mod@compare`] | comparison of two runs, or of two variants of one run; verdicts of a repeated study |
//! | [`mod@pivot`] | variants of a run as tables by dimensions that the user names |
//! | `chart` | static pictures (SVG) of plain data |
//! | [`document`] | an analysis as words and tables, independent of the format |
//! | [`terminal`] | a document as text for a terminal |
//! | [`html`] | a run as one page |
//! | [`export`] | a document as Markdown; an analysis as JSON; trials as CSV |
//!
//! No function of this crate prints. A new format is one more renderer of a [`document::Document`], or of an
//! [`analysis::Analysis`] if it draws its own pictures.

pub mod analysis;
pub mod calibration;
mod chart;
mod command;
pub mod compare;
pub mod document;
mod driver;
mod error;
pub mod export;
pub mod html;
pub mod number;
pub mod pivot;
mod style;
mod symbol;
pub mod terminal;
mod unlike;

pub use analysis::{Analysis, Collector, analyse, analyse_with};
pub use compare::{
    Change, CompareOptions, Comparison, Repetition, Side, compare, compare_variants, repetition, select_variant,
};
pub use error::ReportError;
pub use pivot::{Pivot, PivotOptions, pivot};
pub use style::{Style, Tone};
pub use terminal::{render, show, show_all};
