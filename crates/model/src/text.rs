//! Preparation of foreign text (a study, a runner's message, a file name) for one line of output.

use std::borrow::Cow;

/// Maximum number of characters of a name or of SQL in a message; longer text is cut.
pub const QUOTED: usize = 100;
/// Maximum number of characters of a message.
const MESSAGE: usize = 2_000;

/// The text without characters that a terminal, a spreadsheet or a reader could misinterpret.
///
/// Control characters (C0 with ESC and NUL, DEL, C1) and line separators become spaces. The characters with the
/// property Bidi_Control of the Unicode Character Database, which reorder a line, and the two that XML forbids become
/// U+FFFD.
///
/// Every line of the program's output passes through this function.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| shown(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(shown).collect())
}

/// [`printable`] for a text of several lines: line ends and tabs are kept.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// The replacement of a character in [`printable`].
#[must_use]
pub fn shown(c: char) -> char {
    match c {
        '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fffe}'
        | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    }
}

/// [`printable`] for a line of bounded length: what is longer than a message is cut.
#[must_use]
pub fn line(text: &str) -> String {
    cut(&printable(text), MESSAGE).into_owned()
}

/// The text as one line: [`printable`], with single spaces between words.
#[must_use]
pub fn clean(text: &str) -> String {
    printable(text).split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The first [`QUOTED`] characters of a longer text, followed by `…`; a shorter text unchanged.
#[must_use]
pub fn capped(text: &str) -> Cow<'_, str> {
    cut(text, QUOTED)
}

/// The text of an error as one line of bounded length: [`clean`], with each quotation between backticks [`capped`].
#[must_use]
pub fn message(text: &str) -> String {
    let line = clean(text);
    let parts: Vec<Cow<'_, str>> = line
        .split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 1 { capped(part) } else { Cow::Borrowed(part) })
        .collect();
    cut(&parts.join("`"), MESSAGE).into_owned()
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_printed() {
        let hostile = "a\u{1b}]52;c;aGk=\u{7}b\0c\u{9b}31md\u{7f}\u{202e}e\u{2066}f\u{2028}g\r\nh";
        let line = clean(hostile);
        assert_eq!(line, "a ]52;c;aGk= b c 31md \u{fffd}e\u{fffd}f g h");
        assert!(line.chars().all(|c| shown(c) == c));
        assert_eq!(printable("two  spaces, ünïcödé"), "two  spaces, ünïcödé");
        assert_eq!(printable_lines("a\n\tb\u{1b}[1m\r\n"), "a\n\tb [1m \n");
        // Every control character, and no other character of Latin-1.
        for c in '\0'..='\u{ff}' {
            assert_eq!(shown(c) != c, c.is_control(), "{c:?}");
        }
    }

    #[test]
    fn a_message_is_of_bounded_length() {
        let long = "x".repeat(1 << 20);
        let line = message(&format!("unknown key `{long}`: did you mean `workers`?\n  see {long}"));
        assert!(line.starts_with(&format!("unknown key `{}…`: did you mean `workers`? see x", "x".repeat(QUOTED))));
        assert_eq!(line.chars().count(), MESSAGE + 1);
        assert_eq!(message("short `name`"), "short `name`");
        assert_eq!(capped(&long).chars().count(), QUOTED + 1);
    }
}
