//! Flame graphs of CPU time, drawn by inferno.

use inferno::flamegraph::color::{BasicPalette, Palette};
use inferno::flamegraph::{self, Options};
use litelab_model::text::printable;
use litelab_record::stacks::{Leaf, Stacks};
use maud::{Markup, PreEscaped, html};

use super::draw::svg::{self, Anchor, N, WIDTH};
use super::{Chart, say};
use crate::{number, symbol};

/// A flame graph. Every bar is a function called from the one below it, as wide as its share of all samples; a bar with
/// nothing above it is where the time is spent. Callees are ordered by name, not by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// Title: `CPU time by call stack, wal-full`.
    pub title: String,
    /// Sampled call stacks. Bars narrower than [`Flame::LEAST`] are not drawn.
    pub stacks: Stacks,
}

/// Free width on both sides of inferno's bars.
const MARGIN: usize = 10;
/// Free height above inferno's bars that is cut off, except for a few units.
const ABOVE: f64 = 30.0;
/// Limit of the number of samples, above any run's; larger sums could overflow.
const MOST_SAMPLES: u64 = 1 << 40;

impl Flame {
    /// Smallest share of a bar that is drawn. A narrower one has no room for a letter, and of a few hundred samples it
    /// represents one or two.
    pub const LEAST: f64 = 0.01;

    /// The bars that inferno draws, and the height of its picture. The markup around them is dropped, because the
    /// page's content security policy allows neither its style nor its script.
    fn bars(&self) -> Option<(String, f64)> {
        if !(1..MOST_SAMPLES).contains(&self.stacks.samples()) {
            return None;
        }
        let mut options = Options::default();
        options.colors = Palette::Basic(BasicPalette::Aqua);
        options.deterministic = true;
        options.image_width = Some(WIDTH as usize + 2 * MARGIN);
        options.min_width = 100.0 * Self::LEAST;
        // Width of DejaVu Sans Mono, one of the widest fonts in use.
        options.font_width = 0.61;
        let lines: Vec<String> = self.stacks.folded().lines().map(line).collect();
        let mut picture = Vec::new();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture).ok()?;
        let picture = String::from_utf8(picture).ok()?;
        let (head, rest) = picture.split_once("<svg id=\"frames\"")?;
        let (_, height) = head.split_once("height=\"")?;
        let (_, bars) = rest.split_once('>')?;
        Some((bars.strip_suffix("</svg></svg>")?.to_owned(), height.split('"').next()?.parse().ok()?))
    }

    fn percent(&self, samples: u64) -> String {
        // Rounded to a tenth of a percent, the precision of a few hundred samples.
        number::percent((1000.0 * samples as f64 / self.stacks.samples() as f64).round() / 1000.0)
    }
}

impl Chart for Flame {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let drawn =
            "a flame graph: each bar a function, upon the one that called it, as wide as its share of CPU time.";
        let least = Self::LEAST * self.stacks.samples() as f64;
        let leaf = |leaf: &Leaf| leaf.own > 0 && leaf.own as f64 >= least;
        let leaves: Vec<Leaf> = self.stacks.functions().into_iter().filter(leaf).collect();
        let said = leaves.iter().map(|leaf| format!("{} {} in itself", name(&leaf.name), self.percent(leaf.own)));
        say::description("", drawn, said)
    }

    fn svg(&self, id: &str) -> Markup {
        let Some((bars, height)) = self.bars() else { return svg::empty(self, id) };
        let inner = html! {
            (PreEscaped(format!(
                "<svg class=\"flame\" aria-hidden=\"true\" xmlns:fg=\"http://github.com/jonhoo/inferno\" y=\"{}\" width=\"{}\" height=\"{}\">{bars}</svg>",
                N(-ABOVE), N(WIDTH), N(height),
            )))
            (svg::label(WIDTH, height - ABOVE - 14.0, Anchor::End, "title", "share of the CPU time that was sampled (%)"))
        };
        svg::figure(self, id, height - ABOVE, &inner)
    }
}

/// A folded line with names short enough for a bar.
fn line(folded: &str) -> String {
    let (stack, count) = folded.rsplit_once(' ').unwrap_or((folded, ""));
    let names: Vec<String> = stack.split(';').map(name).collect();
    // inferno parses the text after a space as the count.
    format!("{} {count}", printable(&names.join(";")).replace(' ', "\u{a0}"))
}

/// Short name of a frame.
fn name(frame: &str) -> String {
    symbol::of_frame(frame, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_stands_upon_its_caller_and_narrow_ones_are_cut() {
        let folded = "main;step;fcntl_setlk_[k] 250\nmain;step 250\nmain;worker 3 495\nmain;narrow 5\n";
        let chart = Flame { title: "f".into(), stacks: Stacks::parse(folded, 199) };
        let svg = chart.svg("f").into_string();
        let document = roxmltree::Document::parse(&svg).unwrap_or_else(|wrong| panic!("{wrong}: {svg}"));
        assert_eq!(svg.matches("<rect").count(), 5, "all of them, main, step, worker 3, and the kernel's: {svg}");
        let top = |name: &str| -> f64 {
            let title = document.descendants().find(|node| node.text().is_some_and(|text| text.starts_with(name)));
            let rect = title.and_then(|title| title.next_sibling()).unwrap_or_else(|| panic!("{name}: {svg}"));
            rect.attribute("y").and_then(|y| y.parse().ok()).unwrap_or_default()
        };
        assert_eq!(top("main") - top("step"), top("step") - top("fcntl_setlk\u{a0}(kernel) (250 samples, 25.00%)"));
        assert_eq!(top("worker\u{a0}3 (495 samples, 49.50%)"), top("step"), "a number in a name is no count");
        assert_eq!(svg, chart.svg("f").into_string(), "the same stacks give the same picture");
        let said = chart.description();
        assert!(said.contains("fcntl_setlk (kernel) 25 % in itself") && !said.contains("narrow"), "{said}");
    }
}
