//! An analysis in words and tables, of no format yet: what the terminal, Markdown and HTML have in common.

mod calibration;
mod cell;
mod claims;
mod comparison;
mod confirmation;
mod content;
mod drivers;
mod footnote;
mod header;
mod legend;
mod outcome;
mod overview;
mod pivot;
mod repeat;
mod scenario;
mod table;
mod timeline;

use litelab_engine::record::RunInfo;

pub use calibration::of_calibration;
pub use claims::ClaimBlock;
pub use comparison::of_comparison;
pub use confirmation::of_confirmation;
pub(crate) use drivers::{driver, language_of, sqlite_of};
pub(crate) use header::file_name;
pub use pivot::of_pivot;
pub use repeat::of_repetition;
pub(crate) use table::GAP;
pub use table::{Align, Cell, Column, Table};

use crate::analysis::{Analysis, ScenarioAnalysis};
use crate::style::Tone;

/// Blocks in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What is read from top to bottom.
    pub blocks: Vec<Block>,
}

/// A piece of a document. Texts may hold anything that a study or a runner wrote; renderers clean and escape them.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The document's title.
    Title(String),
    /// A section's title, and what stands beside it.
    Heading(String, String),
    /// A paragraph.
    Text(Tone, String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Rows and columns.
    Table(Table),
    /// Lines that begin with a mark: a glyph, a number.
    Marked(Vec<Marked>),
    /// Claims with their verdicts.
    Claims(Vec<ClaimBlock>),
}

/// A line with a mark before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    /// A glyph or number.
    pub mark: String,
    /// The line.
    pub text: String,
    /// Of the mark.
    pub tone: Tone,
}

impl Marked {
    fn new(mark: impl Into<String>, tone: Tone, text: impl Into<String>) -> Self {
        Self { mark: mark.into(), text: text.into(), tone }
    }
}

impl Document {
    fn heading(&mut self, title: &str, beside: &str) {
        self.blocks.push(Block::Heading(title.to_owned(), beside.to_owned()));
    }

    fn text(&mut self, tone: Tone, text: impl Into<String>) {
        self.blocks.push(Block::Text(tone, text.into()));
    }

    fn marked(&mut self, lines: Vec<Marked>) {
        if !lines.is_empty() {
            self.blocks.push(Block::Marked(lines));
        }
    }
}

/// A whole run. Holds the name of its file and not its path, which may name a person.
#[must_use]
pub fn of_run(analysis: &Analysis, info: &RunInfo) -> Document {
    let mut document = Document::default();
    header::add(&mut document, analysis, info);
    drivers::add(&mut document, info);
    for scenario in &analysis.scenarios {
        scenario::add(&mut document, scenario, analysis, info);
    }
    overview::add(&mut document, analysis, info);
    claims::add(&mut document, analysis);
    if !analysis.findings.is_empty() {
        document.heading("Findings", "");
        document.marked(analysis.findings.iter().map(|f| Marked::new("•", Tone::Plain, f.as_str())).collect());
    }
    legend::add(&mut document, analysis);
    document
}

/// The table of one scenario of a run, and its footnotes.
#[must_use]
pub(crate) fn of_scenario(scenario: &ScenarioAnalysis, analysis: &Analysis, info: &RunInfo) -> Document {
    Document { blocks: scenario::tabled(scenario, analysis, info) }
}

/// The claims of a run without their heading.
#[must_use]
pub(crate) fn of_claims(analysis: &Analysis) -> Document {
    Document { blocks: vec![claims::listed(analysis)] }
}

/// Text from outside on one line and without control characters: no escape sequence reaches a terminal.
#[must_use]
pub(crate) fn clean(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
