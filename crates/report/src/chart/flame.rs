//! Where CPU time goes: call stacks beside each other, as a flame graph.

use litelab_model::text::printable;
use maud::{Markup, html};

use super::draw::svg::{self, Anchor, N, WIDTH};
use super::draw::{legend, text};
use super::{Chart, say};
use crate::number;

/// A flame graph. Every bar is a function as it was called from the one below it, as wide as its share of all samples;
/// what has nothing above it is where the time goes. From left to right stands the order given, not time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// What is shown: `CPU time by call stack, wal-full`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// In the order in which the description names them. Those narrower than [`Flame::LEAST`] and those higher than
    /// [`Flame::HIGHEST`] rows are cut.
    pub bars: Vec<Bar>,
}

/// A function as it was called from one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Short enough to be read in a bar; cut where it is not.
    pub label: String,
    /// Its whole name.
    pub name: String,
    /// Whether it is the kernel's.
    pub kernel: bool,
    /// Functions below it.
    pub depth: usize,
    /// Share of all samples to the left of it.
    pub from: f64,
    /// Its share of all samples, with what it called.
    pub share: f64,
    /// Its share without what it called.
    pub own: f64,
}

/// Class of the kernel's bars, and of all others; named once for all of them, for there are hundreds.
const CLASSES: [(bool, &str); 2] = [(false, "bar"), (true, "bar kernel")];
const ROW: f64 = 17.0;
/// Between bars beside each other.
const GAP: f64 = 0.6;
/// Free on both sides of a label.
const MARGIN: f64 = 3.0;
/// A label of fewer letters says nothing.
const LEAST_LETTERS: usize = 3;

impl Flame {
    /// The least share of a bar that is drawn: a narrower one has no room for a letter, and of some hundred samples it
    /// stands for one or two.
    pub const LEAST: f64 = 0.01;
    /// The most rows.
    pub const HIGHEST: usize = 64;

    fn drawn(&self) -> impl Iterator<Item = &Bar> {
        let placed = |bar: &&Bar| bar.from >= 0.0 && bar.share >= Self::LEAST && bar.from + bar.share <= 1.0 + 1e-9;
        self.bars.iter().filter(placed).filter(|bar| bar.depth < Self::HIGHEST)
    }
}

impl Chart for Flame {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let drawn =
            "a flame graph: each bar a function, upon the one that called it, as wide as its share of CPU time.";
        let leaf = |bar: &&Bar| bar.own >= Self::LEAST;
        let mut leaves: Vec<&Bar> = self.drawn().filter(leaf).collect();
        leaves.sort_by(|a, b| b.own.total_cmp(&a.own));
        let said = leaves.iter().map(|bar| format!("{} {} in itself", bar.named(), percent(bar.own)));
        say::description(&self.summary, drawn, said)
    }

    fn svg(&self, id: &str) -> Markup {
        let Some(rows) = self.drawn().map(|bar| bar.depth + 1).max() else { return svg::empty(self, id) };
        let mut entries = vec![legend::Entry::new(legend::Sample::Area(CLASSES[0].1), "program and libraries")];
        if self.drawn().any(|bar| bar.kernel) {
            entries.push(legend::Entry::new(legend::Sample::Area(CLASSES[1].1), "kernel (bold)"));
        }
        let (legend, top) = legend::legend(&entries, 0.0);
        let foot = top + rows as f64 * ROW;
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, percent(share)));
        let inner = html! {
            (legend)
            @for (kernel, class) in CLASSES {
                g class=(class) { @for bar in self.drawn().filter(|bar| bar.kernel == kernel) { (bar.area(foot)) } }
            }
            @for bar in self.drawn() { (bar.letters(foot)) }
            @for (share, tick) in &ticks {
                @let anchor = match share { 0.0 => Anchor::Start, 1.0 => Anchor::End, _ => Anchor::Middle };
                (svg::label(share * WIDTH, foot + 14.0, anchor, "tick", tick))
            }
            (svg::label(WIDTH, foot + 32.0, Anchor::End, "title", "share of the CPU time that was sampled (%)"))
        };
        svg::figure(self, id, foot + 38.0, &inner)
    }
}

impl Bar {
    fn named(&self) -> String {
        if self.kernel { format!("{} (kernel)", self.name) } else { self.name.clone() }
    }

    /// Its upper left corner, and its width; upon the line at `foot` if nothing is below it.
    fn place(&self, foot: f64) -> (f64, f64, f64) {
        let x = self.from * WIDTH;
        (x, foot - (self.depth + 1) as f64 * ROW, (self.share * WIDTH).min(WIDTH - x))
    }

    /// With its name and shares for who points at it.
    fn area(&self, foot: f64) -> Markup {
        let (x, y, wide) = self.place(foot);
        let own = if self.own > 0.0 { format!(", {} in itself", percent(self.own)) } else { String::new() };
        html! {
            rect x=(N(x)) y=(N(y)) width=(N((wide - GAP).max(GAP))) height=(N(ROW - 1.0)) {
                title { (printable(&format!("{}: {}{own}", self.named(), percent(self.share)))) }
            }
        }
    }

    fn letters(&self, foot: f64) -> Markup {
        let (x, y, wide) = self.place(foot);
        let (class, width): (_, fn(&str) -> f64) =
            if self.kernel { ("t4", text::bold_width) } else { ("", text::width) };
        html! {
            @if let Some(label) = fit(&self.label, wide - 2.0 * MARGIN, width) {
                (svg::label(x + MARGIN, y + 12.0, Anchor::Start, class, &label))
            }
        }
    }
}

/// To a tenth of a percent: of some hundred samples no more is known.
fn percent(share: f64) -> String {
    number::percent((share * 1000.0).round() / 1000.0)
}

/// As much of a label as has room; none where that is next to nothing.
fn fit(label: &str, room: f64, width: fn(&str) -> f64) -> Option<String> {
    let mut label = printable(label).into_owned();
    if width(&label) <= room {
        return Some(label).filter(|label| !label.trim().is_empty());
    }
    // What most of its functions have in common tells none of them apart.
    if let Some(rest) = label.strip_prefix("sqlite3").filter(|rest| !rest.is_empty()) {
        label = format!("…{rest}");
        if width(&label) <= room {
            return Some(label);
        }
    }
    let room = room - width("…");
    let mut cut = String::new();
    for c in label.chars() {
        cut.push(c);
        if width(&cut) > room {
            cut.pop();
            break;
        }
    }
    (cut.chars().count() >= LEAST_LETTERS).then(|| format!("{cut}…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::tests::sound;

    fn bar(label: &str, depth: usize, from: f64, share: f64) -> Bar {
        Bar { label: label.into(), name: label.into(), depth, from, share, own: share / 2.0, ..Bar::default() }
    }

    #[test]
    fn a_bar_stands_upon_its_caller_and_narrow_ones_are_cut() {
        let narrow = bar("narrow", 1, 0.7, Flame::LEAST * 0.9);
        let high = bar("high", Flame::HIGHEST, 0.0, 0.5);
        let kernel = Bar { kernel: true, ..bar("fcntl_setlk", 2, 0.0, 0.25) };
        let chart = Flame {
            title: "f".into(),
            bars: vec![bar("main", 0, 0.0, 1.0), bar("step", 1, 0.0, 0.5), kernel, narrow, high],
            ..Flame::default()
        };
        let svg = chart.svg("f").into_string();
        sound::check(&svg).unwrap_or_else(|wrong| panic!("{wrong}: {svg}"));
        assert_eq!(svg.matches("<rect").count(), 2 + 3, "two of the legend, three bars: {svg}");
        assert!(svg.contains("fcntl_setlk (kernel): 25 %, 12.5 % in itself") && !svg.contains("narrow"), "{svg}");
        let top = |name: &str| -> f64 {
            let (before, _) = svg.split_once(&format!("<title>{name}")).unwrap_or_else(|| panic!("{name}: {svg}"));
            before
                .rsplit(" y=\"")
                .next()
                .unwrap_or_default()
                .split('"')
                .next()
                .unwrap_or_default()
                .parse()
                .unwrap_or(0.0)
        };
        assert_eq!((top("main") - top("step"), top("step") - top("fcntl_setlk")), (ROW, ROW), "{svg}");
        assert!(chart.description().contains("main 50 % in itself; step 25 % in itself"), "{}", chart.description());
    }

    #[test]
    fn nothing_sampled_is_said() {
        assert!(Flame::default().svg("f").into_string().contains(svg::NOTHING));
    }

    #[test]
    fn a_label_is_cut_to_its_room() {
        assert_eq!(fit("abcdef", 100.0, text::width).as_deref(), Some("abcdef"));
        let cut = fit("abcdefghij", 50.0, text::width).unwrap_or_default();
        assert!(cut.starts_with("abc") && cut.ends_with('…') && text::width(&cut) <= 50.0, "{cut}");
        assert_eq!(fit("abcdef", 20.0, text::width), None);
        assert_eq!(fit("sqlite3VdbeExec", 90.0, text::width).as_deref(), Some("…VdbeExec"));
        assert_eq!(fit("abcdef", -1.0, text::width), None);
    }
}
