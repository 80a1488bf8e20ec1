//! A recording of databases in use as words and tables.

use litelab_model::metric::Unit;
use litelab_record::recording::{Event, Phase};

use super::{Cell, Column, Document, Element, Marked, Table};
use crate::analysis::recording::{Course, RecordingAnalysis};
use crate::number;
use crate::style::Tone;

/// Holders of one database that are listed.
const HOLDERS: usize = 15;
/// Events that are listed.
const EVENTS: usize = 200;

/// Renders a recording.
#[must_use]
pub fn of_recording(recording: &RecordingAnalysis) -> Document {
    let mut document = Document::default();
    document.elements.push(Element::Title(format!("Recording {}", recording.file)));
    document.elements.push(Element::Facts(facts(recording)));
    document.heading("Events", "");
    document.elements.extend(events(recording));
    for course in &recording.databases {
        document.heading(&course.path, "");
        document.elements.extend(holders(course));
    }
    document
}

/// Facts about the whole recording.
pub(crate) fn facts(recording: &RecordingAnalysis) -> Vec<(String, String)> {
    let seconds = recording.span.1 - recording.span.0;
    let mut facts = vec![
        ("begun".to_owned(), recording.created.clone()),
        ("length".to_owned(), time(seconds)),
        ("databases".to_owned(), recording.databases.len().to_string()),
    ];
    facts.extend(recording.limits.iter().map(|limit| ("not visible".to_owned(), limit.clone())));
    facts
}

/// Table of the events, and the explanation of each rule that they name.
pub(crate) fn events(recording: &RecordingAnalysis) -> Vec<Element> {
    if recording.events.is_empty() {
        return vec![Element::Text(Tone::Plain, "nothing happened that has a rule".into())];
    }
    let row = |event: &Event| {
        let tone = tone(event);
        let lasted = match event.phase {
            Phase::Once => String::new(),
            Phase::Begin => format!("{}, to the end", time(event.seconds)),
            Phase::End => time(event.seconds),
        };
        let at = format!("+{}", time(event.at - recording.span.0));
        let cells = [&at, &lasted, &event.database].map(Cell::plain);
        let [at, lasted, database] = cells;
        vec![at, lasted, Cell::new(tone, event.rule.clone()), database, Cell::plain(event.message.clone())]
    };
    let columns = vec![
        Column::right("time", 0),
        Column::right("lasted", 0),
        Column::left("rule", 0),
        Column::left("database", 0),
        Column::left("event", 0),
    ];
    let rows: Vec<_> = recording.events.iter().take(EVENTS).map(row).collect();
    let left_out = recording.events.len() - rows.len();
    let mut elements = vec![Element::Table(Table { keys: 1, columns, rows })];
    if left_out > 0 {
        let text = format!("{} more are in the file", number::counted(left_out as u64, "event"));
        elements.push(Element::Text(Tone::Dim, text));
    }
    let mut rules: Vec<&Event> = Vec::new();
    for event in &recording.events {
        if event.severity != "note" && !rules.iter().any(|known| known.rule == event.rule) {
            rules.push(event);
        }
    }
    let explained = rules
        .into_iter()
        .map(|event| Marked::new(event.rule.clone(), tone(event), format!("{} Fix: {}", event.because, event.fix)));
    let explained: Vec<Marked> = explained.collect();
    if !explained.is_empty() {
        elements.push(Element::Marked(explained));
    }
    elements
}

/// Numbers of one database, and who held its locks.
pub(crate) fn holders(course: &Course) -> Vec<Element> {
    let peak = |of: fn(&crate::analysis::recording::Point) -> f64| course.points.iter().map(of).fold(0.0, f64::max);
    let backlog = course.backlog.map_or_else(|| number::NONE.into(), |bytes| number::value(bytes as f64, Unit::Bytes));
    let facts = vec![
        ("commits".to_owned(), course.commits.to_string()),
        ("resets of the log".to_owned(), course.resets.to_string()),
        ("greatest backlog".to_owned(), backlog),
        ("greatest log".to_owned(), number::value(peak(|point| point.log), Unit::Bytes)),
    ];
    let row = |holder: &crate::analysis::recording::Holder| {
        let longest = format!("{}{}", if holder.at_least { "≥" } else { "" }, time(holder.longest));
        let pinned = match holder.pinned {
            0 => number::NONE.into(),
            bytes => number::value(bytes as f64, Unit::Bytes),
        };
        vec![
            Cell::plain(holder.lock.clone()),
            Cell::plain(holder.process.clone()),
            Cell::plain(longest),
            Cell::plain(pinned),
        ]
    };
    let columns = vec![
        Column::left("lock", 0),
        Column::left("held by", 0),
        Column::right("longest", 0),
        Column::right("pinned", 0),
    ];
    let rows: Vec<_> = course.holders.iter().take(HOLDERS).map(row).collect();
    let mut elements = vec![Element::Facts(facts)];
    if !rows.is_empty() {
        elements.push(Element::Table(Table { keys: 2, columns, rows }));
    }
    elements
}

fn tone(event: &Event) -> Tone {
    match event.severity.as_str() {
        "error" => Tone::Bad,
        "warning" => Tone::Warn,
        _ => Tone::Dim,
    }
}

fn time(seconds: f64) -> String {
    number::value(seconds.max(0.0) * 1e9, Unit::Nanos)
}
