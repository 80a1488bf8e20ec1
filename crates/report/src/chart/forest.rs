//! Forest plots: ratios with their intervals, one row each, on a logarithmic axis.

use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::scale::{Kind, Scale};
use super::draw::svg::{self, Anchor, Path, WIDTH};
use super::draw::{mark, text};
use super::{Chart, Reading, say};
use crate::number;
use crate::style::Tone;

/// A forest plot: the line at 1 means "no difference", the shaded band "a difference that does not matter".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// Title: `throughput against the baseline`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// Quantity of the axis: `throughput, ratio to journal_mode=delete`. The unit × is added.
    pub axis: String,
    /// Ends of the band of differences that do not matter, such as (1/1.05, 1.05); `None` without a tolerance.
    pub band: Option<(f64, f64)>,
    /// Meaning of a ratio below 1 and above 1, such as ("slower", "faster"); `None` if neither is better.
    pub sides: Option<(String, String)>,
    /// Rows from top to bottom.
    pub rows: Vec<ForestRow>,
}

/// One ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// Label of the comparison; a long one is wrapped.
    pub label: String,
    /// The ratio, or the reason in a few words for which there is none. A ratio without an interval is not drawn.
    pub ratio: Result<Reading, String>,
    /// Verdict on the ratio.
    pub verdict: Option<Verdict>,
    /// Number of rounds of the ratio.
    pub rounds: u32,
}

/// A verdict as printed in the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Symbol before the word, with the same meaning: `▲`.
    pub glyph: String,
    /// The verdict in a word: `faster`.
    pub word: String,
    /// Tone that selects the colour.
    pub tone: Tone,
}

/// Height of a lane, enough for two lines of text.
const LANE: f64 = 36.0;
/// Number of rows above which the axis has labels at the top as well.
const LONG: usize = 8;
/// Distance between a label and the lane below it.
const GAP: f64 = 4.0;
/// Least distance from 1 to the ends of the axis, as a factor.
const LEAST: f64 = 1.1;
/// Limit of intervals: this many times as far from 1, on the logarithmic axis, as the farthest ratio. One wide interval
/// must not squeeze all others.
const REACH: f64 = 2.5;

impl Chart for Forest {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let common = self.common_rounds();
        let each = common.map(|rounds| format!(", {} each", number::counted(rounds, "round"))).unwrap_or_default();
        let rows = self.rows.iter().map(|row| row.sentence(common.is_none()));
        say::description(&self.summary, &format!("{} on a logarithmic axis{each}.", self.axis), rows)
    }

    fn svg(&self, id: &str) -> Markup {
        if self.rows.is_empty() {
            return svg::empty(self, id);
        }
        let axis = Axis::ratios(&self.axis, self.range());
        let notes: Vec<[Vec<String>; 2]> = self.rows.iter().map(ForestRow::notes).collect();
        let widest = notes.iter().flatten().flatten().map(|line| text::bold_width(line)).fold(0.0, f64::max);
        let right = WIDTH - widest - 12.0;
        let scale = axis.scale(8.0, right - 8.0);
        let ticks = axis.ticks_across(&scale);
        let labels = |baseline: f64| {
            svg::labels("tick", Anchor::Middle, ticks.iter().map(|tick| (tick.middle(), baseline, tick.label.as_str())))
        };
        let long = self.rows.len() > LONG;
        let mut y = if long { text::LINE + 4.0 } else { 0.0 };
        let mut ground = Ground::new(scale, right, self.band, ticks.iter().map(|tick| tick.place).collect());
        let common = self.common_rounds();
        let mut rows = Vec::new();
        for (row, notes) in self.rows.iter().zip(&notes) {
            let (markup, end) = row.markup(&mut ground, notes, common.is_none(), y);
            rows.push(markup);
            y = end;
        }
        let (sides, below) = self.sides(right, y + 30.0);
        let each = common.map(|rounds| format!("{} each", number::counted(rounds, "round")));
        let mut title = axis.title(&ticks);
        let mut below_title = Vec::new();
        match each {
            Some(each) if text::width(&title) + text::width(&each) + 12.0 <= WIDTH => {
                title.push_str(&format!("; {each}"))
            }
            each => below_title.extend(each),
        }
        let title: Vec<String> = text::wrap(&title, WIDTH).into_iter().chain(below_title).collect();
        let end = below + title.len() as f64 * text::LINE - 6.0;
        let inner = html! {
            (ground.markup())
            @if long { (labels(12.0)) }
            @for row in rows { (row) }
            (labels(y + 12.0))
            (sides)
            (svg::lines(0.0, below, Anchor::Start, "title", &title))
        };
        svg::figure(self, id, end, &inner)
    }
}

/// Background of all rows, drawn below their marks.
struct Ground {
    scale: Scale,
    right: f64,
    /// Positions of the ends of the band.
    band: Option<(f64, f64)>,
    ticks: Vec<f64>,
    lanes: Path,
    bands: Path,
    grid: Path,
    one: Path,
}

impl Ground {
    fn new(scale: Scale, right: f64, band: Option<(f64, f64)>, ticks: Vec<f64>) -> Self {
        let band = band.and_then(|(low, high)| Some((scale.at(low)?, scale.at(high)?)));
        let path = Path::default;
        let band = band.filter(|(low, high)| low <= high);
        Self { scale, right, band, ticks, lanes: path(), bands: path(), grid: path(), one: path() }
    }

    fn lane(&mut self, top: f64, bottom: f64) {
        self.lanes.area((0.0, top), (self.right, bottom));
        if let Some((low, high)) = self.band {
            self.bands.area((low, top), (high, bottom));
        }
        for place in &self.ticks {
            self.grid.start(*place, top).down(bottom);
        }
        if let Some(place) = self.scale.at(1.0) {
            self.one.start(place, top).down(bottom);
        }
    }

    fn markup(&self) -> Markup {
        html! {
            (self.lanes.markup("lane")) (self.bands.markup("band")) (self.grid.markup("grid")) (self.one.markup("one"))
        }
    }
}

impl Forest {
    /// Number of rounds of every row, if there are several rows and all have the same number, which is then printed
    /// once.
    fn common_rounds(&self) -> Option<u32> {
        let first = self.rows.first()?.rounds;
        (self.rows.len() > 1 && self.rows.iter().all(|row| row.rounds == first)).then_some(first)
    }

    /// Lowest and highest value of the axis: it contains 1, the band, all ratios, and their intervals as far as
    /// [`REACH`].
    fn range(&self) -> (f64, f64) {
        let drawn: Vec<&Reading> = self.rows.iter().filter_map(|row| row.drawn().ok()).collect();
        let band = self.band.iter().flat_map(|(low, high)| [*low, *high]);
        let core = drawn.iter().map(|reading| reading.value).chain(band).chain([1.0 / LEAST, LEAST]);
        let (low, high) = Kind::Logarithmic.range(core).unwrap_or((1.0 / LEAST, LEAST));
        let reach = REACH * low.log10().abs().max(high.log10().abs());
        let most = 10_f64.powf(reach.min(99.0));
        let ends = drawn.iter().filter_map(|reading| reading.range).flat_map(|(low, high)| [low, high]);
        let ends = ends.map(|end| end.clamp(1.0 / most, most));
        let (low, high) = Kind::Logarithmic.range(ends.chain([low, high])).unwrap_or((low, high));
        (low / 1.02, high * 1.02)
    }

    /// Draws the meaning of either side of 1, from this baseline on; returns also the next baseline.
    fn sides(&self, right: f64, baseline: f64) -> (Markup, f64) {
        let Some((low, high)) = &self.sides else { return (Markup::default(), baseline) };
        let ends = [format!("← {low}"), format!("{high} →")];
        if text::width(&ends[0]) + text::width(&ends[1]) + 12.0 <= right {
            let markup = html! {
                (svg::label(0.0, baseline, Anchor::Start, "dim", &ends[0]))
                (svg::label(right, baseline, Anchor::End, "dim", &ends[1]))
            };
            return (markup, baseline + text::LINE);
        }
        let lines: Vec<String> = ends.iter().flat_map(|end| text::wrap(end, WIDTH)).collect();
        (svg::lines(0.0, baseline, Anchor::Start, "dim", &lines), baseline + lines.len() as f64 * text::LINE)
    }
}

/// Largest width of the notes to the right of a lane.
const NOTES: f64 = 190.0;

impl ForestRow {
    /// The reading to draw, or the reason for which none is drawn.
    fn drawn(&self) -> Result<&Reading, String> {
        let reading = self.ratio.as_ref().map_err(Clone::clone)?;
        if !Kind::Logarithmic.places(reading.value) {
            return Err("not a ratio that can be drawn".into());
        }
        reading.range.filter(|(low, high)| low <= high).map(|_| reading).ok_or_else(|| "no interval".into())
    }

    /// Draws the row from `top` on; returns also the position of the next row.
    fn markup(&self, ground: &mut Ground, notes: &[Vec<String>; 2], with_rounds: bool, top: f64) -> (Markup, f64) {
        let rounds = if with_rounds { number::counted(self.rounds, "round") } else { String::new() };
        let label = text::wrap_bold(&self.label, WIDTH - text::width(&rounds) - 12.0);
        let reason = self.drawn().err().map(|reason| text::wrap(&reason, ground.right - 8.0)).unwrap_or_default();
        let noted = notes.iter().map(Vec::len).sum::<usize>();
        let lane = top + label.len().max(usize::from(with_rounds)) as f64 * text::LINE + GAP;
        let height = LANE.max(noted.max(reason.len()) as f64 * text::LINE + 4.0);
        ground.lane(lane, lane + height);
        let middle = lane + height / 2.0;
        let first = |lines: usize| middle - (lines as f64 - 1.0) / 2.0 * text::LINE + 4.5;
        let tone = self.verdict.as_ref().map_or(Tone::Plain, |verdict| verdict.tone);
        let drawn = self.drawn().ok();
        let whiskers = mark::lying_whiskers(drawn.map(|reading| (middle, reading)), &ground.scale);
        let points = drawn.and_then(|reading| Some((ground.scale.at(reading.value)?, middle)));
        let class = say::tone(tone);
        let notes_at = ground.right + 8.0;
        let markup = html! {
            (svg::lines(0.0, top + 12.0, Anchor::Start, "strong", &label))
            @if with_rounds { (svg::label(WIDTH, lane - GAP - 4.0, Anchor::End, "dim", &rounds)) }
            (whiskers.markup(&format!("whisker {class}")))
            (mark::shapes(shape(tone), points).markup(&format!("mark {class}")))
            (svg::lines(4.0, first(reason.len()), Anchor::Start, "dim", &reason))
            (svg::lines(notes_at, first(noted), Anchor::Start, &format!("strong {class}"), &notes[0]))
            (svg::lines(notes_at, first(noted) + notes[0].len() as f64 * text::LINE, Anchor::Start, "", &notes[1]))
        };
        (markup, lane + height + 10.0)
    }

    /// The verdict, and the ratio in figures.
    fn notes(&self) -> [Vec<String>; 2] {
        let verdict = self.verdict.as_ref().map(|verdict| format!("{} {}", verdict.glyph, verdict.word));
        let figures = self.drawn().map(say::ratio).unwrap_or_default();
        [text::wrap_bold(&verdict.unwrap_or_default(), NOTES), text::wrap(&figures, NOTES)]
    }

    fn sentence(&self, with_rounds: bool) -> String {
        let verdict = self.verdict.as_ref().map(|verdict| format!("{}, ", verdict.word)).unwrap_or_default();
        let what = self.drawn().map_or_else(|reason| reason, say::ratio);
        let rounds = if with_rounds { format!(", {}", number::counted(self.rounds, "round")) } else { String::new() };
        format!("{}: {verdict}{what}{rounds}", self.label)
    }
}

/// Shape that carries the same meaning as the colour.
fn shape(tone: Tone) -> usize {
    match tone {
        Tone::Good => 0,
        Tone::Bad => 1,
        Tone::Warn => 2,
        Tone::Plain | Tone::Strong | Tone::Dim => 3,
    }
}
