//! SVG elements: the picture around a drawing; numbers, texts and paths in it.

use std::fmt::{self, Display, Write};

use litelab_model::text::printable;
use maud::{Markup, PreEscaped, html};

use super::text;
use crate::chart::Chart;

/// Width of every picture, in user units.
pub(in crate::chart) const WIDTH: f64 = 440.0;

/// A coordinate, formatted to a tenth of a unit, which is finer than a screen shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::chart) struct N(pub(in crate::chart) f64);

impl Display for N {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Avoids a minus zero: 0.0 + −0.0 is 0.0.
        write!(f, "{}", 0.0 + (self.0 * 10.0).round() / 10.0)
    }
}

/// Wraps a drawing into a picture with title and description.
pub(in crate::chart) fn figure(chart: &dyn Chart, id: &str, height: f64, inner: &Markup) -> Markup {
    let (title, description) = (printable(chart.title()).into_owned(), printable(&chart.description()).into_owned());
    html! {
        svg.chart role="img" xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (N(WIDTH)) " " (N(height.ceil())) }
            font-size=(N(text::SIZE)) aria-labelledby={ (id) "-title " (id) "-desc" } {
            title id={ (id) "-title" } { (title) }
            desc id={ (id) "-desc" } { (description) }
            (inner)
        }
    }
}

/// A picture with the text [`NOTHING`].
pub(in crate::chart) fn empty(chart: &dyn Chart, id: &str) -> Markup {
    figure(chart, id, 30.0, &label(0.0, 20.0, Anchor::Start, "dim", NOTHING))
}

/// Text of a picture without anything to draw.
pub(in crate::chart) const NOTHING: &str = "Nothing was measured that could be drawn here.";

/// End of a text that its position refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::chart) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Start => None,
            Self::Middle => Some("middle"),
            Self::End => Some("end"),
        }
    }
}

/// Draws one line of text on its baseline.
pub(in crate::chart) fn label(x: f64, baseline: f64, anchor: Anchor, class: &str, content: &str) -> Markup {
    let anchor = anchor.attribute();
    let class = (!class.is_empty()).then_some(class);
    html! {
        text x=(N(x)) y=(N(baseline)) text-anchor=[anchor] class=[class] { (printable(content)) }
    }
}

/// Draws texts of one class, each at its position and baseline.
pub(in crate::chart) fn labels<'a>(
    class: &str,
    anchor: Anchor,
    labels: impl Iterator<Item = (f64, f64, &'a str)>,
) -> Markup {
    html! {
        g class=(class) text-anchor=[anchor.attribute()] {
            @for (x, baseline, content) in labels { (label(x, baseline, Anchor::Start, "", content)) }
        }
    }
}

/// Draws lines below each other, the first on `baseline`.
pub(in crate::chart) fn lines(x: f64, baseline: f64, anchor: Anchor, class: &str, lines: &[String]) -> Markup {
    html! {
        @for (i, line) in lines.iter().enumerate() {
            (label(x, baseline + i as f64 * text::LINE, anchor, class, line))
        }
    }
}

/// Data of an SVG path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::chart) struct Path(String);

impl Path {
    pub(in crate::chart) fn start(&mut self, x: f64, y: f64) -> &mut Self {
        self.push(format_args!("M{} {}", N(x), N(y)))
    }

    pub(in crate::chart) fn line(&mut self, x: f64, y: f64) -> &mut Self {
        self.push(format_args!("L{} {}", N(x), N(y)))
    }

    pub(in crate::chart) fn across(&mut self, x: f64) -> &mut Self {
        self.push(format_args!("H{}", N(x)))
    }

    pub(in crate::chart) fn down(&mut self, y: f64) -> &mut Self {
        self.push(format_args!("V{}", N(y)))
    }

    /// Adds commands relative to the current point, which come from this program. A [`Path::start`] must follow.
    pub(in crate::chart) fn then(&mut self, commands: &str) -> &mut Self {
        self.push(format_args!("{commands}"))
    }

    /// Adds lines through all positions, with a gap at each `None`.
    pub(in crate::chart) fn through(&mut self, places: impl IntoIterator<Item = Option<(f64, f64)>>) -> &mut Self {
        let mut gap = true;
        for place in places {
            match place {
                Some((x, y)) if gap => self.start(x, y),
                Some((x, y)) => self.line(x, y),
                None => self,
            };
            gap = place.is_none();
        }
        self
    }

    /// Draws the path; empty if the path is empty.
    pub(in crate::chart) fn markup(&self, class: &str) -> Markup {
        html! {
            @if !self.0.is_empty() { path class=(class) d=(PreEscaped(&self.0)) {} }
        }
    }

    fn push(&mut self, part: fmt::Arguments<'_>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(part);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_short() {
        assert_eq!([1.0, 1.25, -0.04, 99.96, 0.1].map(|v| N(v).to_string()), ["1", "1.3", "0", "100", "0.1"]);
    }

    #[test]
    fn a_path_has_gaps_where_there_is_no_place() {
        let mut path = Path::default();
        path.through([Some((1.0, 2.0)), Some((3.0, 4.2)), None, Some((5.0, 6.0)), Some((4.0, 6.04))]);
        assert_eq!(path.markup("line").into_string(), r#"<path class="line" d="M1 2L3 4.2M5 6L4 6"></path>"#);
        assert_eq!(Path::default().markup("line").into_string(), "");
    }
}
