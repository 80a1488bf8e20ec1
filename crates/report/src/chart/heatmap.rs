//! Heat maps: a metric over two dimensions.

use litelab_model::metric::Unit;
use litelab_model::text::printable;
use litelab_stats::Better;
use maud::{Markup, html};

use super::draw::legend::{self, Entry, Sample};
use super::draw::scale::{Kind, Scale};
use super::draw::svg::{self, Anchor, WIDTH};
use super::draw::text;
use super::{Chart, say};

/// A table whose cells are shaded by their value and contain it as text. Columns that do not fit the width continue
/// below.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// Title: `throughput by profile and workers`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// Metric of the cells: `throughput`.
    pub metric: String,
    /// Unit of all values; `None` for a ratio.
    pub unit: Option<Unit>,
    /// Direction in which the metric improves, which selects the cell outlined as the best; `None` if neither is
    /// better.
    pub better: Option<Better>,
    /// Dimension with its levels from top to bottom.
    pub rows: Dimension,
    /// Dimension with its levels from left to right.
    pub columns: Dimension,
    /// Cells row by row. A cell without an entry is drawn as missing.
    pub cells: Vec<Vec<Cell>>,
}

/// A dimension and its levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dimension {
    /// Name of the dimension: `workers`.
    pub name: String,
    /// Levels of the dimension: `1`, `2`, `4`.
    pub levels: Vec<String>,
}

/// Cell of one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A measured value.
    Value {
        /// Value in the unit of the map.
        value: f64,
        /// Details, shown when the mouse points at the cell: the interval, the variant's name. May be empty.
        note: String,
    },
    /// No value; the cell is hatched.
    Missing {
        /// Text in the cell: `skipped`, `failed`.
        word: String,
        /// Reason, shown when the mouse points at the cell.
        reason: String,
    },
}

/// Number of shades between the lowest and the highest value.
const SHADES: usize = 7;
/// Ratio of the highest to the lowest value from which shades are spaced by factors, not by differences.
const BY_FACTORS: f64 = 10.0;
/// Largest width of the labels of rows; longer ones are wrapped.
const ROW_LABEL: f64 = 126.0;
/// Smallest and largest width of a cell.
const CELL: (f64, f64) = (34.0, 100.0);
/// Width up to which a cell grows for the label of its column, which is then wrapped.
const COLUMN_LABEL: f64 = 72.0;
/// Padding around the text of a cell.
const PADDING: f64 = 5.0;

/// Widths and columns of the map.
struct Layout {
    /// Width of the labels of rows.
    left: f64,
    cell: f64,
    /// Number of columns next to each other.
    columns: usize,
}

impl Chart for Heatmap {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let drawn = format!("{} by {} (rows) and {} (columns).", self.metric, self.rows.name, self.columns.name);
        let named = |at: Option<(usize, usize)>, word: &str| {
            let (row, column) = at?;
            let Cell::Value { value, .. } = self.cells.get(row)?.get(column)? else { return None };
            Some(format!("{word} {} at {}", say::value(*value, self.unit), self.place(row, column)))
        };
        let missing = self.places().filter(|(row, column)| self.value(*row, *column).is_none()).count();
        let missing =
            (missing > 0).then(|| format!("{} without a value", crate::number::counted(missing as u64, "cell")));
        let marks =
            [named(self.extreme(Better::Lower), "lowest"), named(self.extreme(Better::Higher), "highest"), missing];
        let marks: Vec<String> = marks.into_iter().flatten().collect();
        say::description(&self.summary, &drawn, marks.into_iter())
    }

    fn svg(&self, id: &str) -> Markup {
        if self.places().next().is_none() {
            return svg::empty(self, id);
        }
        let layout = self.layout();
        let hatch = format!("{}-hatch", svg::ident(id));
        let title = text::wrap(&self.heading(), WIDTH);
        let (legend, mut y) = self.legend(&hatch, title.len() as f64 * text::LINE + 4.0);
        let mut bands = Vec::new();
        for first in (0..self.columns.levels.len()).step_by(layout.columns) {
            let last = (first + layout.columns).min(self.columns.levels.len());
            let (band, end) = self.band(&layout, first..last, &hatch, y);
            bands.push(band);
            y = end + 10.0;
        }
        let inner = html! {
            defs {
                pattern id=(hatch) width="6" height="6" patternUnits="userSpaceOnUse" {
                    path class="hatch" d="M0 6L6 0" {}
                }
            }
            (svg::lines(0.0, 12.0, Anchor::Start, "title", &title))
            (legend)
            @for band in bands { (band) }
        };
        svg::figure(self, id, y, &inner)
    }
}

impl Heatmap {
    fn heading(&self) -> String {
        let unit = if self.unit.is_some() { "unit in each cell" } else { "×" };
        format!("{} ({unit}); rows: {}, columns: {}", self.metric, self.rows.name, self.columns.name)
    }

    /// Row and column of every combination, row by row.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns.levels.len();
        (0..self.rows.levels.len()).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    /// The value of a cell; `None` if it cannot be drawn.
    fn value(&self, row: usize, column: usize) -> Option<f64> {
        match self.cells.get(row)?.get(column)? {
            Cell::Value { value, .. } if Kind::Linear.places(*value) => Some(*value),
            Cell::Value { .. } | Cell::Missing { .. } => None,
        }
    }

    /// Row and column of the highest or the lowest value.
    fn extreme(&self, which: Better) -> Option<(usize, usize)> {
        let known = self.places().filter_map(|(row, column)| Some(((row, column), self.value(row, column)?)));
        let by = |a: &(_, f64), b: &(_, f64)| a.1.total_cmp(&b.1);
        match which {
            Better::Higher => known.max_by(by),
            Better::Lower => known.min_by(by),
        }
        .map(|(at, _)| at)
    }

    fn place(&self, row: usize, column: usize) -> String {
        let level = |dimension: &Dimension, at: usize| {
            format!("{} {}", dimension.name, dimension.levels.get(at).map_or("", String::as_str))
        };
        format!("{}, {}", level(&self.rows, row), level(&self.columns, column))
    }

    /// Text of a cell.
    fn text(&self, row: usize, column: usize) -> String {
        match (self.value(row, column), self.cells.get(row).and_then(|cells| cells.get(column))) {
            (Some(value), _) => say::value(value, self.unit),
            (None, Some(Cell::Missing { word, .. })) if !word.trim().is_empty() => word.clone(),
            _ => crate::number::NONE.into(),
        }
    }

    fn note(&self, row: usize, column: usize) -> String {
        let more = match self.cells.get(row).and_then(|cells| cells.get(column)) {
            Some(Cell::Value { note, .. }) => note,
            Some(Cell::Missing { reason, .. }) => reason,
            None => "not in the plan",
        };
        let more = if more.is_empty() { String::new() } else { format!("; {more}") };
        format!("{}: {}{more}", self.place(row, column), self.text(row, column))
    }

    fn layout(&self) -> Layout {
        let labels = self.rows.levels.iter().map(|level| text::bold_width(level)).fold(0.0, f64::max);
        let left = labels.min(ROW_LABEL) + 6.0;
        let texts = self.places().map(|(row, column)| text::bold_width(&self.text(row, column)));
        let labels = self.columns.levels.iter().map(|level| text::bold_width(level).min(COLUMN_LABEL));
        let need = texts.chain(labels).fold(CELL.0, f64::max).min(CELL.1) + 2.0 * PADDING;
        let room = WIDTH - left - 2.0;
        let fit = ((room / need).floor() as usize).max(1);
        // Bands with about equal numbers of columns look better than a full band and a remainder.
        let bands = self.columns.levels.len().div_ceil(fit).max(1);
        let columns = self.columns.levels.len().div_ceil(bands).max(1);
        Layout { left, cell: (room / columns as f64).min(CELL.1 + 2.0 * PADDING), columns }
    }

    fn band(&self, layout: &Layout, columns: std::ops::Range<usize>, hatch: &str, top: f64) -> (Markup, f64) {
        let best = self.better.and_then(|better| self.extreme(better));
        let room = layout.cell - 2.0 * PADDING;
        let heads: Vec<Vec<String>> =
            self.columns.levels[columns.clone()].iter().map(|level| text::wrap_bold(level, room)).collect();
        let head = heads.iter().map(Vec::len).max().unwrap_or(0) as f64 * text::LINE;
        let x = |column: usize| layout.left + (column - columns.start) as f64 * layout.cell;
        let mut y = top + head + 4.0;
        let mut rows = Vec::new();
        for (row, level) in self.rows.levels.iter().enumerate() {
            let label = text::wrap_bold(level, layout.left - 6.0);
            let texts: Vec<Vec<String>> =
                columns.clone().map(|column| text::wrap_bold(&self.text(row, column), room)).collect();
            let tallest = texts.iter().map(Vec::len).max().unwrap_or(0).max(label.len());
            let height = tallest as f64 * text::LINE + 14.0;
            let first = |lines: usize| y + height / 2.0 - (lines as f64 - 1.0) / 2.0 * text::LINE + 4.5;
            rows.push(html! {
                (svg::lines(layout.left - 6.0, first(label.len()), Anchor::End, "strong", &label))
                @for (column, lines) in columns.clone().zip(&texts) {
                    @let at = (x(column) + 1.0, y + 1.0);
                    @let size = (layout.cell - 2.0, height - 2.0);
                    @let widest = lines.iter().map(|line| text::bold_width(line)).fold(0.0, f64::max);
                    @let place = (x(column) + layout.cell / 2.0, first(lines.len()));
                    g {
                        title { (printable(&self.note(row, column))) }
                        @match self.value(row, column).map(|value| self.shade(value)) {
                            Some(shade) => {
                                (svg::rect(&format!("h{shade}"), at, size.0, size.1))
                                (svg::lines(place.0, place.1, Anchor::Middle, &format!("t{shade}"), lines))
                            }
                            None => {
                                (svg::hatched(hatch, at, size))
                                (svg::rect("paper", (place.0 - widest / 2.0 - 2.0, place.1 - 12.0),
                                    widest + 4.0, lines.len() as f64 * text::LINE))
                                (svg::lines(place.0, place.1, Anchor::Middle, "", lines))
                            }
                        }
                        @if best == Some((row, column)) {
                            (svg::rect("best", (at.0 + 1.0, at.1 + 1.0), size.0 - 2.0, size.1 - 2.0))
                        }
                    }
                }
            });
            y += height;
        }
        let markup = html! {
            @for (column, lines) in columns.clone().zip(&heads) {
                (svg::lines(x(column) + layout.cell / 2.0, top + head - (lines.len() as f64 - 1.0) * text::LINE - 4.0,
                    Anchor::Middle, "strong", lines))
            }
            @for row in rows { (row) }
        };
        (markup, y)
    }

    /// Index of the shade of a value; 0 is that of the lowest.
    fn shade(&self, value: f64) -> usize {
        let values = self.places().filter_map(|(row, column)| self.value(row, column));
        let Some((low, high)) = Kind::Linear.range(values).filter(|(low, high)| low < high) else { return SHADES / 2 };
        let by_factors = Kind::Logarithmic.places(low) && high / low >= BY_FACTORS;
        let kind = if by_factors { Kind::Logarithmic } else { Kind::Linear };
        let scale = Scale { kind, low, high, from: 0.0, to: SHADES as f64 };
        scale.at(value).map_or(0, |place| (place as usize).min(SHADES - 1))
    }

    /// Draws the shades from the lowest to the highest value, and the other marks.
    fn legend(&self, hatch: &str, top: f64) -> (Markup, f64) {
        let end = |which| self.extreme(which).map(|(row, column)| self.text(row, column)).unwrap_or_default();
        let (low, high) = (end(Better::Lower), end(Better::Higher));
        let begin = text::width(&low) + 6.0;
        let swatch = 14.0;
        let marks = begin + SHADES as f64 * swatch + 6.0;
        let missing = self.places().any(|(row, column)| self.value(row, column).is_none());
        let best = self.better.and_then(|better| self.extreme(better)).is_some();
        let entries: Vec<Entry> = [
            best.then(|| Entry::new(Sample::Area("best"), "best")),
            missing.then(|| Entry::new(Sample::Hatch(hatch.into()), "no value (point at the cell for the reason)")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let shades = if low.is_empty() { 0.0 } else { text::LINE + 4.0 };
        let (rest, end) = legend::legend(&entries, top + shades);
        let markup = html! {
            @if !low.is_empty() {
                (svg::label(0.0, top + 12.0, Anchor::Start, "", &low))
                @for shade in 0..SHADES {
                    (svg::rect(&format!("h{shade}"), (begin + shade as f64 * swatch, top + 1.0), swatch, 13.0))
                }
                (svg::label(marks, top + 12.0, Anchor::Start, "", &high))
            }
            (rest)
        };
        (markup, end)
    }
}
