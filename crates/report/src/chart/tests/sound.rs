//! Check of a chart: it is XML, titled, without inline styles, with finite numbers only, all of it inside the picture,
//! and no text overlaps another.

use roxmltree::{Document, Node};

use crate::chart::draw::svg::WIDTH;
use crate::chart::draw::text;

/// Positions are rounded to a tenth.
const ROUNDING: f64 = 0.11;

/// The first defect of a chart, in one line.
pub(crate) fn check(svg: &str) -> Result<(), String> {
    let document = Document::parse(svg).map_err(|error| format!("not XML: {error}"))?;
    let root = document.root_element();
    titled(root)?;
    let height = height(root)?;
    let mut texts = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        if node.has_attribute("style") {
            return Err("an inline style".into());
        }
        for attribute in node.attributes() {
            numbers(attribute.value())?;
        }
        numbers(node.text().unwrap_or_default())?;
        match node.tag_name().name() {
            "path" => {
                for (x, y) in places(node.attribute("d").unwrap_or_default())? {
                    inside(x, y, height).map_err(|error| format!("{error} in a path"))?;
                }
            }
            "text" => texts.push(extent(node, height)?),
            "svg" | "g" | "title" | "desc" => {}
            other => return Err(format!("an element {other}")),
        }
    }
    overlaps(&texts)
}

fn titled(root: Node<'_, '_>) -> Result<(), String> {
    if root.tag_name().name() != "svg" || root.attribute("role") != Some("img") {
        return Err("no picture".into());
    }
    let labels = root.attribute("aria-labelledby").ok_or("no label")?;
    let names: Vec<&str> = labels
        .split(' ')
        .filter_map(|id| root.children().find(|node| node.attribute("id") == Some(id)))
        .map(|node| node.tag_name().name())
        .collect();
    if names == ["title", "desc"] { Ok(()) } else { Err(format!("labelled by {names:?}")) }
}

fn height(root: Node<'_, '_>) -> Result<f64, String> {
    let view: Vec<f64> =
        root.attribute("viewBox").unwrap_or_default().split(' ').filter_map(|part| part.parse().ok()).collect();
    match view[..] {
        [x, y, width, height] if (x, y, width) == (0.0, 0.0, WIDTH) && height > 0.0 => Ok(height),
        _ => Err(format!("a view of {view:?}")),
    }
}

fn numbers(text: &str) -> Result<(), String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    match words.into_iter().find(|word| ["nan", "inf", "infinity"].contains(&word.to_lowercase().as_str())) {
        Some(word) => Err(format!("a number that is none: {word} in {text:?}")),
        None => Ok(()),
    }
}

fn number(node: Node<'_, '_>, name: &str) -> Result<f64, String> {
    let value = node.attribute(name).ok_or_else(|| format!("no {name}"))?;
    value.parse().map_err(|_| format!("{name} {value:?} is no number"))
}

fn inside(x: f64, y: f64, height: f64) -> Result<(), String> {
    let within = |value: f64, most: f64| (-ROUNDING..=most + ROUNDING).contains(&value);
    if within(x, WIDTH) && within(y, height) { Ok(()) } else { Err(format!("({x}, {y}) lies outside")) }
}

/// All positions of a path.
pub(crate) fn places(data: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut places = Vec::new();
    let (mut x, mut y, mut start) = (0.0, 0.0, (0.0, 0.0));
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        let values: Result<Vec<f64>, String> = rest[1..end]
            .split_whitespace()
            .map(|part| part.parse().map_err(|_| format!("{part:?} in the path {data:?}")))
            .collect();
        match (command, &values?[..]) {
            ('M', [to_x, to_y]) => (x, y, start) = (*to_x, *to_y, (*to_x, *to_y)),
            ('L', [to_x, to_y]) => (x, y) = (*to_x, *to_y),
            ('H', [to]) => x = *to,
            ('V', [to]) => y = *to,
            ('m', [by_x, by_y]) => {
                (x, y) = (x + by_x, y + by_y);
                start = (x, y);
            }
            ('l', [by_x, by_y]) => (x, y) = (x + by_x, y + by_y),
            ('h', [by]) => x += by,
            ('v', [by]) => y += by,
            ('a', [.., by_x, by_y]) => (x, y) = (x + by_x, y + by_y),
            ('z', []) => (x, y) = start,
            (command, values) => return Err(format!("{command} {values:?} in the path {data:?}")),
        }
        places.push((x, y));
        rest = &rest[end..];
    }
    Ok(places)
}

/// A text with its left, top, right and bottom.
type Extent = (String, [f64; 4]);

fn extent(node: Node<'_, '_>, height: f64) -> Result<Extent, String> {
    let content = node.text().unwrap_or_default().to_owned();
    let inherited = |name: &str| node.ancestors().find_map(|node| node.attribute(name));
    let width = text::width(&content);
    let (x, y) = (number(node, "x")?, number(node, "y")?);
    let left = match inherited("text-anchor") {
        None => x,
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        Some(other) => return Err(format!("an anchor {other}")),
    };
    let extent = [left, y - 9.5, left + width, y + 2.5];
    inside(extent[0], extent[1], height)
        .and_then(|()| inside(extent[2], extent[3], height))
        .map_err(|error| format!("the text {content:?} reaches out: {error}"))?;
    Ok((content, extent))
}

fn overlaps(texts: &[Extent]) -> Result<(), String> {
    for (i, (one, a)) in texts.iter().enumerate() {
        for (other, b) in &texts[i + 1..] {
            let apart = a[2] <= b[0] + ROUNDING || b[2] <= a[0] + ROUNDING || a[3] <= b[1] || b[3] <= a[1];
            if !apart && !one.trim().is_empty() && !other.trim().is_empty() {
                return Err(format!("{one:?} at {a:?} lies upon {other:?} at {b:?}"));
            }
        }
    }
    Ok(())
}

/// A sound picture around these elements.
fn around(inner: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 440 100" aria-labelledby="a-title a-desc"><title id="a-title">t</title><desc id="a-desc">d</desc>{inner}</svg>"#
    )
}

#[test]
fn the_check_sees_what_is_wrong() {
    let sound = r#"<path d="M10 10l10 10L16 16m-4 -4h8"/><text x="10" y="40">a</text><text x="100" y="40">b</text>"#;
    assert_eq!(check(&around(sound)), Ok(()));
    let wrong = [
        (r#"<path d="M10 10l20">"#, "not XML"),
        (r#"<path d="M10 NaN"/>"#, "none"),
        (r#"<text x="1" y="20">inf ms</text>"#, "none"),
        (r#"<path d="M10 10l431 0"/>"#, "outside"),
        (r#"<path d="M438 10m4 0"/>"#, "outside"),
        (r#"<path d="M0 90l10 11"/>"#, "outside"),
        (r#"<path d="M0 90h10" style="fill:red"/>"#, "style"),
        (r#"<text x="430" y="20">too long</text>"#, "reaches out"),
        (r#"<text x="10" y="20">one</text><text x="20" y="20">two</text>"#, "lies upon"),
        (r#"<script/>"#, "element"),
    ];
    for (inner, what) in wrong {
        let found = check(&around(inner)).unwrap_err();
        assert!(found.contains(what), "{inner}: {found}");
    }
    assert!(check(&around("").replace("a-desc\">d", "b-desc\">d")).is_err());
    assert!(check(&around("").replace("role", "roll")).is_err());
}
