//! Table of a scenario's variants: settings read back, durability, and the command that repeats them.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::element::IdScope;
use super::figure::Source;
use crate::analysis::VariantAnalysis;
use crate::command;
use crate::document::answer::level_words;
use crate::document::clean;
use crate::number;

/// Column of the table: its title, and the text of each variant.
type Column<'a> = (&'static str, Box<dyn Fn(&VariantAnalysis) -> String + 'a>);

pub(super) fn table(source: Source<'_>, place: IdScope<'_>) -> Markup {
    let variants: Vec<&VariantAnalysis> = source.scenario.among(source.analysis).collect();
    let shared = shared(&variants);
    let own = |variant: &VariantAnalysis| {
        let own = variant.settings.iter().filter(|(name, _)| !shared.contains_key(name.as_str()));
        settings(own.map(|(name, values)| (name.as_str(), values)))
    };
    let columns: [Column; 5] = [
        ("driver", Box::new(|variant| clean(&variant.driver))),
        ("profile", Box::new(|variant| clean(&variant.profile))),
        ("trials", Box::new(trials)),
        ("durability", Box::new(durability)),
        ("settings of its own", Box::new(own)),
    ];
    // The label has the values of the dimensions already.
    let named = |column: &Column| !source.scenario.dimensions.iter().any(|dimension| dimension == column.0);
    let first = |of: &Column| variants.first().map_or_else(String::new, |variant| of.1(variant));
    // Columns with one value in all variants are printed once, above the table.
    let (same, told): (Vec<Column>, Vec<Column>) = columns
        .into_iter()
        .filter(named)
        .partition(|column| variants.len() > 1 && variants.iter().all(|variant| column.1(variant) == first(column)));
    let same: Vec<(String, String)> = same
        .iter()
        .map(|column| (column.0.to_owned(), first(column)))
        .filter(|(_, text)| !text.is_empty() && text != number::NONE)
        .collect();
    let id = place.id;
    let by_round = source.scenario.done >= 3 && !source.scenario.metrics.is_empty();
    html! {
        details.settings {
            summary { h3 { "Settings, trials, and how to run it again" } }
            (again(source))
            @if !same.is_empty() || !shared.is_empty() {
                p { "The same in all variants: "
                    @for (title, text) in &same { (title) " " b { (text) } "; " }
                    @if !shared.is_empty() { "read back on every connection: " code { (settings(shared.iter().map(|(name, values)| (*name, *values)))) } }
                }
            }
            div.scroll role="region" tabindex="0" aria-labelledby={ (id) "-variants" } {
                table.variants {
                    caption.unseen id={ (id) "-variants" } { "Variants of " (place.name) }
                    thead {
                        tr {
                            th scope="col" { "variant" }
                            @for (title, _) in &told { th scope="col" { (title) } }
                            @if by_round { th scope="col" { "by round" } }
                        }
                    }
                    tbody {
                        @for variant in &variants {
                            tr id=(source.anchor(variant)) class=(source.class(variant)) {
                                th scope="row" { (clean(&variant.words)) }
                                @for (_, text) in &told { td { (text(variant)) } }
                                @if by_round { td { (spark(source, variant)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The first metric round by round, from half to twice its median, which shows drift and outliers.
fn spark(source: Source<'_>, variant: &VariantAnalysis) -> Markup {
    let Some(metric) = source.scenario.metrics.first() else { return html! {} };
    let Some(middle) = variant.estimate(metric).map(|e| e.value).filter(|value| *value > 0.0) else { return html! {} };
    let values = variant.values(metric);
    let last = f64::from(source.scenario.planned.saturating_sub(1).max(1));
    let place = |(round, value): &(u32, f64)| {
        let height = 10.0 - 10.0 * (value / middle).max(0.01).log2().clamp(-1.0, 1.0);
        format!("{:.0} {height:.0}", 100.0 * f64::from(*round) / last)
    };
    let path = values.iter().map(place).collect::<Vec<_>>().join("L");
    html! {
        svg.spark viewBox="-2 -1 104 22" aria-hidden="true" { path.axis d="M0 10H100" {} path d={ "M" (path) } {} }
    }
}

/// Renders the command that runs the scenario again, with an explanation.
fn again(source: Source<'_>) -> Markup {
    html! {
        p { "Run it again, with the same values: " code.again { (command::scenario(source.scenario, source.info)) } }
        @if !command::is_built_in(source.info) && !source.info.plan.given.combined {
            p.dim {
                "The study is not one of litelab's own; its text is in the run file, and this gives it back: "
                code { "sqlite3 RUN \"SELECT value FROM run WHERE key = 'study_toml'\" > " (command::quoted(&format!("{}.toml", source.info.plan.study))) }
            }
        }
    }
}

/// Settings that are the same in all variants that reported any.
fn shared<'a>(variants: &[&'a VariantAnalysis]) -> BTreeMap<&'a str, &'a BTreeSet<String>> {
    let mut read = variants.iter().filter(|variant| !variant.settings.is_empty());
    let Some(first) = read.next() else { return BTreeMap::new() };
    let mut shared: BTreeMap<&str, &BTreeSet<String>> = first.settings.iter().map(|(k, v)| (k.as_str(), v)).collect();
    for variant in read {
        shared.retain(|name, values| variant.settings.get(*name) == Some(values));
    }
    shared
}

fn settings<'a>(of: impl Iterator<Item = (&'a str, &'a BTreeSet<String>)>) -> String {
    let one = |(name, values): (&str, &BTreeSet<String>)| {
        format!("{name} {}", values.iter().cloned().collect::<Vec<_>>().join(" / "))
    };
    clean(&of.map(one).collect::<Vec<_>>().join(", "))
}

fn trials(variant: &VariantAnalysis) -> String {
    match (&variant.skipped, variant.failed()) {
        (Some(_), _) => "skipped".into(),
        (None, 0) => variant.measured.to_string(),
        (None, failed) => format!("{}, {failed} failed", variant.measured),
    }
}

/// The durability level in words with its meaning, so that the reader does not have to look it up in the legend.
fn durability(variant: &VariantAnalysis) -> String {
    let words = level_words(variant.durability);
    match (variant.durability, variant.caveat) {
        (Some(level), Some(caveat)) => format!("{words}: {}; {caveat}", level.meaning()),
        (Some(level), None) => format!("{words}: {}", level.meaning()),
        (None, _) => words.into(),
    }
}
