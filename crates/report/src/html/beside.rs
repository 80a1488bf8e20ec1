//! Two runs side by side: their answers and absolute charts, on common axes.

use litelab_record::RunInfo;
use maud::{Markup, html};

use super::element::{self, IdScope};
use super::figure::Source;
use super::{Evidence, SECOND, host, section, shell, trust, variants};
use crate::analysis::{Analysis, ScenarioAnalysis};
use crate::document::{Document, clean, header};

/// A run of a page: its analysis, its information, and its further data.
pub type Run<'a> = (&'a Analysis, &'a RunInfo, &'a Evidence);

/// Renders two runs side by side. Scenarios of the same name share their axes; the others are named.
#[must_use]
pub fn pair(first: Run<'_>, second: Run<'_>) -> String {
    let runs = [first, second];
    let find = |run: Run<'_>, name: &str| run.0.scenarios.iter().position(|scenario| scenario.name == name);
    let both: Vec<(&ScenarioAnalysis, &ScenarioAnalysis)> = (first.0.scenarios.iter())
        .filter_map(|scenario| Some((scenario, second.0.scenarios.get(find(second, &scenario.name)?)?)))
        .collect();
    let lonely: Vec<String> = [(first, second), (second, first)]
        .iter()
        .flat_map(|(run, other)| run.0.scenarios.iter().filter(|scenario| find(*other, &scenario.name).is_none()))
        .map(|scenario| clean(&scenario.name))
        .collect();
    let sources: Vec<[Source; 2]> = both.iter().map(|(one, other)| sources(first, one, second, other)).collect();
    let names = runs.map(|(_, info, _)| crate::command::file(info));
    let body = html! {
        header.page {
            p.study { "litelab · two runs side by side" }
            h1 { (names[0]) " and " (names[1]) }
            div.pair {
                @for (_, info, _) in runs {
                    div {
                        p { b { (crate::command::file(info)) } " · study " (clean(&info.plan.study)) }
                        p.dim { (host(info)) }
                        p.trust { (trust(info)) }
                    }
                }
            }
        }
        nav aria-label="Contents" { ul { @for (at, [source, _]) in sources.iter().enumerate() { li { a href={ "#s" (at + 1) } { (clean(&source.scenario.name)) } } } } }
        main id="main" tabindex="-1" {
            @if both.is_empty() { p { "The runs have no scenario in common." } }
            p.dim { "Whether a difference between the runs is shown: " code { "litelab compare " (names[0]) " " (names[1]) } }
            @for (at, pair) in sources.iter().enumerate() { (scenario(at, pair)) }
            @if !lonely.is_empty() { p.dim { "In one of the runs only: " (lonely.join(", ")) } }
            section #environment aria-label="Environment" {
                @for ((analysis, info, _), id) in runs.iter().zip(["environment-a", "environment-b"]) {
                    @let facts = Document::of(|document| header::facts(document, analysis, info));
                    details {
                        summary { h2 { "Environment of " (crate::command::file(info)) } }
                        (element::all(&facts.elements, IdScope { id, name: "the environment" }))
                    }
                }
            }
        }
        footer { p { "Made by litelab from " code { (names[0]) } " and " code { (names[1]) } "." } }
        aside #info hidden aria-label="Variant" {}
    };
    shell::page(&format!("{} and {}", names[0], names[1]), &body, false)
}

fn sources<'a>(
    (analysis, info, evidence): Run<'a>,
    one: &'a ScenarioAnalysis,
    second: Run<'a>,
    other: &'a ScenarioAnalysis,
) -> [Source<'a>; 2] {
    let (b, b_info, b_evidence) = second;
    [
        Source { scenario: one, analysis, info, evidence, beside: Some((other, b)), prefix: "" },
        Source {
            scenario: other,
            analysis: b,
            info: b_info,
            evidence: b_evidence,
            beside: Some((one, analysis)),
            prefix: SECOND,
        },
    ]
}

fn scenario(at: usize, pair: &[Source<'_>; 2]) -> Markup {
    let id = format!("s{}", at + 1);
    html! {
        section.scenario id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (section::heading(pair[0])) }
            div.pair {
                @for source in pair {
                    @let id = format!("{}{id}", source.prefix);
                    div {
                        h3 { (crate::command::file(source.info)) }
                        (section::answer(*source))
                        (section::absolute(*source, &id))
                        (variants::table(*source, IdScope { id: &id, name: &source.scenario.name }))
                    }
                }
            }
        }
    }
}
