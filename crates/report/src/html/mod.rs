//! A run as one page: no network, no file beside it, readable without scripts.
//!
//! | file | is |
//! |---|---|
//! | [`evidence`](self::read) | what is read from the run file beside the analysis |
//! | `distribution`, `timing` | latencies of many trials, and a trial over its time |
//! | `answer`, `falsify` | the first screen: what was found, and what would contradict it |
//! | `section`, `arms` | a scenario: tables, pictures, settings, the command that runs it again |
//! | `figure` | the pictures of a scenario |
//! | `block` | blocks of a document as HTML |
//! | `shell` | what is around it all: policy, style, script |
//!
//! The page allows nothing but its own style and script, each by its hash, and has no `style` attribute and no handler in
//! its markup. Names and sentences of a study are hostile until they are escaped, which maud does wherever one is put in.

mod answer;
mod arms;
mod block;
mod command;
mod distribution;
mod evidence;
mod falsify;
mod figure;
mod section;
mod shell;
mod timing;

use litelab_record::RunInfo;
use maud::{Markup, html};

pub use evidence::{Evidence, read};

use crate::analysis::{Analysis, ArmAnalysis, ScenarioAnalysis};
use crate::document::{self, Part, clean};
use figure::Source;
use section::Section;

/// The page of a run. Holds the name of the run's file and not its path, which may name a person.
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
            (block::section("crossovers", &part(Part::Crossovers)))
            (block::section("drivers", &part(Part::Drivers)))
            (block::section("overview", &part(Part::Overview)))
            @for section in &sections { (section.markup) }
            (block::section("legend", &part(Part::Legend)))
        }
        (footer(info, live))
    };
    let name = format!("{}: {title}", clean(&info.plan.study));
    shell::page(&name, &body, live)
}

/// An arm by what tells it from the others of its scenario: `wal-full` where only the profile varies, `access=shared
/// workers=8` where the profile is one of three dimensions that a small scale left with one value.
fn name(scenario: &ScenarioAnalysis, arm: &ArmAnalysis, analysis: &Analysis) -> String {
    let value = |arm: &ArmAnalysis, dimension: &String| arm.dimensions.get(dimension).map(ToString::to_string);
    let own = |dimension: &&String| {
        let mut others = scenario.arms.iter().filter_map(|other| analysis.arms.get(*other));
        others.any(|other| value(other, dimension) != value(arm, dimension))
    };
    let told: Vec<&String> = arm.dimensions.keys().filter(own).collect();
    match told.as_slice() {
        [] => clean(&arm.label),
        [only] if scenario.dimensions.len() == 1 || arm.dimensions.len() > 1 => {
            value(arm, only).map_or_else(|| clean(&arm.label), |value| clean(&value))
        }
        several => {
            let parts = several.iter().filter_map(|name| Some(format!("{name}={}", value(arm, name)?)));
            clean(&parts.collect::<Vec<_>>().join(" "))
        }
    }
}

/// The arm that others are compared with, by the dimension too: nothing else says what varies.
fn baseline(scenario: &ScenarioAnalysis, analysis: &Analysis) -> String {
    analysis.arms.get(scenario.baseline).map_or_else(|| "?".into(), |arm| clean(&arm.label))
}

/// Text of one line in which no interval and no number with its unit is torn.
fn line(text: &str) -> String {
    document::glue(&clean(text))
}

/// Where what is.
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
