//! The page of a run: its contents, and that no text of a study becomes markup.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::collections::BTreeSet;

use crate::common::plan::{empty, metric, outcome, scenario, study, text, variant};
use crate::common::{Gives, Numbers, record, study_file};
use litelab_model::{Plan, Scalar};
use litelab_protocol::{Tick, TickCount};
use litelab_record::Sample;
use litelab_record::outcome::Series;
use litelab_record::stacks::Stacks;
use litelab_report::html::{page, read};

fn of(plan: &Plan, trial: impl Fn(u32, usize) -> Option<Gives>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let (file, info) = record(&directory.path().join("run.db"), plan, |_| (), trial);
    let (analysis, evidence) = read(&file, &info).unwrap();
    page(&analysis, &info, &evidence)
}

/// Values of an attribute, in order.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    page.split(&begin).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Text of a page, with single spaces.
fn words(page: &str) -> String {
    let (_, body) = page.split_once("<body>").unwrap();
    let mut out = String::new();
    for part in body.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("", part));
        // A block element ends a word, an inline element does not.
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        out.push_str(if ["a", "b", "i", "code", "span"].contains(&name) { "" } else { " " });
        out.push_str(&text.replace('\u{a0}', " "));
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A second of ticks, in which the log grows and is emptied.
fn series() -> Series {
    let tick = |n: u64| Tick {
        t_ms: n * 100,
        counts: vec![TickCount { committed: 40 + n, ..TickCount::default() }],
        ..Tick::default()
    };
    let sample = |n: u64| Sample {
        at_ns: n * 50_000_000,
        wal_bytes: n % 10 * 4096,
        frames_backfilled: n / 10 * 10,
        ..Sample::default()
    };
    Series { samples: (0..20).map(sample).collect(), go_ns: 0, ticks: (1..=10).map(tick).collect() }
}

#[test]
fn the_first_screen_answers_and_says_what_would_falsify_it() {
    let (file, info, _keep) = study_file();
    let (analysis, evidence) = read(&file, &info).unwrap();
    let page = page(&analysis, &info, &evidence);
    assert_eq!(page, litelab_report::html::page(&analysis, &info, &evidence), "the same run gives the same page");
    let words = words(&page);
    let places: Vec<usize> = [
        "What does durability cost?",
        "The best profile is",
        "▼ slower: wal-full",
        "✔ HOLDS",
        "✘ CONTRADICTED",
        "Made-up CPU 3000",
        "the frequency governor is powersave",
        "What would falsify this",
        "The claim “NORMAL is at least twice as fast as FULL.” holds with",
        "a re-run whose interval lies wholly below 2 contradicts it",
        "litelab run made-up.toml --only sync --rounds 8 --seed 43",
        "sync What does sync cost?",
        "litelab run made-up.toml --only sync --rounds 8 --seed 42",
        "no acknowledged transaction is lost to power loss",
    ]
    .iter()
    .map(|text| words.find(text).unwrap_or_else(|| panic!("{text} is not in {words}")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    // A footnote and its failed self-check.
    assert!(words.contains("Little's law misses 12 % of the workers' time"));
    assert!(page.contains("href=\"#s2-n1\"") && page.contains("<li id=\"s2-n1\">"));
    // The page has the same values as `show`, to the letter.
    let shown = litelab_report::show_all(&analysis, &info, litelab_report::Style { color: false, width: 240 });
    let estimate = shown.lines().find(|l| l.contains("wal-full") && l.contains("k/s [")).unwrap();
    let estimate: Vec<&str> = estimate.split("  ").map(str::trim).filter(|cell| cell.contains(" [")).collect();
    assert!(estimate.len() >= 5);
    for cell in estimate {
        assert!(words.contains(cell.trim_end_matches([' ', '▼', '▲', '≈', '~'])), "{cell}");
    }
}

#[test]
fn links_lead_somewhere_and_no_id_is_there_twice() {
    let with_series = |round, variant| {
        let mut gives = outcome(round, variant)?;
        if let Gives::Numbers(numbers) = &mut gives {
            numbers.series = series();
        }
        Some(gives)
    };
    let page = of(&study(), with_series);
    let ids = values(&page, "id");
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "{ids:?}");
    let links: Vec<&str> = values(&page, "href").into_iter().filter(|link| *link != "data:,").collect();
    assert!(links.len() > 20);
    for link in links {
        assert!(link.strip_prefix('#').is_some_and(|id| known.contains(id)), "{link}");
    }
    for labelled in values(&page, "aria-labelledby").iter().flat_map(|ids| ids.split(' ')) {
        assert!(known.contains(labelled), "{labelled}");
    }
    // Every chart links to its variants, with settings, durability level and command.
    let figures = page.matches("<figure ").count();
    assert!(figures >= 5 && page.matches("Settings, durability").count() >= figures, "{figures}");
}

#[test]
fn a_page_has_no_script_unless_something_moves_and_then_by_its_hash_alone() {
    let still = of(&study(), outcome);
    assert!(still.contains("script-src &#39;none&#39;") || still.contains("script-src 'none'"));
    assert!(!still.contains("<script"));
    let moving = of(&study(), |round, variant| {
        let Some(Gives::Numbers(mut numbers)) = outcome(round, variant) else { return None };
        numbers.series = series();
        Some(Gives::Numbers(numbers))
    });
    assert_eq!(moving.matches("<script>").count(), 1);
    assert!(moving.contains("script-src 'sha256-") && moving.contains("uPlot v") | moving.contains("uPlot (v"));
    assert!(moving.contains("Copyright (c) 2022 Leon Sorokin"), "the licence goes with the code");
    assert!(moving.contains("data-figure=\"s1-f"));
    for page in [still, moving] {
        assert!(page.contains("default-src 'none'"));
        let outside: String = page.split("<script>").map(|part| part.split("</script>").last().unwrap()).collect();
        let markup: String = outside.split("<style>").map(|part| part.split("</style>").last().unwrap()).collect();
        assert!(!markup.contains(" style=\""));
        let handler = markup.split(" on").skip(1).find(|rest| {
            rest.split_once("=\"")
                .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()))
        });
        assert_eq!(handler, None);
        assert!(!markup.contains("http://") || !markup.contains("src=\"http"));
    }
}

#[test]
fn what_a_study_wrote_is_text_and_never_markup() {
    const HOSTILE: &str = "</script><script>alert(1)</script>'\"&<img src=x onerror=alert(2)>\u{1b}[31m";
    let mut plan = study();
    for text in [&mut plan.study, &mut plan.title, &mut plan.source] {
        *text = HOSTILE.into();
    }
    for scenario in &mut plan.scenarios {
        scenario.name.push_str(HOSTILE);
        scenario.question = HOSTILE.into();
    }
    for variant in &mut plan.variants {
        variant.profile = HOSTILE.into();
        for (_, value) in &mut variant.dimensions {
            if let Scalar::Text(text) = value {
                text.push_str(HOSTILE);
            }
        }
    }
    for claim in &mut plan.claims {
        (claim.text, claim.note, claim.published) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
    }
    for finding in &mut plan.findings {
        finding.text.push_str(HOSTILE);
    }
    let page = of(&plan, |round, variant| match outcome(round, variant)? {
        Gives::Numbers(mut numbers) => {
            numbers.series = series();
            Some(Gives::Numbers(numbers))
        }
        Gives::Failure(kind, _) => Some(Gives::Failure(kind, HOSTILE)),
    });
    assert!(page.contains("alert(1)"), "it is told");
    for markup in ["<script>alert", "<img", "\u{1b}"] {
        let at = page.find(markup);
        assert_eq!(at.map(|at| &page[at.saturating_sub(200)..at + 20]), None);
    }
    // Only litelab's own script, and the numbers of the charts over time.
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
    assert_eq!(page.matches("<script").count() - 1, page.matches("<script type=\"application/json\"").count());
    assert_eq!(page.matches("</style>").count(), 1);
}

#[test]
fn a_large_study_has_all_its_pictures() {
    let scenarios = 12;
    let variants = 8;
    let plan = Plan {
        scenarios: (0..scenarios)
            .map(|i| scenario(&format!("scenario-{i}"), 12, &["profile"], i * variants, &["throughput", "p50", "p99"]))
            .collect(),
        variants: (0..scenarios * variants)
            .map(|i| variant(i / variants, &[("profile", text(&format!("profile-{}", i % variants)))]))
            .collect(),
        ..empty()
    };
    let page = of(&plan, |round, variant| {
        let Some(Gives::Numbers(numbers)) = outcome(round, if variant % 2 == 0 { 0 } else { 1 }) else { return None };
        Some(Gives::Numbers(Box::new(Numbers { series: series(), ..*numbers })))
    });
    for title in ["throughput against the baseline", "service time by percentile", "throughput by round"] {
        assert_eq!(page.matches(&format!("{title}</b>")).count(), scenarios, "{title}");
    }
    let over_time = page.matches(" over the time of a trial</b>").count();
    assert!(over_time >= scenarios && page.matches("data-figure=").count() == over_time, "{over_time}");
}

#[test]
fn the_rates_of_a_search_are_a_picture() {
    use litelab_model::condition::{LimitPlan, SearchPlan};
    let limit = LimitPlan { metric: metric("response_p95"), at_least: None, at_most: Some(2e7), text: String::new() };
    let search =
        SearchPlan { role: "writers".into(), from: 100.0, factor: 2.0, precision: 0.1, repeats: 1, holds: vec![limit] };
    let mut sought = variant(0, &[("profile", text("wal-normal"))]);
    sought.search = Some(search);
    let plan = Plan {
        scenarios: vec![scenario("rate", 6, &["profile"], 0, &["sustainable"])],
        variants: vec![sought],
        ..empty()
    };
    let page = of(&plan, |_, _| Some(Numbers { searched: true, ..Numbers::default() }.into()));
    let words = words(&page);
    assert!(words.contains("response time against offered load"), "{words}");
    assert!(words.contains("a rate is kept while response_p95 ≤ 20.0 ms and all arrivals are served"));
}

/// The page of a run whose variants all have these call stacks, and the report of `show`.
fn with_stacks(plan: &Plan, folded: &str) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let store = |recorder: &litelab_record::Recorder| {
        (0..plan.variants.len()).for_each(|variant| recorder.stacks(variant, &Stacks::parse(folded, 199)).unwrap());
    };
    let (file, info) = record(&directory.path().join("run.db"), plan, store, outcome);
    let (analysis, evidence) = read(&file, &info).unwrap();
    let shown = litelab_report::show_all(&analysis, &info, litelab_report::Style { color: false, width: 200 });
    (page(&analysis, &info, &evidence), shown)
}

#[test]
fn call_stacks_are_a_picture_a_table_and_no_markup() {
    let hostile = "main;sqlite3_step;<img src=x onerror=alert(1)> 30\nmain;sqlite3_step;do_fsync_[k] 60\n\
                   main;</script><style>* 10\n";
    let (page, shown) = with_stacks(&study(), hostile);
    let bare = of(&study(), outcome);
    assert!(!bare.contains("call stack") && page.contains("CPU time by call stack, "));
    let words = words(&page);
    for part in ["do_fsync (kernel)", "60 %", "share of the CPU time that was sampled (%)", "waiting is in none of it"]
    {
        assert!(words.contains(part), "{part} is not in {words}");
    }
    assert!(page.contains("&lt;img") && !page.contains("<img") && !page.contains("<script"));
    assert_eq!(page.matches("<style").count(), 1);
    assert!(!page.contains(" style=") && !page.contains(" onmouseover="), "nothing inline");
    assert!(shown.contains("Where CPU time goes, by function") && shown.contains("do_fsync (kernel)"), "{shown}");
    // 60 % in itself, which is all of the step that called it.
    let step = shown.lines().find(|line| line.contains("do_fsync")).unwrap();
    assert_eq!(step.matches("60 %").count(), 2, "{step}");
}
