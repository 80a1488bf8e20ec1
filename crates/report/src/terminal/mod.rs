//! Documents as text for a terminal, with the width and colours of a [`Style`].

mod table;

use litelab_record::RunInfo;
use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthStr;

use crate::analysis::Analysis;
use crate::document::{self, ClaimElement, Document, Element, GLUE, Marked, clean, glue};
use crate::style::{Style, Tone};

/// Renders the answer of a run as text for a terminal: one table and a few sentences for each scenario.
#[must_use]
pub fn show(analysis: &Analysis, info: &RunInfo, style: Style) -> String {
    render(&document::of_run_in_short(analysis, info, style.columns() - 2), style)
}

/// Renders everything known of a run as text for a terminal. The last line is the path of the run file.
#[must_use]
pub fn show_all(analysis: &Analysis, info: &RunInfo, style: Style) -> String {
    let mut document = document::of_run(analysis, info);
    document.elements.push(Element::Facts(vec![("run file".into(), info.path.display().to_string())]));
    render(&document, style)
}

/// Renders a document as text for a terminal; the text ends with a line feed.
#[must_use]
pub fn render(document: &Document, style: Style) -> String {
    let mut out = Page { text: String::new(), style };
    for element in &document.elements {
        out.element(element);
    }
    out.text
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn element(&mut self, element: &Element) {
        match element {
            Element::Title(title) => self.wrapped("", Tone::Strong, title),
            Element::Heading(title, beside) => {
                if !self.text.ends_with("\n\n") {
                    self.line("");
                }
                let rule = format!("── {} ", clean(title));
                let beside = clean(beside);
                let indent = " ".repeat(3);
                let text = if beside.is_empty() { rule.clone() } else { format!("{rule}─ {beside}") };
                for (i, line) in self.wrap("", &indent, &text).into_iter().enumerate() {
                    // Only the rule and the title are bold; the question is easier to read plain.
                    let painted = match line.strip_prefix(rule.as_str()).filter(|_| i == 0) {
                        Some(rest) => format!("{}{rest}", self.style.paint(Tone::Strong, &rule)),
                        None => line,
                    };
                    self.line(painted.trim_end());
                }
            }
            Element::Text(tone, text) => self.wrapped("  ", *tone, text),
            Element::Facts(facts) => self.facts("  ", facts),
            Element::Table(table) => {
                for part in table.fit(self.style.columns() - 2) {
                    for line in table::lines(&part, self.style) {
                        self.line(format!("  {line}").trim_end());
                    }
                    self.line("");
                }
            }
            Element::Marked(lines) => lines.iter().for_each(|line| self.marked(line)),
            Element::Claims(claims) => claims.iter().for_each(|claim| self.claim(claim)),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.extend([line, "\n"]);
    }

    fn wrap(&self, first: &str, rest: &str, text: &str) -> Vec<String> {
        let options = Options::new(self.style.columns())
            .initial_indent(first)
            .subsequent_indent(rest)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        textwrap::wrap(&glue(text), options).into_iter().map(|line| line.replace(GLUE, " ")).collect()
    }

    fn wrapped(&mut self, indent: &str, tone: Tone, text: &str) {
        for line in self.wrap(indent, indent, &clean(text)) {
            let painted = self.style.paint(tone, line.trim_end());
            self.line(&painted);
        }
    }

    /// Writes a text after `begin`, which is `width` columns wide; further lines are indented by as much.
    fn hanging(&mut self, begin: &str, width: usize, text: &str) {
        let indent = " ".repeat(width);
        for (i, line) in self.wrap(&indent, &indent, &clean(text)).into_iter().enumerate() {
            match i {
                0 => self.line(format!("{begin}{}", line.trim_start()).trim_end()),
                _ => self.line(line.trim_end()),
            }
        }
    }

    fn marked(&mut self, line: &Marked) {
        let mark = clean(&line.mark);
        let begin = format!("  {} ", self.style.paint(line.tone, &mark));
        self.hanging(&begin, mark.width() + 3, &line.text);
    }

    fn facts(&mut self, indent: &str, facts: &[(String, String)]) {
        let width = facts.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        for (name, value) in facts {
            let padding = " ".repeat(width - name.width());
            let begin = format!("{indent}{}{padding}  ", self.style.paint(Tone::Dim, name));
            self.hanging(&begin, indent.len() + width + 2, value);
        }
    }

    fn claim(&mut self, claim: &ClaimElement) {
        let mark = format!("{} {} ·", claim.glyph, claim.word);
        self.marked(&Marked { mark, text: claim.text.clone(), tone: claim.tone });
        let measured = [claim.measured.as_str(), claim.about.as_str()].join(" · ");
        let facts = [
            (claim.origin.name(), &claim.quote),
            ("asked", &claim.asked),
            ("measured", &measured),
            ("open", &claim.reason),
            ("note", &claim.note),
        ];
        let facts: Vec<(String, String)> = facts
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        self.facts("      ", &facts);
    }
}
