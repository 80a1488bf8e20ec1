//! First screen of a page: what went wrong, and the answer in a few cards.

use maud::{Markup, html};

use super::bars;
use super::element::rich;
use crate::analysis::{Analysis, LevelAnswer, ScenarioAnalysis};
use crate::document::answer::{self, level_words};
use crate::document::{Marked, clean};
use crate::number;
use litelab_model::metric::Unit;

/// Largest number of cards; further findings follow as a list.
const MOST: usize = 4;

/// A headline: a few words before it, the answer, and a sentence.
struct Card {
    about: Option<Markup>,
    head: String,
    text: String,
}

/// What went wrong in the run, in the database's own words; empty if nothing did.
pub(super) fn problems(analysis: &Analysis) -> Markup {
    let all: Vec<(usize, Marked)> = (analysis.scenarios.iter().enumerate())
        .flat_map(|(at, scenario)| scenario.answer.problems.iter().map(move |problem| (at, problem)))
        .map(|(at, problem)| (at, answer::problem(problem, analysis)))
        .collect();
    if all.is_empty() {
        return html! {};
    }
    html! {
        section.problems #problems aria-labelledby="problems-h" {
            h2 #problems-h { "What went wrong" }
            ul.marks {
                @for (at, sentence) in &all {
                    li {
                        span class={ "mark " (super::element::class(sentence.tone)) } aria-hidden="true" { (sentence.mark) }
                        span {
                            @if let Some(scenario) = analysis.scenarios.get(*at) {
                                a href={ "#s" (at + 1) } { (clean(&scenario.name)) } ": "
                            }
                            (rich(&sentence.text))
                        }
                    }
                }
            }
        }
    }
}

/// The study's findings, or cards made from the answers of its scenarios.
pub(super) fn cards(analysis: &Analysis) -> Markup {
    let findings = &analysis.findings;
    let cards: Vec<Card> = match findings.is_empty() {
        false => findings.iter().take(MOST).map(|finding| of_finding(finding)).collect(),
        true => generated(analysis),
    };
    html! {
        section #answer aria-labelledby="answer-h" {
            h2.unseen #answer-h { "Answer" }
            ul.cards {
                @for card in &cards {
                    li {
                        @if let Some(about) = &card.about { p.about { (about) } }
                        @if !card.head.is_empty() { p.head { (card.head) } }
                        p { (rich(&card.text)) }
                    }
                }
            }
            @if findings.iter().any(|finding| first_sentence(finding) != *finding) || findings.len() > MOST {
                details.findings {
                    summary { h3 { "All findings in full" } }
                    ul { @for finding in findings { li { (rich(finding)) } } }
                }
            }
        }
    }
}

/// A finding with its first quantity as the headline.
fn of_finding(finding: &str) -> Card {
    let text = first_sentence(finding).to_owned();
    Card { about: None, head: quantity(&clean(&text)).unwrap_or_default(), text }
}

/// A text up to the first end of a sentence.
fn first_sentence(text: &str) -> &str {
    let starts = |rest: &str| rest.starts_with(|c: char| c.is_uppercase() || c == '`');
    let end = text.match_indices(". ").find(|(at, _)| starts(&text[at + 2..]));
    end.map_or(text, |(at, _)| &text[..=at])
}

/// The first measured number of a sentence with its unit, `6.54k/s`, `10.1×`, `0.77 ms`: one with an interval, else any.
fn quantity(text: &str) -> Option<String> {
    const UNITS: [&str; 10] = ["ns", "µs", "ms", "s", "%", "B", "KiB", "MiB", "GiB", "TiB"];
    let bare = |word: &str| word.trim_matches([',', ';', ':', '.', '(', ')']).to_owned();
    let words: Vec<&str> = text.split([' ', '\u{a0}']).collect();
    let known = |length: usize, at: usize| words.get(at + length).is_some_and(|next| next.starts_with('['));
    let all: Vec<(String, bool)> = (words.iter().enumerate())
        .filter_map(|(at, word)| {
            let word = bare(word);
            let number = word.starts_with(|c: char| c.is_ascii_digit());
            let unit = words.get(at + 1).map(|next| bare(next)).filter(|next| UNITS.contains(&next.as_str()));
            match unit {
                Some(unit) if number => Some((format!("{word}\u{a0}{unit}"), known(2, at))),
                _ if number && (word.ends_with('×') || word.contains("/s")) => Some((word, known(1, at))),
                _ => None,
            }
        })
        .collect();
    let measured = all.iter().find(|(_, known)| *known).or(all.first());
    measured.map(|(quantity, _)| quantity.clone())
}

/// The safest choice, the fastest one with its price, the worst tail, and what is open.
fn generated(analysis: &Analysis) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    let answered = || analysis.scenarios.iter().filter(|scenario| !scenario.answer.levels.is_empty());
    let named = answered().count() > 1;
    for scenario in answered().take(2) {
        let levels = &scenario.answer.levels;
        let fastest = levels.iter().rfind(|level| !level.dominated);
        cards.extend(levels.first().map(|level| of_level(level, scenario, analysis, named)));
        let other = fastest.filter(|fastest| levels.first().is_some_and(|first| first.best != fastest.best));
        cards.extend(other.map(|level| of_level(level, scenario, analysis, named)));
    }
    cards.truncate(MOST - 2);
    let waits = answered().flat_map(|scenario| &scenario.answer.levels);
    let waits = waits.filter_map(|level| Some((level, level.longest?)));
    if let Some((level, wait)) = waits.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value)) {
        let variant = analysis.variants.get(level.best);
        let scenario = analysis.scenarios.iter().find(|scenario| scenario.variants.contains(&level.best));
        cards.push(Card {
            about: Some(html! { "Longest wait of a best choice" }),
            head: number::value(wait.value, Unit::Nanos),
            text: format!(
                "{}{}: the longest transaction of a trial, median over rounds.",
                scenario.filter(|_| named).map_or_else(String::new, |scenario| format!("{}, ", scenario.name)),
                variant.map_or("?", |variant| variant.words.as_str()),
            ),
        });
    }
    let open: Vec<_> = analysis.scenarios.iter().filter(|scenario| scenario.answer.undecided.is_some()).collect();
    let (head, text) = match open.first().and_then(|scenario| Some((scenario, scenario.answer.undecided.as_ref()?))) {
        Some((scenario, undecided)) => {
            let head = match analysis.scenarios.len() {
                1 => "open".into(),
                all => format!("{} of {all}", open.len()),
            };
            let name = if named { format!("{}: ", scenario.name) } else { String::new() };
            (head, format!("{name}{}.", undecided.text))
        }
        None => ("nothing".into(), "Every comparison that the answers rest on is decided.".into()),
    };
    cards.push(Card { about: Some(html! { "Not decided" }), head, text });
    cards
}

fn of_level(level: &LevelAnswer, scenario: &ScenarioAnalysis, analysis: &Analysis, named: bool) -> Card {
    let variant = analysis.variants.get(level.best);
    let unit = scenario.answer.metric.as_ref().map_or(Unit::Count, litelab_model::Metric::unit);
    let metric = scenario.answer.metric.as_ref().map_or_else(String::new, ToString::to_string);
    let mut text = format!("{metric}: {}", variant.map_or("?", |variant| variant.words.as_str()));
    if let Some(ratio) = level.over_safest.as_ref().and_then(|paired| number::ratio(&paired.ratio)) {
        let safest = scenario.answer.levels.first().map_or("?", |safest| level_words(safest.durability));
        text.push_str(&format!(", {ratio} of the best that is {safest}"));
    }
    if let Some(p999) = &level.p999 {
        text.push_str(&format!(". 1 in 1,000 takes {} or more", number::value(p999.value, Unit::Nanos)));
    }
    if !level.ties.is_empty() {
        text.push_str(&format!(". Not told apart from {}", number::counted(level.ties.len() as u64, "other")));
    }
    text.push('.');
    let about = html! { @if named { (clean(&scenario.name)) " " } (bars::tag(level.durability)) };
    Card { about: Some(about), head: number::value(level.estimate.value, unit), text }
}

#[cfg(test)]
mod tests {
    use super::quantity;

    #[test]
    fn the_headline_of_a_finding_is_its_first_quantity() {
        for (text, head) in [
            ("With 8 writers it is 38.8k/s [33.9k, 41.8k].", Some("38.8k/s")),
            ("It costs 10.1× [9.8, 10.4] (D4 → D2).", Some("10.1×")),
            ("A commit takes 0.77 ms, of 1000.", Some("0.77\u{a0}ms")),
            ("With 10 ms of sleep it is 20.9/s [13.8, 26.7].", Some("20.9/s")),
            ("The best is per-worker.", None),
        ] {
            assert_eq!(quantity(text).as_deref(), head, "{text}");
        }
    }
}
