//! What each arm of a scenario was: settings read back, durability, and how to run it again.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::block::Place;
use super::figure::Source;
use super::section;
use crate::analysis::ArmAnalysis;
use crate::document::clean;
use crate::number;

/// The id of an arm's row.
pub(super) fn anchor(arm: usize) -> String {
    format!("arm-{arm}")
}

pub(super) fn table(source: Source<'_>, place: Place<'_>) -> Markup {
    let arms: Vec<&ArmAnalysis> = source.scenario.arms.iter().filter_map(|i| source.analysis.arms.get(*i)).collect();
    let shared = shared(&arms);
    let id = place.id;
    html! {
        h3 id={ (id) "-arms" } { "Arms of " (place.name) ": settings read back, durability, how to run them again" }
        (section::again(source))
        @if !shared.is_empty() {
            p { "Read back on every connection of every arm alike: " code { (settings(shared.iter().map(|(name, values)| (*name, *values)))) } }
        }
        div.scroll role="region" tabindex="0" aria-labelledby={ (id) "-arms" } {
            table {
                thead {
                    tr { @for title in ["arm", "driver", "profile", "trials", "durability", "settings of its own"] { th scope="col" { (title) } } }
                }
                tbody {
                    @for arm in &arms {
                        tr id=(anchor(arm.index)) {
                            th scope="row" { (clean(&arm.label)) }
                            td { (clean(&arm.driver)) }
                            td { (clean(&arm.profile)) }
                            td { (trials(arm)) }
                            td { (durability(arm)) }
                            td { (settings(arm.settings.iter().filter(|(name, _)| !shared.contains_key(name.as_str())).map(|(name, values)| (name.as_str(), values)))) }
                        }
                    }
                }
            }
        }
    }
}

/// Settings that are the same in all arms that have any.
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

/// The rung in words: a letter and a digit are looked up in the legend, and nobody should have to.
fn durability(arm: &ArmAnalysis) -> String {
    match arm.durability {
        Some(rung) => match arm.caveat {
            Some(caveat) => format!("{rung}: {}; {caveat}", rung.meaning()),
            None => format!("{rung}: {}", rung.meaning()),
        },
        None => number::NONE.into(),
    }
}
