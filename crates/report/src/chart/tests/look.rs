//! What is to be seen in each chart, and what is not.

use litelab_model::metric::Unit;
use litelab_stats::{Better, Confidence, Usl, UslPoint};
use roxmltree::{Document, Node};

use super::sound::{check, places};
use crate::chart::{
    Cell, Chart, Dimension, Events, Forest, ForestRow, Heatmap, Limit, Line, Load, PercentileCurve, Percentiles, Probe,
    Reading, Scaling, ScalingPoint, ScalingSeries, Strip, StripArm, TimeSeries, Verdict,
};
use crate::style::Tone;

/// A sound picture.
fn draw(chart: &dyn Chart) -> String {
    let svg = chart.svg("c").into_string();
    assert_eq!(check(&svg), Ok(()), "{svg}");
    svg
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

/// The data of the paths with a class, and that of rectangles as `rect`.
fn marks(svg: &str, class: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let has =
        |node: &Node<'_, '_>| node.attribute("class").is_some_and(|classes| classes.split(' ').any(|c| c == class));
    let found = document.descendants().filter(has);
    found.map(|node| node.attribute("d").unwrap_or(node.tag_name().name()).to_owned()).collect()
}

fn row(label: &str, ratio: Result<Reading, String>) -> ForestRow {
    let verdict = Verdict { glyph: "▲".into(), word: "faster".into(), tone: Tone::Good };
    ForestRow { label: label.into(), ratio, verdict: Some(verdict), blocks: 12 }
}

#[test]
fn a_forest_in_full() {
    let forest = Forest {
        title: "throughput".into(),
        summary: "a is faster.".into(),
        axis: "throughput, ratio to b".into(),
        band: Some((1.0 / 1.05, 1.05)),
        sides: Some(("slower".into(), "faster".into())),
        rows: vec![row("a", Ok(Reading::within(1.34, 1.29, 1.4))), row("c", Err("needs ≥ 6 blocks".into()))],
    };
    insta::assert_snapshot!(draw(&forest).replace("><", ">\n<"));
}

#[test]
fn an_interval_beyond_the_axis_ends_in_an_arrow() {
    let forest = |high| Forest { rows: vec![row("a", Ok(Reading::within(1.1, 1.05, high)))], ..Forest::default() };
    let arrows = |high| marks(&draw(&forest(high)), "whisker").concat().matches('L').count() / 2;
    assert_eq!(arrows(1.15), 0, "both ends closed");
    assert_eq!(arrows(50.0), 1);
    assert_eq!(arrows(f64::INFINITY), 1);
    let open = Forest { rows: vec![row("a", Ok(Reading::within(1.1, 0.0, f64::INFINITY)))], ..Forest::default() };
    assert_eq!(marks(&draw(&open), "whisker").concat().matches('L').count(), 2 * 2);
    assert!(open.description().contains("1.1× [open]"), "{}", open.description());
}

#[test]
fn a_ratio_without_an_interval_is_not_drawn() {
    let forest = Forest { rows: vec![row("a", Ok(1.5.into()))], ..Forest::default() };
    let svg = draw(&forest);
    assert!(marks(&svg, "mark").is_empty() && marks(&svg, "whisker").is_empty());
    assert!(marks(&svg, "band").is_empty());
    let texts = texts(&svg);
    assert!(texts.contains(&"no interval".to_owned()) && texts.iter().all(|text| !text.contains("1.5")), "{texts:?}");
}

#[test]
fn percentiles_stand_at_their_nines() {
    let curve = |name: &str| PercentileCurve {
        name: name.into(),
        points: vec![(0.5, 10e3), (0.9, 20e3), (0.99, 50e3), (0.999, 2e6), (1.0, 9e6)],
    };
    let chart = Percentiles {
        axis: "service time".into(),
        of: "transactions".into(),
        curves: vec![curve("a"), curve("b")],
        ..Percentiles::default()
    };
    let svg = draw(&chart);
    let texts = texts(&svg);
    for label in ["50 %", "90 %", "99 %", "99.9 %", "max", "100 µs", "1 ms", "service time (µs to ms, log scale)"] {
        assert!(texts.iter().any(|text| text == label), "{label}: {texts:?}");
    }
    assert!(chart.description().contains("a: P50 10.0 µs, P99 50.0 µs, P99.9 2.00 ms, max 9.00 ms"));
    let only = Percentiles { curves: vec![PercentileCurve { name: "a".into(), points: vec![(0.5, 1.0)] }], ..chart };
    assert!(!draw(&only).contains(">max<"));
}

#[test]
fn a_strip_has_a_dot_for_each_block_in_their_order() {
    let values = vec![(3, 30.0), (1, 10.0), (2, f64::NAN), (4, 20.0)];
    let arm = StripArm { label: "a".into(), values, median: Some(Reading::within(20.0, 10.0, 30.0)) };
    let strip = Strip { axis: "time".into(), unit: Some(Unit::Nanos), arms: vec![arm], ..Strip::default() };
    let svg = draw(&strip);
    let dots = marks(&svg, "dot").concat();
    assert_eq!(dots.matches("h0").count(), 3);
    let x: Vec<f64> = dots.split('M').skip(1).map(|dot| dot.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(x.is_sorted(), "{x:?}");
    assert_eq!((marks(&svg, "median").len(), marks(&svg, "interval").len()), (2, 2), "in the legend and in the plot");
    assert!(strip.description().contains("3 blocks from 10.0 ns to 30.0 ns"), "{}", strip.description());
}

#[test]
fn a_heatmap_says_every_value_and_hatches_what_it_lacks() {
    let levels = |n: u32| (1..=n).map(|level| (level * 1000).to_string()).collect::<Vec<_>>();
    let mut cells: Vec<Vec<Cell>> = (0..3)
        .map(|r| (0..12).map(|c| Cell::Value { value: f64::from(r * 12 + c) * 1e6, note: String::new() }).collect())
        .collect();
    cells[1][1] = Cell::Missing { word: "failed".into(), reason: "the balance is wrong".into() };
    cells[2].truncate(11);
    let map = Heatmap {
        metric: "P99".into(),
        unit: Some(Unit::Nanos),
        better: Some(Better::Lower),
        rows: Dimension { name: "profile".into(), levels: levels(3) },
        columns: Dimension { name: "workers".into(), levels: levels(12) },
        cells,
        ..Heatmap::default()
    };
    let svg = draw(&map);
    let texts = texts(&svg);
    for level in levels(12) {
        assert!(texts.contains(&level), "{level}");
    }
    assert!(texts.contains(&"34.0 ms".to_owned()) && texts.contains(&"failed".to_owned()), "{texts:?}");
    assert_eq!(marks(&svg, "missing").len(), 3, "one failed, one not there, one in the legend");
    assert!(svg.contains("the balance is wrong") && svg.contains("not in the plan"));
    assert_eq!(marks(&svg, "best").len(), 2, "one, and the legend");
    let said = map.description();
    assert!(said.contains("lowest 0 ns at profile 1000, workers 1000") && said.contains("2 cells"), "{said}");
}

#[test]
fn the_law_of_scalability_is_drawn_and_said() {
    let throughput = |n: f64| 1000.0 * n / (1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0));
    let levels = [1_u32, 2, 4, 8, 16, 32];
    let points: Vec<UslPoint> =
        levels.iter().map(|n| UslPoint { concurrency: *n, throughput: throughput(f64::from(*n)) }).collect();
    let law = Usl::fit(&points, Confidence::P95, 1).unwrap();
    let points = levels.map(|workers| ScalingPoint {
        workers,
        throughput: Some(Reading::from(throughput(f64::from(workers)))),
        latency: Some(Reading::within(1e6, 0.9e6, 1.2e6)),
    });
    let series = ScalingSeries { name: String::new(), points: points.to_vec(), law: Some(Ok((&law).into())) };
    let scaling = |series| Scaling { workers: "workers".into(), series: vec![series], ..Scaling::default() };
    let svg = draw(&scaling(series.clone()));
    assert_eq!(marks(&svg, "fit").len(), 2, "the curve, and the legend");
    let caption = texts(&svg).join(" ");
    assert!(caption.contains("contention σ 0.1 ") && caption.contains("peak at 9.5 workers"), "{caption}");
    let none = ScalingSeries { law: Some(Err("too few levels".into())), ..series };
    let svg = draw(&scaling(none));
    assert!(marks(&svg, "fit").is_empty() && texts(&svg).concat().contains("no fit: too few levels"));
}

#[test]
fn a_rate_that_was_not_kept_is_marked_beyond_its_colour() {
    let probe = |offered, saturated: Option<&str>| Probe {
        offered,
        p50: Some(1e6),
        p95: Some(2e6),
        p99: saturated.is_none().then_some(3e6),
        saturated: saturated.map(Into::into),
    };
    let load = Load {
        probes: vec![probe(200.0, Some("queue grew")), probe(100.0, None)],
        limit: Some(Limit { nanos: 20e6, label: "limit of P99".into() }),
        sustainable: Some(100.0),
        ..Load::default()
    };
    let svg = draw(&load);
    assert_eq!(marks(&svg, "hollow").len(), 2, "P50 and P95 of one probe");
    assert_eq!(marks(&svg, "bad").len(), 2, "one cross, and the legend");
    assert_eq!((marks(&svg, "limit").len(), marks(&svg, "kept").len()), (2, 2));
    let said = load.description();
    assert!(said.contains("limit of P99 20.0 ms") && said.contains("not kept: queue grew"), "{said}");
}

#[test]
fn a_time_series_keeps_gaps_and_spikes() {
    let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i) / 1000.0, f64::from(i % 7))).collect();
    points[40_000].1 = 1000.0;
    points[70_000].1 = f64::NAN;
    let chart = TimeSeries {
        quantity: "WAL size".into(),
        unit: Some(Unit::Bytes),
        lines: vec![Line { name: String::new(), points }],
        events: vec![Events { name: "checkpoint".into(), seconds: (0..5000).map(|i| f64::from(i) / 50.0).collect() }],
        ..TimeSeries::default()
    };
    let svg = draw(&chart);
    let line = marks(&svg, "line").concat();
    assert_eq!(line.matches('M').count(), 2, "one gap");
    let places = places(&line).unwrap().into_iter();
    let (high, low) = places.fold((f64::MAX, f64::MIN), |(high, low), (_, y)| (high.min(y), low.max(y)));
    assert!(low - high > 140.0, "the spike is there: {high} to {low}");
    assert!(marks(&svg, "event-line").is_empty(), "too many for lines");
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let empty: [&dyn Chart; 7] = [
        &Forest::default(),
        &Percentiles::default(),
        &Strip::default(),
        &Heatmap::default(),
        &Scaling::default(),
        &Load::default(),
        &TimeSeries::default(),
    ];
    for chart in empty {
        assert_eq!(texts(&draw(chart)), [crate::chart::draw::svg::NOTHING]);
    }
}

#[test]
fn pictures_of_one_page_share_no_id() {
    let map = Heatmap {
        rows: Dimension { name: "r".into(), levels: vec!["1".into()] },
        columns: Dimension { name: "c".into(), levels: vec!["1".into()] },
        ..Heatmap::default()
    };
    let ids = |id: &str| -> Vec<String> {
        let svg = map.svg(id).into_string();
        let document = Document::parse(&svg).unwrap();
        document.descendants().filter_map(|node| node.attribute("id").map(str::to_owned)).collect()
    };
    let (one, other) = (ids("one"), ids("two \"quoted\""));
    assert_eq!(one, ["one-title", "one-desc", "one-hatch"]);
    assert!(one.iter().all(|id| !other.contains(id)) && other.len() == 3);
}
