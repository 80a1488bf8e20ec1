//! A scenario of a page: its tables, its pictures, its arms.

use maud::{Markup, PreEscaped, html};

use super::block::{self, Place};
use super::figure::{self, Figure, Source};
use super::{arms, command};
use crate::document::{self, Part, clean};

/// Arms that a picture links to one by one.
const MOST_LINKS: usize = 4;

/// A scenario, made once and put into the page as often as needed.
pub(super) struct Section {
    /// Unique in the page; nothing that a study wrote.
    pub(super) id: String,
    name: String,
    head: Markup,
    /// In the order in which they are read.
    pub(super) pictures: Vec<Picture>,
    foot: Markup,
    /// The command that makes a page of this scenario.
    alone: String,
}

/// A picture as it stands in the page.
pub(super) struct Picture {
    title: String,
    pub(super) markup: String,
    /// The numbers of one over time, for the page's script.
    pub(super) live: Option<String>,
    pub(super) rank: u8,
    /// Whether there is room for it.
    pub(super) chosen: bool,
}

impl Section {
    /// The scenario at a place of the analysis.
    pub(super) fn new(at: usize, source: Source<'_>) -> Self {
        let id = format!("s{}", at + 1);
        let name = clean(&source.scenario.name);
        let document = document::of_part(&Part::Scenario(source.scenario), source.analysis, source.info);
        let place = Place { id: &id, name: &name };
        // The heading is the section's own.
        let blocks = document.blocks.split_first().map_or(&[][..], |(_, rest)| rest);
        let head = html! {
            p.question { (clean(&source.scenario.question)) }
            (block::all(blocks, place))
        };
        let foot = arms::table(source, place);
        let figures = figure::all(source);
        let pictures = figures.iter().enumerate().map(|(n, figure)| picture(&id, n + 1, figure, source)).collect();
        let alone = command::page(source.scenario, source.info);
        Self { id, name, head, pictures, foot, alone }
    }

    /// Its name.
    pub(super) fn title(&self) -> String {
        self.name.clone()
    }

    /// With the pictures that were chosen; of the others it is said that they are missing.
    pub(super) fn markup(&self) -> Markup {
        let (shown, missing): (Vec<&Picture>, Vec<&Picture>) = self.pictures.iter().partition(|p| p.chosen);
        let titles: Vec<&str> = missing.iter().map(|picture| picture.title.as_str()).collect();
        html! {
            section.scenario id=(self.id) aria-labelledby={ (self.id) "-h" } {
                h2 id={ (self.id) "-h" } { (self.name) }
                (self.head)
                @if !shown.is_empty() {
                    div.figures {
                        @for picture in shown {
                            (PreEscaped(&picture.markup))
                            @if let Some(live) = &picture.live { (PreEscaped(live)) }
                        }
                    }
                }
                @if !titles.is_empty() {
                    p.dim {
                        "Left out to keep the page below " (super::LIMIT / 1000) " kB: " (titles.join("; "))
                        ". A page with them: " code { (self.alone) } "."
                    }
                }
                (self.foot)
            }
        }
    }
}

fn picture(section: &str, number: usize, figure: &Figure, source: Source<'_>) -> Picture {
    let id = format!("{section}-f{number}");
    let title = clean(figure.chart.title());
    // The section says already which scenario it is.
    let short = title.strip_prefix(&format!("{}: ", clean(&source.scenario.name))).unwrap_or(&title);
    let labels = |index: &usize| {
        source.analysis.arms.get(*index).map(|arm| (arm.index, super::name(source.scenario, arm, source.analysis)))
    };
    let linked: Vec<(usize, String)> = figure.arms.iter().filter_map(labels).collect();
    let markup = html! {
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
                        a href={ "#" (arms::anchor(*index)) } { (label) }
                    }
                } @else {
                    a href={ "#" (section) "-arms" } { "Settings, durability and how to run it again, of all its arms" }
                }
            }
        }
    };
    let live = figure.course.and_then(|at| figure::live(source, at)).map(|numbers| {
        // No tag can begin inside the numbers.
        let json = numbers.to_string().replace('<', "\\u003c");
        html! { script type="application/json" data-figure=(id) data-group=(section) { (PreEscaped(json)) } }
            .into_string()
    });
    Picture { title: short.to_owned(), markup: markup.into_string(), live, rank: figure.rank, chosen: false }
}

/// How the scenario is run again, in words and as a command.
pub(super) fn again(source: Source<'_>) -> Markup {
    let command = command::scenario(source.scenario, source.info);
    html! {
        p { "Run it again, with the same values in the same order: " code { (command) } }
        @if !command::is_built_in(source.info) {
            p.dim {
                "The study is not one of litelab's own; its text is in the run file, and this gives it back: "
                code { "sqlite3 RUN \"SELECT value FROM run WHERE key = 'study_toml'\" > " (command::quoted(&format!("{}.toml", source.info.plan.study))) }
            }
        }
    }
}
