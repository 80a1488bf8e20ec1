//! A run, or two side by side, as one HTML page: without network access or other files, readable without scripts.
//!
//! | file | content |
//! |---|---|
//! | [`evidence`](self::read) | data of the run file in addition to the analysis |
//! | `timing` | one trial over time |
//! | `screen` | the first screen: what went wrong, and the answer in cards |
//! | `section`, `bars`, `variants` | a scenario: its answer, absolute chart, tables, settings and command |
//! | `figure` | charts of a scenario |
//! | `sure` | how sure the answers are |
//! | `data` | values by round for the page's script |
//! | `beside` | two runs side by side |
//! | `recording` | the page of a recording of `litelab watch` |
//! | `element` | elements of a document as HTML |
//! | `shell` | the page around it: policy, style, script |
//!
//! The page's policy allows only its own style and script, each by its hash. Its markup has no `style` attributes and
//! no event handlers. Names and sentences of a study are hostile until maud escapes them, which it does wherever they
//! are inserted.

mod bars;
mod beside;
mod data;
mod element;
mod evidence;
mod figure;
mod recording;
mod screen;
mod section;
mod shell;
mod sure;
mod timing;
mod variants;

use litelab_record::RunInfo;
use maud::{Markup, html};

pub use beside::pair;
pub use evidence::{Evidence, read};
pub use recording::recording;

use crate::analysis::Analysis;
use crate::document::{self, Document, clean};
use crate::number;
use element::IdScope;
use figure::Source;
use section::Section;

/// Prefix of the ids of the second of two runs.
const SECOND: &str = "b-";

/// Renders the page of a run. It has the name of the run's file, without its path, which may contain the name of a
/// person.
#[must_use]
pub fn page(analysis: &Analysis, info: &RunInfo, evidence: &Evidence) -> String {
    let source = |scenario| Source { scenario, analysis, info, evidence, beside: None, prefix: "" };
    let sources: Vec<Source> = analysis.scenarios.iter().map(source).collect();
    let sections: Vec<Section> = sources.iter().enumerate().map(|(at, source)| Section::new(at, *source)).collect();
    let live = sections.iter().any(|section| section.live);
    let header = Document::of(|part| document::header::add(part, analysis, info));
    let drivers = Document::of(|part| document::drivers::add(part, info));
    let claims = Document::of(|part| document::claims::add(part, analysis));
    let crossovers = Document::of(|part| document::crossover::add(part, analysis));
    let legend = Document::of(|part| document::legend::add(part, analysis));
    let title = clean(&info.plan.title);
    let body = html! {
        header.page {
            p.study { "litelab · study " b { (clean(&info.plan.study)) } @if info.plan.quick { " · quick scale" } " · " (host(info)) }
            h1 { (if title.is_empty() { clean(&info.plan.study) } else { title.clone() }) }
            p.trust { (trust(info)) " " @if !analysis.claims.is_empty() { a href="#claims" { "claims, " (document::claim_counts(analysis)) } " " } button #csv type="button" hidden { "Download CSV" } }
        }
        (contents(&sections, analysis))
        main id="main" tabindex="-1" {
            (screen::problems(analysis))
            (screen::cards(analysis))
            @for section in &sections { (section.markup) }
            (element::section("claims", &claims))
            (element::section("crossovers", &crossovers))
            section #method aria-label="Method and environment" {
                (sure::section(analysis, info))
                (folded("environment", "Environment", &header))
                (folded("drivers", "Drivers", &drivers))
                (folded("legend", "Legend", &legend))
            }
        }
        (footer(info, live))
        aside #info hidden aria-label="Variant" {}
        (data::embed(&sources))
    };
    let name = format!("{}: {title}", clean(&info.plan.study));
    shell::page(&name, &body, live)
}

/// A text without control characters, in which no line breaks within an interval or before a unit.
fn line(text: &str) -> String {
    document::glue(&clean(text))
}

/// Rounds to four significant digits, more than the page shows.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Processor, storage and SQLite in a few words.
fn host(info: &RunInfo) -> String {
    let (host, sqlite) = (document::header::host(info), document::header::builds(info));
    clean(&if sqlite.is_empty() { host } else { format!("{host} · {sqlite}") })
}

/// What the trust in the numbers rests on: rounds, load, warnings.
fn trust(info: &RunInfo) -> Markup {
    let planned = info.plan.scenarios.iter().map(|s| s.rounds).max().unwrap_or(0);
    let share = |share: f64, word: &str| format!("{:.0} % {word}", 100.0 * share);
    let shares = document::header::shares;
    let busy = shares(info, |load| load.busy_share).map(|(mean, _)| format!("machine {}", share(mean, "busy")));
    let stolen = shares(info, |load| load.steal_share).map(|(mean, _)| share(mean, "stolen"));
    let load: Vec<String> = busy.into_iter().chain(stolen).collect();
    let date = info.created.get(..10).unwrap_or(&info.created);
    html! {
        span { (info.rounds()) " of " (number::counted(planned, "round")) }
        @if info.finished.is_none() { " " span.warn { "! not finished" } }
        @if !load.is_empty() { " " span { (load.join(", ")) } }
        @match info.environment.warnings.len() as u64 {
            0 => {},
            warnings => { " " a.warn href="#environment" { "! " (number::counted(warnings, "warning")) } }
        }
        " " span { (date) }
    }
}

/// A part of the page that is closed at first.
fn folded(id: &str, title: &str, document: &Document) -> Markup {
    let Some((_, rest)) = document.elements.split_first() else { return html! {} };
    html! {
        details id=(id) {
            summary { h2 { (title) } }
            (element::all(rest, IdScope { id, name: title }))
        }
    }
}

/// Table of contents.
fn contents(sections: &[Section], analysis: &Analysis) -> Markup {
    let link = |id: &str, text: &str| html! { li { a href={ "#" (id) } { (text) } } };
    html! {
        nav aria-label="Contents" {
            ul {
                (link("answer", "Answer"))
                @for section in sections { (link(&section.id, &section.name)) }
                @if !analysis.claims.is_empty() { (link("claims", "Claims")) }
                @if !analysis.crossovers.is_empty() { (link("crossovers", "Crossovers")) }
                (link("sure", "How sure is this?"))
                (link("environment", "Environment"))
                (link("legend", "Legend"))
            }
        }
    }
}

fn footer(info: &RunInfo, live: bool) -> Markup {
    let file = crate::command::file(info);
    html! {
        footer {
            p {
                "Made by litelab " (info.litelab) " from " code { (file) } ". The same run as text: "
                code { "litelab show " (file) } "; every number: " code { "litelab export " (file) " --format json" }
                "; every trial: " code { "litelab export " (file) " --format csv" } "; every sample over time: "
                code { "litelab export " (file) " --format series" } ". The whole study again, and which verdicts change: "
                code { "litelab repeat " (file) } "."
            }
            @if live {
                p { "Charts over time: uPlot, © 2022 Leon Sorokin, MIT licence, whose text stands beside its code in this page." }
            }
        }
    }
}
