//! Ratios with their intervals, one row each, on a logarithmic axis.

use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::scale::{Kind, Scale};
use super::draw::svg::{self, Anchor, Path, WIDTH};
use super::draw::{mark, text};
use super::{Chart, Reading, say};
use crate::number;
use crate::style::Tone;

/// A forest plot: the line at 1 says "no difference", the shaded band "a difference that does not matter".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// What is shown: `throughput against the baseline`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the axis measures: `throughput, ratio to journal_mode=delete`. The unit × is added.
    pub axis: String,
    /// Ends of the band of differences that do not matter, such as (1/1.05, 1.05); none where none was set.
    pub band: Option<(f64, f64)>,
    /// What a ratio below 1 and above 1 means, such as ("slower", "faster"); none where neither is better.
    pub sides: Option<(String, String)>,
    /// From top to bottom.
    pub rows: Vec<ForestRow>,
}

/// One ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// What is compared; long ones are wrapped.
    pub label: String,
    /// The ratio; or why there is none, in a few words. A ratio without an interval is not drawn either.
    pub ratio: Result<Reading, String>,
    /// What it shows.
    pub verdict: Option<Verdict>,
    /// Blocks behind it.
    pub blocks: u32,
}

/// A verdict as it is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Stands before the word, and says the same: `▲`.
    pub glyph: String,
    /// `faster`.
    pub word: String,
    /// Chooses the colour.
    pub tone: Tone,
}

/// Height of a lane, which two lines of text fill.
const LANE: f64 = 36.0;
/// Between a label and its lane, and below it.
const GAP: f64 = 4.0;
/// Least distance from the middle to the ends of the axis, as a factor.
const LEAST: f64 = 1.1;
/// Intervals reach at most this many times as far from 1, on the logarithmic axis, as the farthest ratio: one wide
/// interval is not to squeeze all others.
const REACH: f64 = 2.5;

impl Chart for Forest {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let rows = self.rows.iter().map(ForestRow::sentence);
        say::description(&self.summary, &format!("{} on a logarithmic axis.", self.axis), rows)
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
        let mut y = 0.0;
        let rows: Vec<Markup> = self
            .rows
            .iter()
            .zip(&notes)
            .map(|(row, notes)| {
                let (markup, end) =
                    self.row(row, notes, &scale, right, &ticks.iter().map(|t| t.place).collect::<Vec<_>>(), y);
                y = end;
                markup
            })
            .collect();
        let (sides, below) = self.sides(right, y + 30.0);
        let title = text::wrap(&axis.title(&ticks), WIDTH);
        let end = below + title.len() as f64 * text::LINE - 6.0;
        let inner = html! {
            @for row in rows { (row) }
            @for tick in &ticks { (svg::label(tick.middle(), y + 12.0, Anchor::Middle, "tick", &tick.label)) }
            (sides)
            (svg::lines(0.0, below, Anchor::Start, "title", &title))
        };
        svg::figure(self, id, end, &inner)
    }
}

impl Forest {
    /// From the lowest to the highest value on the axis: 1, the band, all ratios, and of their intervals what does not
    /// squeeze the rest.
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

    /// What lies on either side of 1, from this baseline on; and the next baseline.
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

    fn row(
        &self,
        row: &ForestRow,
        notes: &[Vec<String>; 2],
        scale: &Scale,
        right: f64,
        ticks: &[f64],
        top: f64,
    ) -> (Markup, f64) {
        let blocks = number::counted(row.blocks, "block");
        let label = text::wrap_bold(&row.label, WIDTH - text::width(&blocks) - 12.0);
        let above = label.len().max(1) as f64;
        let reason = row.drawn().err().map(|reason| text::wrap(&reason, right - 8.0)).unwrap_or_default();
        let noted = notes.iter().map(Vec::len).sum::<usize>();
        let lane = top + above * text::LINE + GAP;
        let height = LANE.max(noted.max(reason.len()) as f64 * text::LINE + 4.0);
        let middle = lane + height / 2.0;
        let mut grid = Path::default();
        for place in ticks {
            grid.start(*place, lane).down(lane + height);
        }
        let mut one = Path::default();
        if let Some(place) = scale.at(1.0) {
            one.start(place, lane).down(lane + height);
        }
        let band = self.band.and_then(|(low, high)| Some((scale.at(low)?, scale.at(high)?)));
        let tone = row.verdict.as_ref().map_or(Tone::Plain, |verdict| verdict.tone);
        let mut whisker = Path::default();
        let mut point = Path::default();
        if let Ok(reading) = row.drawn() {
            mark::lying_whisker(&mut whisker, middle, reading, scale);
            if let Some(x) = scale.at(reading.value) {
                mark::shape(&mut point, shape(tone), (x, middle));
            }
        }
        let first = middle - (noted as f64 - 1.0) / 2.0 * text::LINE + 4.5;
        let markup = html! {
            (svg::lines(0.0, top + 12.0, Anchor::Start, "strong", &label))
            (svg::label(WIDTH, lane - GAP - 4.0, Anchor::End, "dim", &blocks))
            (svg::rect("lane", (0.0, lane), right, height))
            @if let Some((low, high)) = band.filter(|(low, high)| low <= high) {
                (svg::rect("band", (low, lane), high - low, height))
            }
            (grid.markup("grid"))
            (one.markup("one"))
            (whisker.markup(&format!("whisker {}", say::tone(tone))))
            (point.markup(&format!("mark {}", say::tone(tone))))
            (svg::lines(4.0, middle - (reason.len() as f64 - 1.0) / 2.0 * text::LINE + 4.5, Anchor::Start, "dim", &reason))
            (svg::lines(right + 8.0, first, Anchor::Start, &format!("strong {}", say::tone(tone)), &notes[0]))
            (svg::lines(right + 8.0, first + notes[0].len() as f64 * text::LINE, Anchor::Start, "", &notes[1]))
        };
        (markup, lane + height + 10.0)
    }
}

/// Width of what stands to the right of a lane, at most.
const NOTES: f64 = 170.0;

impl ForestRow {
    /// What is drawn, or why nothing is.
    fn drawn(&self) -> Result<&Reading, String> {
        let reading = self.ratio.as_ref().map_err(Clone::clone)?;
        if !Kind::Logarithmic.places(reading.value) {
            return Err("not a ratio that can be drawn".into());
        }
        reading.range.filter(|(low, high)| low <= high).map(|_| reading).ok_or_else(|| "no interval".into())
    }

    /// Verdict, and the ratio in figures.
    fn notes(&self) -> [Vec<String>; 2] {
        let verdict = self.verdict.as_ref().map(|verdict| format!("{} {}", verdict.glyph, verdict.word));
        let figures = self.drawn().map(say::ratio).unwrap_or_default();
        [text::wrap_bold(&verdict.unwrap_or_default(), NOTES), text::wrap(&figures, NOTES)]
    }

    fn sentence(&self) -> String {
        let verdict = self.verdict.as_ref().map(|verdict| format!("{}, ", verdict.word)).unwrap_or_default();
        let what = self.drawn().map_or_else(|reason| reason, say::ratio);
        format!("{}: {verdict}{what}, {}", self.label, number::counted(self.blocks, "block"))
    }
}

/// Shapes say what colours say.
fn shape(tone: Tone) -> usize {
    match tone {
        Tone::Good => 0,
        Tone::Bad => 1,
        Tone::Warn => 2,
        Tone::Plain | Tone::Strong | Tone::Dim => 3,
    }
}
