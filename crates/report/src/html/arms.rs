//! Table of a scenario's arms: settings read back, durability, and the command that repeats them.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::block::Place;
use super::figure::Source;
use super::section;
use crate::analysis::ArmAnalysis;
use crate::document::clean;
use crate::number;

/// Id of an arm's row.
pub(super) fn anchor(arm: usize) -> String {
    format!("arm-{arm}")
}

/// Column of the table: its title, and the text of each arm.
type Column<'a> = (&'static str, Box<dyn Fn(&ArmAnalysis) -> String + 'a>);

pub(super) fn table(source: Source<'_>, place: Place<'_>) -> Markup {
    let arms: Vec<&ArmAnalysis> = source.scenario.arms.iter().filter_map(|i| source.analysis.arms.get(*i)).collect();
    let shared = shared(&arms);
    let own = |arm: &ArmAnalysis| {
        let own = arm.settings.iter().filter(|(name, _)| !shared.contains_key(name.as_str()));
        settings(own.map(|(name, values)| (name.as_str(), values)))
    };
    let columns: [Column; 5] = [
        ("driver", Box::new(|arm| clean(&arm.driver))),
        ("profile", Box::new(|arm| clean(&arm.profile))),
        ("trials", Box::new(trials)),
        ("durability", Box::new(durability)),
        ("settings of its own", Box::new(own)),
    ];
    // The label has the values of the dimensions already.
    let named = |column: &Column| !source.scenario.dimensions.iter().any(|dimension| dimension == column.0);
    let first = |of: &Column| arms.first().map_or_else(String::new, |arm| of.1(arm));
    // Columns with one value in all arms are printed once, above the table.
    let (same, told): (Vec<Column>, Vec<Column>) = columns
        .into_iter()
        .filter(named)
        .partition(|column| arms.len() > 1 && arms.iter().all(|arm| column.1(arm) == first(column)));
    let same: Vec<(String, String)> = same
        .iter()
        .map(|column| (column.0.to_owned(), first(column)))
        .filter(|(_, text)| !text.is_empty() && text != number::NONE)
        .collect();
    let id = place.id;
    html! {
        h3 id={ (id) "-arms" } { "Arms of " (place.name) ": settings read back, durability, how to run them again" }
        (section::again(source))
        @if !same.is_empty() || !shared.is_empty() {
            p { "The same in all arms: "
                @for (title, text) in &same { (title) " " b { (text) } "; " }
                @if !shared.is_empty() { "read back on every connection: " code { (settings(shared.iter().map(|(name, values)| (*name, *values)))) } }
            }
        }
        @if told.is_empty() {
            ul.arms { @for arm in &arms { li id=(anchor(arm.index)) { (clean(&arm.label)) } } }
        } @else {
            (rows(&arms, &told, id))
        }
    }
}

fn rows(arms: &[&ArmAnalysis], told: &[Column], id: &str) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-labelledby={ (id) "-arms" } {
            table.arms {
                thead { tr { th scope="col" { "arm" } @for (title, _) in told { th scope="col" { (title) } } } }
                tbody {
                    @for arm in arms {
                        tr id=(anchor(arm.index)) {
                            th scope="row" { (clean(&arm.label)) }
                            @for (_, text) in told { td { (text(arm)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Settings that are the same in all arms that reported any.
fn shared<'a>(arms: &[&'a ArmAnalysis]) -> BTreeMap<&'a str, &'a BTreeSet<String>> {
    let mut read = arms.iter().filter(|arm| !arm.settings.is_empty());
    let Some(first) = read.next() else { return BTreeMap::new() };
    let mut shared: BTreeMap<&str, &BTreeSet<String>> = first.settings.iter().map(|(k, v)| (k.as_str(), v)).collect();
    for arm in read {
        shared.retain(|name, values| arm.settings.get(*name) == Some(values));
    }
    shared
}

fn settings<'a>(of: impl Iterator<Item = (&'a str, &'a BTreeSet<String>)>) -> String {
    let one = |(name, values): (&str, &BTreeSet<String>)| {
        format!("{name} {}", values.iter().cloned().collect::<Vec<_>>().join(" / "))
    };
    clean(&of.map(one).collect::<Vec<_>>().join(", "))
}

fn trials(arm: &ArmAnalysis) -> String {
    match (&arm.skipped, arm.failed()) {
        (Some(_), _) => "skipped".into(),
        (None, 0) => arm.measured.to_string(),
        (None, failed) => format!("{}, {failed} failed", arm.measured),
    }
}

/// The durability level with its meaning, so that the reader does not have to look it up in the legend.
fn durability(arm: &ArmAnalysis) -> String {
    match arm.durability {
        Some(rung) => match arm.caveat {
            Some(caveat) => format!("{rung}: {}; {caveat}", rung.meaning()),
            None => format!("{rung}: {}", rung.meaning()),
        },
        None => number::NONE.into(),
    }
}
