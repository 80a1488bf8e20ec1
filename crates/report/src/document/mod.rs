//! An analysis as words and tables, independent of the format: the common source of terminal, Markdown and HTML.

pub mod answer;
mod calibration;
mod cell;
pub(crate) mod claims;
mod comparison;
mod confirmation;
mod content;
pub(crate) mod crossover;
pub(crate) mod drivers;
mod flame;
mod footnote;
pub(crate) mod header;
pub(crate) mod legend;
mod locks;
mod outcome;
mod pivot;
mod recording;
mod repeat;
pub(crate) mod scenario;
mod summary;
mod table;
mod timeline;

use litelab_record::RunInfo;

pub(crate) use litelab_model::text::clean;

pub use calibration::of_calibration;
pub use claims::ClaimElement;
pub(crate) use claims::counts as claim_counts;
pub use comparison::of_comparison;
pub use confirmation::of_confirmation;
pub(crate) use flame::MOST_VARIANTS as FLAME_VARIANTS;
pub use pivot::of_pivot;
pub use recording::of_recording;
pub(crate) use recording::{events as recording_events, facts as recording_facts, holders as recording_holders};
pub use repeat::of_repetition;
pub use summary::of_run_in_short;
pub(crate) use table::GAP;
pub use table::{Align, Cell, Column, Table};

use crate::analysis::Analysis;
use crate::style::Tone;

/// A sequence of elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Elements from top to bottom.
    pub elements: Vec<Element>,
}

/// A piece of a document. Its texts may contain anything that a study or a runner wrote; renderers clean and escape
/// them.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Title of the document.
    Title(String),
    /// Title of a section, and the text next to it.
    Heading(String, String),
    /// A paragraph.
    Text(Tone, String),
    /// Pairs of name and value.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Lines that begin with a mark: a symbol or a number.
    Marked(Vec<Marked>),
    /// Claims of one origin with their verdicts.
    Claims(Vec<ClaimElement>),
}

/// A line with a mark before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    /// Symbol or number before the line.
    pub mark: String,
    /// Text of the line.
    pub text: String,
    /// Tone of the mark.
    pub tone: Tone,
}

impl Marked {
    fn new(mark: impl Into<String>, tone: Tone, text: impl Into<String>) -> Self {
        Self { mark: mark.into(), text: text.into(), tone }
    }
}

impl Document {
    /// Creates a document of what `add` adds.
    pub(crate) fn of(add: impl FnOnce(&mut Self)) -> Self {
        let mut document = Self::default();
        add(&mut document);
        document
    }

    /// Creates a document with a title and facts.
    fn titled(title: impl Into<String>, facts: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let mut document = Self { elements: vec![Element::Title(title.into())] };
        document.facts(facts);
        document
    }

    /// Adds the facts that are not empty.
    fn facts(&mut self, facts: impl IntoIterator<Item = (&'static str, String)>) {
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let facts: Vec<(String, String)> = facts.map(|(name, value)| (name.to_owned(), value)).collect();
        if !facts.is_empty() {
            self.elements.push(Element::Facts(facts));
        }
    }

    fn table(&mut self, table: Table) {
        self.elements.push(Element::Table(table));
    }

    fn heading(&mut self, title: &str, beside: &str) {
        self.elements.push(Element::Heading(title.to_owned(), beside.to_owned()));
    }

    pub(crate) fn text(&mut self, tone: Tone, text: impl Into<String>) {
        self.elements.push(Element::Text(tone, text.into()));
    }

    fn marked(&mut self, lines: Vec<Marked>) {
        if !lines.is_empty() {
            self.elements.push(Element::Marked(lines));
        }
    }
}

/// Renders a whole run. The document has the name of the run's file, without its path, which may contain the name of a
/// person.
#[must_use]
pub fn of_run(analysis: &Analysis, info: &RunInfo) -> Document {
    let mut document = Document::default();
    header::add(&mut document, analysis, info);
    drivers::add(&mut document, info);
    for scenario in &analysis.scenarios {
        scenario::add(&mut document, scenario, analysis, info);
    }
    crossover::add(&mut document, analysis);
    claims::add(&mut document, analysis);
    if !analysis.findings.is_empty() {
        document.heading("Findings", "");
        document.marked(analysis.findings.iter().map(|f| Marked::new("•", Tone::Plain, f.as_str())).collect());
    }
    legend::add(&mut document, analysis);
    document
}

/// No-break space, which keeps a number and its unit on one line.
pub(crate) const GLUE: char = '\u{a0}';

/// Replaces the spaces at which a line must not break: before a unit, and within an interval.
#[must_use]
pub(crate) fn glue(text: &str) -> String {
    const UNITS: [&str; 11] = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "%", "KiB/s"];
    let mut out = String::new();
    let mut before = "";
    for word in text.split(' ') {
        let unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        let in_interval = before.starts_with('[') && before.ends_with(',');
        if !before.is_empty() {
            out.push(if (unit && before.ends_with(|c: char| c.is_ascii_digit())) || in_interval { GLUE } else { ' ' });
        }
        out.push_str(word);
        before = word;
    }
    out
}
