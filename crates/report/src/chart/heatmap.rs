//! A metric over two dimensions.

use litelab_model::metric::Unit;
use litelab_stats::Better;
use maud::Markup;

use super::{Chart, svg};

/// A table whose cells are shaded by their value, with the value written in them. Too many columns for the width are
/// continued below.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// What is shown: `throughput by profile and workers`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the cells measure: `throughput`.
    pub metric: String,
    /// Unit of all values; none for a ratio.
    pub unit: Option<Unit>,
    /// Which cell is outlined as the best; none where neither direction is better.
    pub better: Option<Better>,
    /// Levels from top to bottom.
    pub rows: Dimension,
    /// Levels from left to right.
    pub columns: Dimension,
    /// Row by row. A cell that is not there is drawn as missing.
    pub cells: Vec<Vec<Cell>>,
}

/// A dimension and its levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dimension {
    /// `workers`.
    pub name: String,
    /// `1`, `2`, `4`.
    pub levels: Vec<String>,
}

/// One combination.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Measured.
    Value {
        /// In the unit of the map.
        value: f64,
        /// More of it, shown when the cell is pointed at: the interval, the arm's name. May be empty.
        note: String,
    },
    /// Not measured; hatched.
    Missing {
        /// A word that stands in the cell: `skipped`, `failed`.
        word: String,
        /// Why, shown when the cell is pointed at.
        reason: String,
    },
}

impl Chart for Heatmap {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        self.summary.clone()
    }

    fn svg(&self, id: &str) -> Markup {
        svg::figure(self, id, 40.0, maud::html! {})
    }
}
