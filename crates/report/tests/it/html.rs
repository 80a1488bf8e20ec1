//! The page of a run: its contents, and that no text of a study becomes markup.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::collections::BTreeSet;

use crate::common::plan::{changed, empty, metric, outcome, scenario, study, text, variant};
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

/// The outcome of a trial of the study, with a time series.
fn with_series(round: u32, variant: usize) -> Option<Gives> {
    changed(round, variant, |numbers| numbers.series = series())
}

/// Ids of a page. None is there twice, and every link leads to one of them.
fn ids(page: &str) -> BTreeSet<&str> {
    let all = values(page, "id");
    let ids: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), ids.len(), "{all:?}");
    for link in values(page, "href").into_iter().filter(|link| *link != "data:,") {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.contains(id)), "{link}");
    }
    ids
}

#[test]
fn the_first_screen_answers_and_what_lies_below_is_in_order() {
    let (file, info, _keep) = study_file();
    let (analysis, evidence) = read(&file, &info).unwrap();
    let page = page(&analysis, &info, &evidence);
    assert_eq!(page, litelab_report::html::page(&analysis, &info, &evidence), "the same run gives the same page");
    let words = words(&page);
    let places: Vec<usize> = [
        "What does durability cost?",
        "8 of 8 rounds",
        "What went wrong",
        "invariant rows: found 9, expected 10",
        "The best profile is",
        "sync What does sync cost?",
        "safe no acknowledged transaction is lost to power loss",
        "Ratios to the baseline",
        "litelab run made-up.toml --only sync --rounds 8 --seed 42",
        "✔ HOLDS",
        "✘ CONTRADICTED",
        "How sure is this? Variants",
        "litelab repeat made-up.db",
        "the frequency governor is powersave",
        "Legend safe",
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
fn bars_stand_by_durability_before_speed() {
    let page = of(&study(), outcome);
    let (_, bars) = page.split_once("<table class=\"bars\"").unwrap();
    let (bars, _) = bars.split_once("</table>").unwrap();
    let levels: Vec<&str> = bars.split("<tbody class=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    // wal-normal is four times faster than wal-full, which is safe.
    assert_eq!(levels[0], "d4", "{levels:?}");
    assert!(levels.is_sorted_by(|a, b| a > b), "{levels:?}");
    assert_eq!(bars.matches("<path class=\"interval\"").count(), 3, "one for each variant");
}

#[test]
fn what_a_finding_does_not_say_is_generated() {
    let plan = Plan { findings: vec![], ..study() };
    let words = words(&of(&plan, outcome));
    for part in ["sync safe ", "Longest wait of a best choice", "Not decided"] {
        assert!(words.contains(part), "{part} is not in {words}");
    }
}

#[test]
fn every_value_by_round_is_in_the_page() {
    let (file, info, _keep) = study_file();
    let (analysis, evidence) = read(&file, &info).unwrap();
    let page = page(&analysis, &info, &evidence);
    let (_, data) = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap();
    let data: serde_json::Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    for (scenario, embedded) in analysis.scenarios.iter().zip(data["scenarios"].as_array().unwrap()) {
        assert_eq!(embedded["name"], scenario.name.as_str());
        let measured = scenario.variants.iter().filter(|at| analysis.variants[**at].measured > 0);
        for (variant, embedded) in measured.zip(embedded["variants"].as_array().unwrap()) {
            for (metric, embedded) in scenario.metrics.iter().zip(embedded[2].as_array().unwrap()) {
                for (round, value) in analysis.variants[*variant].values(metric) {
                    let found = embedded[*round as usize].as_f64().unwrap();
                    assert!((found - value).abs() <= value.abs() * 1e-3, "{metric} of round {round}: {found}");
                }
            }
        }
    }
}

#[test]
fn two_runs_stand_side_by_side_on_one_axis() {
    let (file, info, _keep) = study_file();
    let (analysis, evidence) = read(&file, &info).unwrap();
    let directory = tempfile::tempdir().unwrap();
    // The second run is twice as fast, so that its best bar ends where the first one's axis would.
    let faster = |round, variant| changed(round, variant, |numbers| numbers.committed *= 2);
    let (other_file, other_info) = record(&directory.path().join("other.db"), &study(), |_| (), faster);
    let (other, further) = read(&other_file, &other_info).unwrap();
    let page = litelab_report::html::pair((&analysis, &info, &evidence), (&other, &other_info, &further));
    let ticks: Vec<&str> =
        page.split("<span class=\"ticks\"").skip(1).map(|t| t.split("</th>").next().unwrap()).collect();
    assert_eq!(ticks.len(), 2 * analysis.scenarios.len());
    assert!(ticks.chunks(2).all(|pair| pair[0] == pair[1]), "{ticks:?}");
    ids(&page);
    assert!(words(&page).contains("litelab compare made-up.db made-up.db"));
}

#[test]
fn links_lead_somewhere_and_no_id_is_there_twice() {
    let page = of(&study(), with_series);
    let known = ids(&page);
    assert!(values(&page, "href").iter().filter(|link| link.starts_with('#')).count() > 20);
    for labelled in values(&page, "aria-labelledby").iter().flat_map(|ids| ids.split(' ')) {
        assert!(known.contains(labelled), "{labelled}");
    }
    // Every variant of a chart or table leads to its settings.
    let classes: BTreeSet<&str> =
        page.split("class=\"v v").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(classes.len(), 6, "{classes:?}");
    assert!(classes.iter().all(|variant| known.contains(format!("variant-{variant}").as_str())));
}

#[test]
fn a_page_has_one_small_script_and_uplot_only_where_something_moves() {
    let still = of(&study(), outcome);
    assert_eq!((still.matches("<script>").count(), still.contains("uPlot")), (1, false));
    let script = still.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(script.lines().count() < 180 && script.len() < 10_000, "{}", script.len());
    let moving = of(&study(), with_series);
    assert_eq!(moving.matches("<script>").count(), 1);
    assert!(moving.contains("uPlot v") | moving.contains("uPlot (v"));
    assert!(moving.contains("Copyright (c) 2022 Leon Sorokin"), "the licence goes with the code");
    assert!(moving.contains("data-figure=\"s1-f"));
    for page in [still, moving] {
        assert!(page.contains("default-src 'none'") && page.contains("script-src 'sha256-"));
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
        (claim.text, claim.note) = (HOSTILE.into(), HOSTILE.into());
        (claim.quote, claim.place) = (HOSTILE.into(), HOSTILE.into());
    }
    for finding in &mut plan.findings {
        finding.text.push_str(HOSTILE);
    }
    let page = of(&plan, |round, variant| match with_series(round, variant)? {
        Gives::Failure(kind, _) => Some(Gives::Failure(kind, HOSTILE)),
        numbers => Some(numbers),
    });
    assert!(page.contains("alert(1)"), "it is told");
    for markup in ["<script>alert", "<img", "\u{1b}"] {
        let at = page.find(markup);
        assert_eq!(at.map(|at| &page[at.saturating_sub(200)..at + 20]), None);
    }
    // Only litelab's own script, the numbers of the charts over time, and the values by round.
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
    assert_eq!(page.matches("<script").count() - 1, page.matches(" type=\"application/json\"").count());
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
    let page = of(&plan, |round, variant| with_series(round, variant % 2));
    assert_eq!(page.matches("<table class=\"bars\"").count(), scenarios);
    assert_eq!(page.matches("service time by percentile</b>").count(), scenarios);
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
    assert!(page.contains("&lt;img") && !page.contains("<img"));
    assert_eq!((page.matches("<style").count(), page.matches("<script>").count()), (1, 1));
    assert!(!page.contains(" style=") && !page.contains(" onmouseover="), "nothing inline");
    assert!(shown.contains("Where CPU time goes, by function") && shown.contains("do_fsync (kernel)"), "{shown}");
    // 60 % in itself, which is all of the step that called it.
    let step = shown.lines().find(|line| line.contains("do_fsync")).unwrap();
    assert_eq!(step.matches("60 %").count(), 2, "{step}");
}
