//! A recording of databases in use as a page: the course of each database with its events, and who held what.

use std::collections::BTreeMap;

use litelab_model::metric::Unit;
use maud::{Markup, html};

use super::element::{self, IdScope};
use super::{line, shell};
use crate::analysis::recording::{Course, Point, RecordingAnalysis};
use crate::chart::{Chart as _, Xy};
use crate::document::{self, clean};
use crate::html::figure::over_time;

/// Kinds of events that are marked in a chart, the most frequent left out first.
const KINDS: usize = 4;

/// Renders the page of a recording.
#[must_use]
pub fn recording(recording: &RecordingAnalysis) -> String {
    let name = clean(&recording.file);
    let body = html! {
        header.page {
            p.study { "litelab · recording " b { (name) } }
            h1 { "What happened to " (number_of(recording)) }
            (element::facts(&document::recording_facts(recording)))
        }
        main id="main" tabindex="-1" {
            section #answer aria-labelledby="answer-h" {
                h2 #answer-h { "Events" }
                (element::all(&document::recording_events(recording), IdScope { id: "e", name: "Events" }))
            }
            @for (at, course) in recording.databases.iter().enumerate() { (section(at, course, recording)) }
        }
        footer {
            p { "Made by litelab " (env!("CARGO_PKG_VERSION")) " from " code { (name) } ". The same as text: "
                code { "litelab show " (name) } "; played: " code { "litelab watch " (name) } "." }
        }
    };
    shell::page(&name, &body, false)
}

fn number_of(recording: &RecordingAnalysis) -> String {
    match recording.databases.as_slice() {
        [one] => clean(one.path.rsplit('/').next().unwrap_or_default()),
        several => format!("{} databases", several.len()),
    }
}

fn section(at: usize, course: &Course, recording: &RecordingAnalysis) -> Markup {
    let id = format!("s{}", at + 1);
    let name = clean(&course.path);
    let figures = [
        (
            "log and backlog",
            "bytes",
            Unit::Bytes,
            vec![("log file", points(course, |point| point.log)), ("backlog", points(course, |point| point.backlog))],
        ),
        ("commits", "commits", Unit::PerSecond, vec![("commits", points(course, |point| point.commits))]),
    ];
    let marks = marks(course, recording);
    html! {
        section.scenario id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (name) }
            div.figures {
                @for (number, (title, quantity, unit, lines)) in figures.into_iter().enumerate() {
                    @let lines: Vec<_> = lines.into_iter().map(|(name, points)| (name.to_owned(), points)).collect();
                    @let chart = Xy { title: format!("{name}: {title} over time"), ..over_time(quantity, unit, &lines, &marks) };
                    @let id = format!("{id}-f{}", number + 1);
                    figure id=(id) {
                        figcaption { b { (line(title)) } " " span.dim { "the largest value of each window" } }
                        (chart.svg(&id))
                    }
                }
            }
            (element::all(&document::recording_holders(course), IdScope { id: &id, name: &name }))
        }
    }
}

fn points(course: &Course, of: fn(&Point) -> f64) -> Vec<(f64, f64)> {
    course.points.iter().map(|point| (point.seconds, of(point))).collect()
}

/// Times of the events of a database, by kind: first what is severe and rare.
fn marks(course: &Course, recording: &RecordingAnalysis) -> Vec<(String, Vec<f64>)> {
    let mut kinds: BTreeMap<(bool, &str), Vec<f64>> = BTreeMap::new();
    for event in recording.events.iter().filter(|event| event.database == course.path) {
        let key = (event.severity == "note", event.kind.as_str());
        kinds.entry(key).or_default().push((event.at - recording.span.0).max(0.0));
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|((note, _), at)| (*note, at.len()));
    kinds.into_iter().take(KINDS).map(|((_, kind), at)| (kind.to_owned(), at)).collect()
}
