//! Section of a scenario: its tables, charts and variants.

use maud::{Markup, PreEscaped, html};

use super::element::{self, IdScope};
use super::figure::{self, Figure, Source};
use super::variants;
use crate::document::{self, Part, clean};

/// Largest number of variants that a chart links to one by one.
const MOST_LINKS: usize = 4;

/// Section of a scenario in a page.
pub(super) struct Section {
    /// Id of the section, unique in the page, without text of the study.
    pub(super) id: String,
    /// Name of the scenario.
    pub(super) name: String,
    pub(super) markup: Markup,
    /// Whether the section has a chart that the page's script draws.
    pub(super) live: bool,
}

impl Section {
    /// Renders the scenario with this index in the analysis.
    pub(super) fn new(at: usize, source: Source<'_>) -> Self {
        let id = format!("s{}", at + 1);
        let name = clean(&source.scenario.name);
        let document = document::of_part(&Part::Scenario(source.scenario), source.analysis, source.info);
        let place = IdScope { id: &id, name: &name };
        // The section has its own heading.
        let elements = document.elements.split_first().map_or(&[][..], |(_, rest)| rest);
        let figures = figure::all(source);
        let live = figures.iter().any(|figure| figure.course.is_some());
        let markup = html! {
            section.scenario id=(id) aria-labelledby={ (id) "-h" } {
                h2 id={ (id) "-h" } { (name) }
                p.question { (clean(&source.scenario.question)) }
                (element::all(elements, place))
                @if !figures.is_empty() {
                    div.figures {
                        @for (at, figure) in figures.iter().enumerate() { (picture(&id, at + 1, figure, source)) }
                    }
                }
                (variants::table(source, place))
            }
        };
        Self { id, name, markup, live }
    }
}

/// Renders a chart, and for one over time its numbers for the page's script.
fn picture(section: &str, number: usize, figure: &Figure, source: Source<'_>) -> Markup {
    let id = format!("{section}-f{number}");
    let title = clean(figure.chart.title());
    // The section names the scenario already.
    let short = title.strip_prefix(&format!("{}: ", clean(&source.scenario.name))).unwrap_or(&title);
    let labels = |index: &usize| {
        source
            .analysis
            .variants
            .get(*index)
            .map(|variant| (variant.index, super::name(source.scenario, variant, source.analysis)))
    };
    let linked: Vec<(usize, String)> = figure.variants.iter().filter_map(labels).collect();
    let numbers = figure.course.and_then(|at| figure::live(source, at));
    html! {
        figure id=(id) {
            figcaption {
                b { (short) }
                " " span.dim { (super::line(&figure.note)) }
            }
            (figure.chart.svg(&id))
            p.links {
                @if linked.len() <= MOST_LINKS {
                    span.dim { "Settings, durability, how to run it again: " }
                    @for (at, (index, label)) in linked.iter().enumerate() {
                        @if at > 0 { " · " }
                        a href={ "#" (variants::anchor(*index)) } { (label) }
                    }
                } @else {
                    a href={ "#" (section) "-variants" } { "Settings, durability and how to run it again, of all its variants" }
                }
            }
        }
        @if let Some(numbers) = numbers {
            // The numbers must not contain the beginning of a tag.
            script type="application/json" data-figure=(id) data-group=(section) {
                (PreEscaped(numbers.to_string().replace('<', "\\u003c")))
            }
        }
    }
}
