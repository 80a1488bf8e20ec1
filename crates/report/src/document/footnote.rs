//! Footnotes of a table.

use super::{Marked, cell};
use crate::style::Tone;

/// Footnotes of a table; equal remarks share a number.
#[derive(Default)]
pub(super) struct Footnotes(Vec<String>);

impl Footnotes {
    /// The mark of a remark.
    pub(super) fn mark(&mut self, text: String) -> String {
        let at = self.0.iter().position(|t| *t == text).unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        });
        cell::raised(at + 1)
    }

    /// All remarks in the order of their marks.
    pub(super) fn lines(self) -> Vec<Marked> {
        let lines = self.0.into_iter().enumerate();
        lines.map(|(i, text)| Marked::new(cell::raised(i + 1), Tone::Warn, text)).collect()
    }
}
