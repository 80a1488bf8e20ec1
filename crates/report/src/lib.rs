//! What a run says: pure functions of a run file.
//!
//! | directory | is |
//! |---|---|
//! | [`analysis`] | from trials to estimates, comparisons, verdicts, claims and findings |
//! | [`calibration`] | what a host can show at all, and what that means for a study |
//! | [`mod@compare`] | two runs, or two arms of one; a study run twice: which verdicts changed |
//! | [`mod@pivot`] | arms of a run as tables by the dimensions that the reader names |
//! | `chart` | static pictures (SVG) of plain data |
//! | [`document`] | an analysis in words and tables, of no format yet |
//! | [`terminal`] | a document as text for a terminal |
//! | [`html`] | a run as one page |
//! | [`export`] | a document as Markdown; an analysis as JSON; trials as CSV |
//!
//! Nothing here prints. A further format is one more renderer of a [`document::Document`], or of an
//! [`analysis::Analysis`] where it draws its own pictures.

pub mod analysis;
pub mod calibration;
mod chart;
pub mod compare;
pub mod document;
mod error;
pub mod export;
pub mod html;
pub mod number;
pub mod pivot;
mod style;
mod symbol;
pub mod terminal;

pub use analysis::{Analysis, Collector, analyse, analyse_with};
pub use compare::{
    Change, CompareOptions, Comparison, Repetition, Side, compare, compare_arms, repetition, select_arm,
};
pub use error::ReportError;
pub use pivot::{Pivot, PivotOptions, pivot};
pub use style::{Style, Tone};
pub use terminal::{show, show_comparison, show_pivot, show_repetition};
