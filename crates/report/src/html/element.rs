//! Elements of a document as HTML.

use maud::{Markup, html};

use super::line;
use crate::document::{self, Align, Cell, ClaimElement, Document, Element, Marked, Table, clean};
use crate::style::Tone;

/// Identity of a part of a page, which distinguishes its tables and footnotes from those of other parts.
#[derive(Clone, Copy)]
pub(super) struct IdScope<'a> {
    /// Prefix of the ids in this part.
    pub(super) id: &'a str,
    /// Name of the part, for readers who do not see the tables.
    pub(super) name: &'a str,
}

/// A section whose title is the document's first heading; empty for a document without elements.
pub(super) fn section(id: &str, document: &Document) -> Markup {
    let Some((Element::Heading(title, beside), rest)) = document.elements.split_first() else { return html! {} };
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (clean(title)) }
            @if !beside.is_empty() { p.dim { (clean(beside)) } }
            (all(rest, IdScope { id, name: title }))
        }
    }
}

/// Renders elements in order. Their headings are of the third level.
pub(super) fn all(elements: &[Element], place: IdScope<'_>) -> Markup {
    let mut tables = 0;
    html! {
        @for element in elements {
            @match element {
                Element::Title(text) => p { b { (clean(text)) } },
                Element::Heading(title, beside) => { h3 { (clean(title)) } @if !beside.is_empty() { p { (clean(beside)) } } },
                Element::Text(tone, text) => p class=(class(*tone)) { (rich(text)) },
                Element::Facts(of) => (facts(of)),
                Element::Table(of) => ({ tables += 1; table(of, place, &format!("t{tables}"), &[]) }),
                Element::Marked(lines) => (marked(lines, place)),
                Element::Claims(of) => (claims(of)),
            }
        }
    }
}

/// Renders pairs of name and value.
pub(super) fn facts(facts: &[(String, String)]) -> Markup {
    html! {
        dl { @for (name, value) in facts { div { dt { (clean(name)) } dd { (line(value)) } } } }
    }
}

/// Largest number of characters in the cells of a table that is not wrapped.
const ONE_LINE: usize = 44;

/// Class of a row's variant, and id of the place with its settings.
pub(super) type RowOf = (String, String);

/// Renders a table in a region that scrolls if the table is wider than the page. With `rows`, the first cell of each row
/// is a link to its variant.
pub(super) fn table(table: &Table, place: IdScope<'_>, name: &str, rows: &[RowOf]) -> Markup {
    let id = format!("{}-{name}", place.id);
    let side = |align: Align| (align == Align::Right).then_some("n");
    let row_of = |number: usize| rows.get(number).filter(|_| rows.len() == table.rows.len());
    // Short cells are easier to read on one line; the region scrolls.
    let short = table.rows.iter().flatten().all(|cell| cell.text.chars().count() <= ONE_LINE);
    html! {
        div.scroll role="region" tabindex="0" aria-labelledby=(id) {
            table class={ "sort" @if short { " short" } } {
                caption.unseen id=(id) { "Table " (name.trim_start_matches('t')) " of " (clean(place.name)) }
                thead { tr { @for column in &table.columns { th scope="col" class=[side(column.align)] { (clean(&column.title)) } } } }
                tbody {
                    @for (number, row) in table.rows.iter().enumerate() {
                        tr class=[row_of(number).map(|(class, _)| class)] {
                            @for (at, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
                                @let anchor = row_of(number).filter(|_| at == 0).map(|(_, anchor)| anchor.as_str());
                                @if at < table.keys {
                                    th scope="row" class=[tone(cell.tone)] { (content(cell, anchor, place)) }
                                } @else {
                                    td class=[tone(cell.tone).or(side(column.align))] { (content(cell, None, place)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Text of a cell, as a link if it has an anchor; the superscript digits at its end are links to footnotes.
fn content(cell: &Cell, anchor: Option<&str>, place: IdScope<'_>) -> Markup {
    let text = clean(&cell.text);
    let mut words: Vec<&str> = text.split(' ').collect();
    let first = words.iter().rposition(|word| lowered(word).is_none()).map_or(0, |at| at + 1);
    let marks = if first == 0 { Vec::new() } else { words.split_off(first) };
    let words = document::glue(&words.join(" "));
    html! {
        @if let Some(anchor) = anchor { a href={ "#" (anchor) } { (words) } } @else { (words) }
        @for mark in marks {
            @if let Some(number) = lowered(mark) {
                " " a.mark href={ "#" (place.id) "-n" (number) } aria-label={ "note " (number) } { (mark) }
            }
        }
    }
}

/// The number in superscript digits; `None` for other text.
fn lowered(word: &str) -> Option<u64> {
    const DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    if word.is_empty() {
        return None;
    }
    word.chars().try_fold(0_u64, |number, c| {
        let digit = DIGITS.chars().position(|d| d == c)?;
        number.checked_mul(10)?.checked_add(digit as u64)
    })
}

/// Renders lines that begin with a mark.
pub(super) fn marked(lines: &[Marked], place: IdScope<'_>) -> Markup {
    html! {
        ul.marks {
            @for one in lines {
                li id=[lowered(&one.mark).map(|number| format!("{}-n{number}", place.id))] {
                    span class={ "mark " (class(one.tone)) } aria-hidden="true" { (clean(&one.mark)) }
                    span { @if let Some(word) = said(one) { span.unseen { (word) } } (rich(&one.text)) }
                }
            }
        }
    }
}

/// Renders a line with the text between backticks as code.
pub(super) fn rich(text: &str) -> Markup {
    let text = line(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! { @for (at, part) in parts.iter().enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// Words in place of a mark, for readers who do not see it.
fn said(of: &Marked) -> Option<String> {
    if let Some(number) = lowered(&of.mark) {
        return Some(format!("Note {number}: "));
    }
    match (of.mark.as_str(), of.tone) {
        (_, Tone::Bad) => Some("Failed: ".into()),
        ("!", _) => Some("Warning: ".into()),
        ("?", _) => Some("Not known: ".into()),
        _ => None,
    }
}

/// Renders claims of one origin with their verdicts.
fn claims(claims: &[ClaimElement]) -> Markup {
    let origin = claims.first().map_or("none", |claim| claim.origin.name());
    let id = format!("claims-{origin}");
    html! {
        div.scroll role="region" tabindex="0" aria-labelledby=(id) {
            table.claims {
                caption.unseen id=(id) { "Claims (" (origin) "), what was measured, and their verdicts" }
                thead {
                    tr {
                        th scope="col" { "verdict" }
                        th scope="col" { "claim" }
                        th scope="col" { "measured here" }
                        th scope="col" { "expected" }
                    }
                }
                tbody {
                    @for claim in claims {
                        tr {
                            td { span class={ "verdict " (class(claim.tone)) } { span aria-hidden="true" { (claim.glyph) } " " (claim.word) } }
                            th scope="row" {
                                (clean(&claim.text))
                                @for (name, more) in [(claim.origin.name(), &claim.quote), ("open", &claim.reason), ("note", &claim.note)] {
                                    @if !more.is_empty() { span.more { i { (name) ": " } (clean(more)) } }
                                }
                            }
                            td { b { (line(&claim.measured)) } span.more { (clean(&claim.about)) } }
                            td { (clean(&claim.asked)) }
                        }
                    }
                }
            }
        }
    }
}

/// CSS class of a tone.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Strong => "strong",
        Tone::Dim => "dim",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
    }
}

fn tone(tone: Tone) -> Option<&'static str> {
    (tone != Tone::Plain).then(|| class(tone))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: IdScope<'static> = IdScope { id: "s1", name: "commit" };

    #[test]
    fn footnotes_are_links_both_ways() {
        assert_eq!(lowered("¹²"), Some(12));
        assert_eq!((lowered(""), lowered("x²"), lowered("2")), (None, None, None));
        let text = |cell: &str| content(&Cell::plain(cell), None, PLACE).into_string();
        let cell = text("a b² ¹ ²");
        assert_eq!(
            cell,
            "a b² <a class=\"mark\" href=\"#s1-n1\" aria-label=\"note 1\">¹</a> <a class=\"mark\" href=\"#s1-n2\" aria-label=\"note 2\">²</a>"
        );
        let line = Marked { mark: "²".into(), text: "x".into(), tone: Tone::Warn };
        assert!(marked(&[line], PLACE).into_string().contains("<li id=\"s1-n2\">"));
        // A cell of only superscript digits has no footnotes.
        assert_eq!(text("²"), "²");
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(rich("the `for` or `<b>`").into_string(), "the <code>for</code> or <code>&lt;b&gt;</code>");
        assert_eq!(rich("one ` alone").into_string(), "one ` alone");
    }

    #[test]
    fn every_text_is_escaped() {
        let hostile = "<script>alert(1)</script>\"'&\u{1b}";
        let table = Table {
            keys: 1,
            columns: vec![crate::document::Column::left(hostile, 0), crate::document::Column::right(hostile, 1)],
            rows: vec![vec![Cell::plain(hostile), Cell::new(Tone::Bad, hostile)]],
        };
        let claim = ClaimElement {
            glyph: "✔",
            word: "HOLDS",
            tone: Tone::Good,
            origin: litelab_model::claim::Origin::Source,
            text: hostile.into(),
            quote: hostile.into(),
            measured: hostile.into(),
            asked: hostile.into(),
            about: hostile.into(),
            reason: hostile.into(),
            note: hostile.into(),
        };
        let elements = [
            Element::Title(hostile.into()),
            Element::Heading(hostile.into(), hostile.into()),
            Element::Text(Tone::Dim, hostile.into()),
            Element::Facts(vec![(hostile.into(), hostile.into())]),
            Element::Table(table),
            Element::Marked(vec![Marked { mark: hostile.into(), text: hostile.into(), tone: Tone::Warn }]),
            Element::Claims(vec![claim]),
        ];
        let html = all(&elements, IdScope { id: "s", name: hostile }).into_string();
        assert!(!html.contains("<script") && !html.contains('\u{1b}'));
        // One for the title, two for the heading, one for the text, two for the facts; caption, two columns and two
        // cells of the table; mark and text; seven for the claim.
        assert_eq!(html.matches("&lt;script&gt;").count(), 20);
    }
}
