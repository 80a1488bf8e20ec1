//! Legends: samples of marks with their meaning.

use maud::{Markup, html};

use super::svg::{self, Anchor, Path, WIDTH};
use super::{mark, text};

/// Width of a sample, of the gap after it and of the gap between entries.
const SAMPLE: f64 = 26.0;
const GAP: f64 = 6.0;
const BETWEEN: f64 = 16.0;

/// Sample of a mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sample {
    /// Line of a series with its marker.
    Series(usize),
    /// Line of a series.
    Line(usize),
    /// Line of a CSS class.
    Rule(&'static str),
    /// Shape of a CSS class.
    Shape(usize, String),
}

/// Sample of a mark with its meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) sample: Sample,
    pub(crate) text: String,
}

impl Entry {
    pub(crate) fn new(sample: Sample, text: impl Into<String>) -> Self {
        Self { sample, text: text.into() }
    }
}

/// Draws entries next to each other, wrapped into rows; returns also the position where they end. Without entries it
/// draws nothing.
pub(crate) fn legend(entries: &[Entry]) -> (Markup, f64) {
    let mut placed = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    for entry in entries {
        let lines = text::wrap(&entry.text, WIDTH - SAMPLE - GAP);
        let wide = SAMPLE + GAP + lines.iter().map(|line| text::width(line)).fold(0.0, f64::max);
        if x > 0.0 && (x + wide > WIDTH || lines.len() > 1) {
            (x, y) = (0.0, y + text::LINE);
        }
        placed.push((x, y, entry, lines.clone()));
        if lines.len() > 1 {
            (x, y) = (0.0, y + lines.len() as f64 * text::LINE);
        } else {
            x += wide + BETWEEN;
        }
    }
    let end = match (placed.is_empty(), x > 0.0) {
        (true, _) => 0.0,
        (false, true) => y + text::LINE + 6.0,
        (false, false) => y + 6.0,
    };
    let markup = html! {
        @for (x, y, entry, lines) in &placed {
            (sample(&entry.sample, *x, y + 8.0))
            (svg::lines(x + SAMPLE + GAP, y + 12.0, Anchor::Start, "", lines))
        }
    };
    (markup, end)
}

fn sample(sample: &Sample, x: f64, y: f64) -> Markup {
    let mut line = Path::default();
    line.start(x, y).across(x + SAMPLE);
    let shape = |shape: usize, class: &str| {
        let mut path = Path::default();
        mark::shape(&mut path, shape, (x + SAMPLE / 2.0, y));
        path.markup(class)
    };
    html! {
        @match sample {
            Sample::Series(series) => {
                (line.markup(&mark::line(*series)))
                (shape(*series, &mark::marker(*series)))
            }
            Sample::Line(series) => (line.markup(&mark::line(*series))),
            Sample::Rule(class) => (line.markup(class)),
            Sample::Shape(which, class) => (shape(*which, class)),
        }
    }
}
