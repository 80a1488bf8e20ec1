//! Colour and width of texts for a terminal.

use anstyle::{AnsiColor, Style as Ansi};

/// Appearance of a text for a terminal. Colour never carries meaning alone: a symbol or a word repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI escapes are used.
    pub color: bool,
    /// Width in columns; a value below 80 counts as 80.
    pub width: usize,
}

impl Style {
    /// Least width in columns.
    pub const MIN_WIDTH: usize = 80;

    /// No colour, 100 columns: the style of files and pipes.
    pub const PLAIN: Style = Style { color: false, width: 100 };

    /// Number of columns to fill.
    #[must_use]
    pub fn columns(self) -> usize {
        self.width.max(Self::MIN_WIDTH)
    }

    /// Colours the text according to its tone.
    #[must_use]
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        let ansi = tone.ansi();
        format!("{}{text}{}", ansi.render(), ansi.render_reset())
    }
}

/// Meaning of a piece of text, which selects its appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// A title or heading.
    Strong,
    /// Text of less importance.
    Dim,
    /// A better value, or a claim that holds.
    Good,
    /// A worse value, a failure or a contradicted claim.
    Bad,
    /// An open result, or one that needs attention.
    Warn,
}

impl Tone {
    fn ansi(self) -> Ansi {
        match self {
            Self::Plain => Ansi::new(),
            Self::Strong => Ansi::new().bold(),
            Self::Dim => Ansi::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_only_where_it_is_asked_for() {
        let plain = Style { color: false, width: 10 };
        let colour = Style { color: true, width: 120 };
        assert_eq!(plain.paint(Tone::Bad, "x"), "x");
        assert_eq!(colour.paint(Tone::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(colour.paint(Tone::Plain, "x"), "x");
        assert_eq!((plain.columns(), colour.columns()), (80, 120));
    }
}
