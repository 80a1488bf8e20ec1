//! Whether a text is coloured, and how wide it may be.

use anstyle::{AnsiColor, Style as Ansi};

/// How a text for a terminal is to look. Meaning is never in colour alone: a glyph or a word says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI escapes are used.
    pub color: bool,
    /// Columns; less than 80 counts as 80.
    pub width: usize,
}

impl Style {
    /// Least width.
    pub const MIN_WIDTH: usize = 80;

    /// No colour, 100 columns: for files and pipes.
    pub const PLAIN: Style = Style { color: false, width: 100 };

    /// Columns to fill.
    #[must_use]
    pub fn columns(self) -> usize {
        self.width.max(Self::MIN_WIDTH)
    }

    /// The text in its tone.
    #[must_use]
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        let ansi = tone.ansi();
        format!("{}{text}{}", ansi.render(), ansi.render_reset())
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A title or heading.
    Strong,
    /// Of less importance.
    Dim,
    /// Better, or as claimed.
    Good,
    /// Worse, failed or contradicted.
    Bad,
    /// Open, or to be looked at.
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
