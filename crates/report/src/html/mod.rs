//! A run as one HTML page: without network access or other files, readable without scripts.
//!
//! | file | content |
//! |---|---|
//! | [`evidence`](self::read) | data of the run file in addition to the analysis |
//! | `distribution`, `timing` | latencies of many trials; one trial over time |
//! | `answer`, `falsify` | the first screen: the answer, and what would contradict it |
//! | `section`, `variants` | a scenario: tables, charts, settings, the command that repeats it |
//! | `figure` | charts of a scenario |
//! | `element` | elements of a document as HTML |
//! | `shell` | the page around it: policy, style, script |
//!
//! The page's policy allows only its own style and script, each by its hash. Its markup has no `style` attributes and
//! no event handlers. Names and sentences of a study are hostile until maud escapes them, which it does wherever they
//! are inserted.

mod answer;
mod command;
mod distribution;
mod element;
mod evidence;
mod falsify;
mod figure;
mod section;
mod shell;
mod timing;
mod variants;

use litelab_record::RunInfo;
use maud::{Markup, html};

pub use evidence::{Evidence, read};

use crate::analysis::{Analysis, ScenarioAnalysis, VariantAnalysis};
use crate::document::{self, Part, clean};
use figure::Source;
use section::Section;

/// Renders the page of a run. It has the name of the run's file, without its path, which may contain the name of a
/// person.
#[must_use]
pub fn page(analysis: &Analysis, info: &RunInfo, evidence: &Evidence) -> String {
    let sections = analysis.scenarios.iter().enumerate();
    let section = |(at, scenario)| Section::new(at, Source { scenario, analysis, info, evidence });
    let sections: Vec<Section> = sections.map(section).collect();
    let live = sections.iter().any(|section| section.live);
    let part = |part: Part| document::of_part(&part, analysis, info);
    let title = clean(&info.plan.title);
    let body = html! {
        header.page {
            p.study { "litelab · study " b { (clean(&info.plan.study)) } @if info.plan.quick { " · quick scale" } }
            h1 { (if title.is_empty() { clean(&info.plan.study) } else { title.clone() }) }
        }
        (contents(&sections, analysis))
        main id="main" tabindex="-1" {
            (answer::screen(analysis, info))
            (element::section("crossovers", &part(Part::Crossovers)))
            (element::section("drivers", &part(Part::Drivers)))
            @for section in &sections { (section.markup) }
            (element::section("legend", &part(Part::Legend)))
        }
        (footer(info, live))
    };
    let name = format!("{}: {title}", clean(&info.plan.study));
    shell::page(&name, &body, live)
}

/// Name of a variant that distinguishes it from the others of its scenario: `wal-full` if only the profile varies,
/// `sharing=one-connection workers=8` if the profile is one of three dimensions but has only one value in a quick run.
fn name(scenario: &ScenarioAnalysis, variant: &VariantAnalysis, analysis: &Analysis) -> String {
    let value =
        |variant: &VariantAnalysis, dimension: &String| variant.dimensions.get(dimension).map(ToString::to_string);
    let own = |dimension: &&String| {
        let mut others = scenario.variants.iter().filter_map(|other| analysis.variants.get(*other));
        others.any(|other| value(other, dimension) != value(variant, dimension))
    };
    let told: Vec<&String> = variant.dimensions.keys().filter(own).collect();
    match told.as_slice() {
        [] => clean(&variant.label),
        [only] if scenario.dimensions.len() == 1 || variant.dimensions.len() > 1 => {
            value(variant, only).map_or_else(|| clean(&variant.label), |value| clean(&value))
        }
        several => {
            let parts = several.iter().filter_map(|name| Some(format!("{name}={}", value(variant, name)?)));
            clean(&parts.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Label of the baseline, with the names of its dimensions, because nothing else names what varies.
fn baseline(scenario: &ScenarioAnalysis, analysis: &Analysis) -> String {
    analysis.variants.get(scenario.baseline).map_or_else(|| "?".into(), |variant| clean(&variant.label))
}

/// A text without control characters, in which no line breaks within an interval or before a unit.
fn line(text: &str) -> String {
    document::glue(&clean(text))
}

/// Table of contents.
fn contents(sections: &[Section], analysis: &Analysis) -> Markup {
    let link = |id: &str, text: &str| html! { li { a href={ "#" (id) } { (text) } } };
    html! {
        nav aria-label="Contents" {
            ul {
                (link("answer", "Answer"))
                @if !analysis.claims.is_empty() { (link("claims", "Claims")) }
                (link("environment", "Environment"))
                (link("falsify", "What would falsify it"))
                @if !analysis.crossovers.is_empty() { (link("crossovers", "Crossovers")) }
                @for section in sections { (link(&section.id, &section.name)) }
                (link("legend", "Legend"))
            }
        }
    }
}

fn footer(info: &RunInfo, live: bool) -> Markup {
    let file = command::file(info);
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
