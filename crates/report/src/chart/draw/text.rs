//! Width and line breaks of texts.

use litelab_model::text::{printable, shown};
use unicode_width::UnicodeWidthChar;

/// Font size, in units of the picture. A picture 350 pixels wide, on a telephone, shows it 10 pixels high.
pub(in crate::chart) const SIZE: f64 = 13.0;

/// Distance from one baseline to the next.
pub(in crate::chart) const LINE: f64 = 16.0;

/// Width in units of the picture. The reader's font is not known: these are the widths of DejaVu Sans, one of the
/// widest in use, so that a text is rather narrower than this than wider.
pub(in crate::chart) fn width(text: &str) -> f64 {
    text.chars().map(char_width).sum::<f64>() * SIZE
}

fn char_width(c: char) -> f64 {
    match shown(c) {
        'i' | 'j' | 'l' => 0.3,
        ' ' | '.' | ',' | '\'' | '|' => 0.34,
        'I' | '!' | ':' | ';' | '(' | ')' | '[' | ']' | '/' | '-' | 'f' | 't' | 'r' => 0.43,
        'm' | 'M' | 'w' | 'W' | '%' | '@' => 1.0,
        '+' | '=' | '<' | '>' | '×' | '≥' | '≤' => 0.84,
        'A'..='Z' => 0.76,
        '0'..='9' | 'a'..='z' => 0.64,
        other => match other.width() {
            None | Some(0) => 0.64,
            Some(1) => 0.8,
            Some(_) => 1.1,
        },
    }
}

/// Breaks a text into lines no wider than `room`: at blanks, else after punctuation (settings read
/// `key=value,key=value`), else within a word. Nothing is left out.
pub(in crate::chart) fn wrap(text: &str, room: f64) -> Vec<String> {
    let text = printable(text);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if width(&longer) <= room {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word;
        while width(rest) > room {
            let (head, tail) = rest.split_at(place_to_break(rest, room));
            lines.push(head.to_owned());
            rest = tail;
        }
        line = rest.to_owned();
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Number of bytes before the break, above 0: after the last punctuation that fits, else after the last character that
/// fits.
fn place_to_break(word: &str, room: f64) -> usize {
    let ends = word.char_indices().map(|(at, c)| (at + c.len_utf8(), c));
    let fits: Vec<(usize, char)> = ends.take_while(|(end, _)| width(&word[..*end]) <= room).collect();
    let soft = fits.iter().rev().find(|(_, c)| matches!(c, ',' | ';' | '=' | '/' | '_' | '-' | ':' | '.'));
    let first = word.chars().next().map_or(0, char::len_utf8);
    soft.or(fits.last()).map_or(first, |(end, _)| *end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_broken_where_a_reader_would() {
        assert_eq!(wrap("journal_mode=wal synchronous=normal", 150.0), ["journal_mode=wal", "synchronous=normal"]);
        assert_eq!(wrap("journal_mode=wal,page_size=4096", 150.0), ["journal_mode=wal,", "page_size=4096"]);
        assert_eq!(wrap("aaaaaaaaaa", 50.0), ["aaaaaa", "aaaa"]);
        assert_eq!(wrap("  ", 50.0), [""; 0]);
    }

    #[test]
    fn what_cannot_be_shown_is_replaced() {
        let hostile = "a\u{0}b\nc\u{ffff}";
        assert_eq!(printable(hostile), "a b c\u{fffd}");
        // The replaced text has the same width.
        assert_eq!(width(hostile), width(&printable(hostile)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_line_fits(text in "\\PC{0,60}", room in 20.0..400.0_f64) {
            let lines = wrap(&text, room);
            let squeeze = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(squeeze(&lines.concat()), squeeze(&printable(&text)));
            for line in lines {
                prop_assert!(width(&line) <= room, "{:?} is {} wide", line, width(&line));
            }
        }
    }
}
