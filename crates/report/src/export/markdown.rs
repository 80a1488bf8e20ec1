//! Documents as GitHub Flavored Markdown: the tables of the terminal, not divided, without terminal escapes.

use crate::document::{Align, ClaimElement, Document, Element, Table, clean};

/// Renders a document as Markdown.
#[must_use]
pub fn render(document: &Document) -> String {
    let parts: Vec<String> = document.elements.iter().map(element).filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn element(element: &Element) -> String {
    match element {
        Element::Title(title) => format!("# {}\n", escape(title)),
        Element::Heading(title, beside) if beside.is_empty() => format!("## {}\n", escape(title)),
        Element::Heading(title, beside) => format!("## {}\n\n{}\n", escape(title), escape(beside)),
        Element::Text(_, text) => format!("{}\n", escape(text)),
        Element::Facts(facts) => {
            list(facts.iter().map(|(name, value)| format!("**{}** {}", escape(name), escape(value))))
        }
        Element::Table(of) => table(of),
        Element::Marked(lines) => {
            list(lines.iter().map(|line| format!("{} {}", escape(&line.mark), escape(&line.text))))
        }
        Element::Claims(of) => claims(of),
    }
}

fn list(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("- {line}\n")).collect()
}

fn table(table: &Table) -> String {
    let titles = table.columns.iter().map(|c| escape(&c.title)).collect();
    let rules = table.columns.iter().map(|c| if c.align == Align::Right { "--:" } else { ":--" }.to_owned()).collect();
    let rows = table.rows.iter().map(|cells| cells.iter().map(|c| escape(&c.text)).collect::<Vec<_>>());
    lines([titles, rules].into_iter().chain(rows))
}

fn claims(claims: &[ClaimElement]) -> String {
    // Claims of the study's own have no quotation.
    let quoted = claims.iter().any(|claim| !claim.quote.is_empty());
    let cells = |of: [String; 5]| of.into_iter().enumerate().filter(|(at, _)| quoted || *at != 2).map(|(_, cell)| cell);
    let titles: Vec<String> =
        cells(["verdict", "claim", "words of the source", "asked", "measured"].map(str::to_owned)).collect();
    let rules = vec![":--".to_owned(); titles.len()];
    let row = |claim: &ClaimElement| {
        let mut text = escape(&claim.text);
        for (name, more) in [("open", &claim.reason), ("note", &claim.note)] {
            if !more.is_empty() {
                text.push_str(&format!("<br>*{name}:* {}", escape(more)));
            }
        }
        cells([
            format!("{} {}", claim.glyph, claim.word),
            text,
            escape(&claim.quote),
            escape(&claim.asked),
            format!("{}<br>{}", escape(&claim.measured), escape(&claim.about)),
        ])
        .collect()
    };
    lines([titles, rules].into_iter().chain(claims.iter().map(row)))
}

fn lines(rows: impl Iterator<Item = Vec<String>>) -> String {
    rows.map(|cells| format!("| {} |\n", cells.join(" | "))).collect()
}

/// The text in one line, with the characters escaped that are special in Markdown or HTML. Text between backticks is
/// code, as on the page; a table would end at a `|` even there.
fn escape(text: &str) -> String {
    let text = clean(text);
    let parts: Vec<&str> = text.split('`').collect();
    let mut codes = parts.iter().skip(1).step_by(2);
    if parts.len().is_multiple_of(2) || codes.any(|code| code.trim().is_empty() || code.contains(['|', '\\'])) {
        return plain(&text);
    }
    let part = |(at, part): (usize, &&str)| if at % 2 == 1 { format!("`{part}`") } else { plain(part) };
    parts.iter().enumerate().map(part).collect()
}

fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '`' | '\\' | '#' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_break_its_table() {
        assert_eq!(escape("a|b\n<script> *x* `y \u{1b}[31m"), r"a\|b &lt;script> \*x\* \`y [31m");
        assert_eq!(escape("`a|b` ``"), r"\`a\|b\` \`\`");
        assert_eq!(escape(r"`a\`"), r"\`a\\\`");
    }

    #[test]
    fn text_between_backticks_is_code() {
        assert_eq!(escape("*x* by `a < b & *c*` and `d`"), r"\*x\* by `a < b & *c*` and `d`");
    }
}
