//! Ratios with their intervals, one row each, on a logarithmic axis.

use maud::Markup;

use super::{Chart, Reading, svg};
use crate::style::Tone;

/// A forest plot: the line at 1 says "no difference", the shaded band "a difference that does not matter".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// What is shown: `throughput against the baseline`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the axis measures: `throughput, ratio to journal_mode=delete`. The unit × is added.
    pub axis: String,
    /// Ends of the band of differences that do not matter, such as (1/1.05, 1.05); none where none was set.
    pub band: Option<(f64, f64)>,
    /// What a ratio below 1 and above 1 means, such as ("slower", "faster"); none where neither is better.
    pub sides: Option<(String, String)>,
    /// From top to bottom.
    pub rows: Vec<ForestRow>,
}

/// One ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// What is compared; long ones are wrapped.
    pub label: String,
    /// The ratio; or why there is none, in a few words. A ratio without an interval is not drawn either.
    pub ratio: Result<Reading, String>,
    /// What it shows.
    pub verdict: Option<Verdict>,
    /// Blocks behind it.
    pub blocks: u32,
}

/// A verdict as it is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Stands before the word, and says the same: `▲`.
    pub glyph: String,
    /// `faster`.
    pub word: String,
    /// Chooses the colour.
    pub tone: Tone,
}

impl Chart for Forest {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        self.summary.clone()
    }

    fn svg(&self, id: &str) -> Markup {
        svg::figure(self, id, 40.0, maud::html! {})
    }
}
