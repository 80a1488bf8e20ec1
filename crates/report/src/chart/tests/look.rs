//! Contents of each chart.

use litelab_model::metric::Unit;
use litelab_stats::Better;
use roxmltree::{Document, Node};

use super::sound::check;
use crate::chart::{Cell, Chart, Dimension, Flame, Forest, ForestRow, Heatmap, Reading, Verdict, Xy};
use crate::style::Tone;

/// Draws a chart and checks that it is sound.
pub(crate) fn draw(chart: &dyn Chart) -> String {
    let svg = chart.svg("c").into_string();
    assert_eq!(check(&svg), Ok(()), "{svg}");
    svg
}

pub(crate) fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

/// Data of the paths with a class; `rect` for a rectangle.
pub(crate) fn marks(svg: &str, class: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let has =
        |node: &Node<'_, '_>| node.attribute("class").is_some_and(|classes| classes.split(' ').any(|c| c == class));
    let found = document.descendants().filter(has);
    found.map(|node| node.attribute("d").unwrap_or(node.tag_name().name()).to_owned()).collect()
}

fn row(label: &str, ratio: Result<Reading, String>) -> ForestRow {
    let verdict = Verdict { glyph: "▲".into(), word: "faster".into(), tone: Tone::Good };
    ForestRow { label: label.into(), ratio, verdict: Some(verdict), rounds: 12 }
}

#[test]
fn a_forest_in_full() {
    let forest = Forest {
        title: "throughput".into(),
        summary: "a is faster.".into(),
        axis: "throughput, ratio to b".into(),
        band: Some((1.0 / 1.05, 1.05)),
        sides: Some(("slower".into(), "faster".into())),
        rows: vec![row("a", Ok(Reading::within(1.34, 1.29, 1.4))), row("c", Err("needs ≥ 6 rounds".into()))],
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
fn nothing_is_said_to_be_nothing() {
    let empty: [&dyn Chart; 4] = [&Forest::default(), &Heatmap::default(), &Flame::default(), &Xy::default()];
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
