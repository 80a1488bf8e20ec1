//! Tables of a run in a page, between two comments, so that they can be generated again.
//!
//! ```text
//! <!-- splice STUDY/SCENARIO: COLUMN, COLUMN -->
//! …
//! <!-- end of splice -->
//! ```
//!
//! Columns are selected by their titles; default: all. `STUDY/claims` is the table of claims, `STUDY/crossovers` are
//! those of crossovers, `STUDY/finding: NAME` are findings, and `STUDY/run` is what the run was made with. The text
//! between the comments is replaced, and the second comment records the command that made the run.

use litelab_model::unknown;
use litelab_record::RunInfo;

use super::markdown;
use crate::analysis::Analysis;
use crate::document::{Document, Element, Table, claims, crossover, header, scenario};
use crate::error::ReportError;
use crate::style::Tone;

const BEGIN: &str = "<!-- splice ";
const END: &str = "<!-- end of splice";
const CLOSE: &str = "-->";

/// Generates every table of the run's study in a page; returns the page and the number of tables. Tables of other
/// studies stay unchanged.
///
/// # Errors
/// [`ReportError::Splice`] if a marker has no end, names no scenario of the run or no column of its table, or if the
/// page has no marker of this study.
pub fn splice(page: &str, analysis: &Analysis, info: &RunInfo) -> Result<(String, usize), ReportError> {
    let mut out = String::new();
    let mut made = 0;
    let mut lines = page.split_inclusive('\n').enumerate();
    while let Some((at, line)) = lines.next() {
        out.push_str(line);
        let Some(marker) = Marker::read(line) else { continue };
        let here = |what: String| ReportError::Splice(format!("line {}: {what}", at + 1));
        let mut old = String::new();
        let end = loop {
            match lines.next() {
                Some((_, line)) if line.trim_start().starts_with(END) => break line,
                Some((_, line)) if Marker::read(line).is_none() => old.push_str(line),
                _ => return Err(here(format!("`{}` has no `{END} -->`", line.trim()))),
            }
        };
        if marker.study != info.plan.study {
            out.push_str(&old);
            out.push_str(end);
            continue;
        }
        out.push_str(&marker.table(analysis, info).map_err(here)?);
        out.push_str(&format!("{END}: {} {CLOSE}\n", origin(info)));
        made += 1;
    }
    if made == 0 {
        let study = &info.plan.study;
        return Err(ReportError::Splice(format!(
            "no `{BEGIN}{study}/SCENARIO {CLOSE}` in it, and the run is of {study}"
        )));
    }
    Ok((out, made))
}

/// Command, size and date of the run.
fn origin(info: &RunInfo) -> String {
    let day = info.created.get(..10).unwrap_or(&info.created);
    format!("`{}`, {} rounds, {day}", crate::command::whole(info), info.rounds())
}

struct Marker<'a> {
    study: &'a str,
    scenario: &'a str,
    columns: Vec<&'a str>,
}

impl<'a> Marker<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let inner = line.trim().strip_prefix(BEGIN)?.strip_suffix(CLOSE)?.trim();
        // A metric of one transaction has a colon as well, but without a space after it.
        let (name, columns) = inner.split_once(": ").unwrap_or((inner, ""));
        let (study, scenario) = name.split_once('/')?;
        let columns = columns.split(',').map(str::trim).filter(|c| !c.is_empty()).collect();
        Some(Self { study: study.trim(), scenario: scenario.trim(), columns })
    }

    fn table(&self, analysis: &Analysis, info: &RunInfo) -> Result<String, String> {
        let document = match self.scenario {
            "claims" => Document { elements: claims::tables(analysis) },
            "crossovers" => Document { elements: crossover::tabled(analysis) },
            "run" => Document::of(|document| header::facts(document, analysis, info)),
            "finding" => self.findings(analysis, info)?,
            _ => self.scenario(analysis, info)?,
        };
        Ok(markdown::render(&document))
    }

    /// The table of a scenario with its footnotes.
    fn scenario(&self, analysis: &Analysis, info: &RunInfo) -> Result<Document, String> {
        let scenario = analysis.scenarios.iter().find(|s| s.name == self.scenario).ok_or_else(|| {
            unknown(
                "scenario",
                self.scenario,
                analysis.scenarios.iter().map(|s| s.name.as_str()).chain(["claims", "crossovers", "finding", "run"]),
            )
        })?;
        let mut document = Document { elements: scenario::tabled(scenario, analysis, info) };
        if let Some(Element::Table(table)) = document.elements.first_mut().filter(|_| !self.columns.is_empty()) {
            *table = self.narrow(table)?;
        }
        Ok(document)
    }

    /// The findings with these names, a paragraph each; without names all of them.
    fn findings(&self, analysis: &Analysis, info: &RunInfo) -> Result<Document, String> {
        let known = || info.plan.findings.iter().map(|finding| finding.name.as_str());
        if let Some(name) = self.columns.iter().find(|name| !known().any(|known| known == **name)) {
            return Err(unknown("finding", name, known()));
        }
        let texts =
            known().zip(&analysis.findings).filter(|(name, _)| self.columns.is_empty() || self.columns.contains(name));
        let mut document = Document::default();
        texts.for_each(|(_, text)| document.text(Tone::Plain, text));
        Ok(document)
    }

    fn narrow(&self, table: &Table) -> Result<Table, String> {
        let find = |title: &&str| {
            let known = || table.columns.iter().skip(table.keys).map(|c| c.title.as_str());
            let found = known().position(|known| known == *title).map(|at| table.keys + at);
            found.ok_or_else(|| unknown("column", title, known()))
        };
        Ok(table.part(table.keys, &self.columns.iter().map(find).collect::<Result<Vec<_>, _>>()?))
    }
}
