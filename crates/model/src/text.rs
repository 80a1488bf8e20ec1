//! Text that others wrote (a study, a runner, a file's name), made fit for a line of output.

use std::borrow::Cow;

/// Characters of a name or of SQL that a message quotes; what is longer is cut there.
pub const QUOTED: usize = 100;
/// Characters of a message, whatever it is made of.
const MESSAGE: usize = 2_000;

/// The same text without characters that a terminal, a spreadsheet or a reader would take for something else: control
/// characters (C0 with ESC and NUL, DEL, C1) and line separators become spaces; the characters with the property
/// Bidi_Control of the Unicode Character Database, which reorder a line, and the two that XML forbids become U+FFFD.
///
/// Every line that leaves the program passes through this function.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| shown(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(shown).collect())
}

/// [`printable`] for a text of several lines: line ends and tabs stay.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// What [`printable`] puts in the place of a character.
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

/// One line: [`printable`], with single spaces.
#[must_use]
pub fn clean(text: &str) -> String {
    printable(text).split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The first characters of a text that is longer than a message may quote, and `…`.
#[must_use]
pub fn capped(text: &str) -> Cow<'_, str> {
    cut(text, QUOTED)
}

/// One line of an error: [`clean`], what it quotes between backticks [`capped`], and the whole of bounded length.
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
