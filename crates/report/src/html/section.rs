//! Section of a scenario: its answer, the absolute chart, tables, further charts and settings.

use maud::{Markup, html};

use super::element::{self, IdScope, RowOf};
use super::figure::{self, Figure, Source};
use super::{bars, data, line, variants};
use crate::analysis::VariantAnalysis;
use crate::document::{self, Cell, Column, Document, Element, Table, answer, clean, scenario};

/// Width in characters above which a table is divided. A printed page has room for it.
const WIDE: usize = 140;

/// Section of a scenario in a page.
pub(super) struct Section {
    /// Id of the section, unique in the page, without text of the study.
    pub(super) id: String,
    /// Name of the scenario.
    pub(super) name: String,
    pub(super) markup: Markup,
    /// Whether the section has a chart that uPlot draws.
    pub(super) live: bool,
}

impl Section {
    /// Renders the scenario with this index in the analysis.
    pub(super) fn new(at: usize, source: Source<'_>) -> Self {
        let id = format!("s{}", at + 1);
        let name = clean(&source.scenario.name);
        let place = IdScope { id: &id, name: &name };
        let further = figure::further(source);
        let live = further.iter().any(|figure| figure.course.is_some());
        let (over_time, open): (Vec<_>, Vec<_>) = further.iter().enumerate().partition(|(_, f)| f.course.is_some());
        let markup = html! {
            section.scenario id=(id) aria-labelledby={ (id) "-h" } {
                h2 id={ (id) "-h" } { (heading(source)) }
                (answer(source))
                (absolute(source, &id))
                (tables(source, place, html! { @for (at, figure) in open { (picture(&id, &(at + 1).to_string(), figure, source)) } }))
                @if !over_time.is_empty() {
                    details {
                        summary { h3 { "Over the time of a trial" } }
                        div.figures { @for (at, figure) in over_time { (picture(&id, &(at + 1).to_string(), figure, source)) } }
                    }
                }
                (variants::table(source, place))
            }
        };
        Self { id, name, markup, live }
    }
}

/// Name and question of a scenario.
pub(super) fn heading(source: Source<'_>) -> Markup {
    html! { span.name { (clean(&source.scenario.name)) } " " (element::rich(&source.scenario.question)) }
}

/// The conclusion: one sentence for each durability level, and what is not decided.
pub(super) fn answer(source: Source<'_>) -> Markup {
    let levels = answer::levels(source.scenario, source.analysis);
    let constant = clean(&answer::constant(source.scenario).collect::<Vec<_>>().join(" · "));
    html! {
        @if !constant.is_empty() { p.dim { (constant) } }
        ul.answer {
            @for sentence in &levels { li class=(element::class(sentence.tone)) { (line(&sentence.text)) "." } }
            @if let Some(undecided) = &source.scenario.answer.undecided {
                li.open { (line(&undecided.text)) "." }
            }
        }
    }
}

/// Lines over a numeric dimension if there is one, else bars.
pub(super) fn absolute(source: Source<'_>, id: &str) -> Markup {
    let lines = figure::lines(source);
    if lines.is_empty() {
        return bars::table(source, &format!("{id}-bars")).unwrap_or_default();
    }
    html! {
        div.figures {
            @for (at, figure) in lines.iter().enumerate() { (picture(id, &format!("abs{}", at + 1), figure, source)) }
        }
    }
}

/// The elements of the scenario's document with further charts beside them: tables divided into values and ratios, notes,
/// and what else was found.
fn tables(source: Source<'_>, place: IdScope<'_>, figures: Markup) -> Markup {
    let document = Document::of(|document| scenario::add(document, source.scenario, source.analysis, source.info));
    // The section has its own heading.
    let elements = document.elements.split_first().map_or(&[][..], |(_, rest)| rest);
    let main = elements.iter().position(|element| matches!(element, Element::Table(_)));
    let Some((at, Element::Table(table))) = main.and_then(|at| Some((at, elements.get(at)?))) else {
        return html! { (element::all(elements, place)) div.flow { (figures) } };
    };
    let variants: Vec<&VariantAnalysis> = source.scenario.not_skipped(source.analysis).collect();
    let rows: Vec<RowOf> = variants.iter().map(|variant| (source.class(variant), source.anchor(variant))).collect();
    let names: Vec<Cell> = variants.iter().map(|variant| Cell::plain(variant.words.as_str())).collect();
    let (first, more) = parts(table, scenario::VALUES, None).into_iter().next().map_or((None, Vec::new()), |first| {
        let further = parts(table, scenario::VALUES, Some((&names, first.columns.len() - first.keys)));
        (Some(first), further)
    });
    // Settings have a table of their own.
    let ratios = parts(table, scenario::RATIOS, Some((&names, 0)));
    let table = |part: &Table, name: String| element::table(part, place, &name, &rows);
    html! {
        (element::all(&elements[..at], place))
        div.flow {
            @if let Some(first) = &first { (table(first, "values".into())) }
            @if !ratios.is_empty() {
                div {
                    h3 { "Ratios to the baseline" }
                    @for (number, part) in ratios.iter().enumerate() { (table(part, format!("ratios-{}", number + 1))) }
                }
            }
            (figures)
        }
        (element::all(&elements[at + 1..], place))
        @if !more.is_empty() {
            details {
                summary { h3 { "More measurements" } }
                @for (number, part) in more.iter().enumerate() { (table(part, format!("values-{}", number + 2))) }
            }
        }
    }
}

/// The table with the columns of one group, divided where it is wider than [`WIDE`]. With `names`, these columns after the
/// first few, and the names of the variants in place of its key columns.
fn parts(table: &Table, group: u8, names: Option<(&[Cell], usize)>) -> Vec<Table> {
    let keyed = names.filter(|(names, _)| names.len() == table.rows.len()).map(|(names, _)| {
        let row = |(row, name): (&Vec<Cell>, &Cell)| [std::slice::from_ref(name), &row[table.keys..]].concat();
        Table {
            keys: 1,
            columns: [&[Column::left("variant", 0)], &table.columns[table.keys..]].concat(),
            rows: table.rows.iter().zip(names).map(row).collect(),
        }
    });
    let table = keyed.as_ref().unwrap_or(table);
    let keys: usize = (0..table.keys).map(|at| table.width_of(at) + document::GAP).sum();
    let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
    let columns = table.columns.iter().enumerate().skip(table.keys).filter(|(_, column)| column.group == group);
    for (at, _) in columns.skip(names.map_or(0, |(_, skipped)| skipped)) {
        let width = table.width_of(at) + document::GAP;
        match parts.last_mut().filter(|(sum, _)| sum + width <= WIDE) {
            Some((sum, part)) => {
                *sum += width;
                part.push(at);
            }
            None => parts.push((keys + width, vec![at])),
        }
    }
    parts.iter().map(|(_, columns)| table.part(table.keys, columns)).collect()
}

/// Renders a chart, and for one over time its numbers for the page's script.
fn picture(section: &str, number: &str, figure: &Figure, source: Source<'_>) -> Markup {
    let id = format!("{section}-f{number}");
    let title = clean(figure.chart.title());
    // The section names the scenario already.
    let short = title.strip_prefix(&format!("{}: ", clean(&source.scenario.name))).unwrap_or(&title);
    let numbers = figure.course.and_then(|at| figure::live(source, at));
    html! {
        figure id=(id) {
            figcaption { b { (short) } " " span.dim { (line(&figure.note)) } }
            (figure.chart.svg(&id))
        }
        @if let Some(numbers) = numbers {
            script type="application/json" data-figure=(id) data-group=(section) { (data::inert(&numbers)) }
        }
    }
}
