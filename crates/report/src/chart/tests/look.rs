//! Contents of each chart.

use roxmltree::{Document, Node};

use super::sound::check;
use crate::chart::{Chart, Flame, Xy};

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

/// Data of the paths with a class.
pub(crate) fn marks(svg: &str, class: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let has =
        |node: &Node<'_, '_>| node.attribute("class").is_some_and(|classes| classes.split(' ').any(|c| c == class));
    let found = document.descendants().filter(has);
    found.filter_map(|node| node.attribute("d").map(str::to_owned)).collect()
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let empty: [&dyn Chart; 2] = [&Flame::default(), &Xy::default()];
    for chart in empty {
        assert_eq!(texts(&draw(chart)), [crate::chart::draw::svg::NOTHING]);
    }
}

#[test]
fn pictures_of_one_page_share_no_id() {
    let ids = |id: &str| -> Vec<String> {
        let svg = Xy::default().svg(id).into_string();
        let document = Document::parse(&svg).unwrap();
        document.descendants().filter_map(|node| node.attribute("id").map(str::to_owned)).collect()
    };
    let (one, other) = (ids("one"), ids("other"));
    assert_eq!(one, ["one-title", "one-desc"]);
    assert!(one.iter().all(|id| !other.contains(id)) && other.len() == 2);
}
