//! A table, independent of the format, and its division into tables that fit a width.

use unicode_width::UnicodeWidthStr;

use crate::style::Tone;

/// Number of blanks between two columns.
pub(crate) const GAP: usize = 2;
/// Width to which a key column is wrapped if the table does not fit.
const KEY_WIDTH: usize = 24;

/// Rows and columns of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Number of key columns: the first columns, which identify a row. Every part of a divided table repeats them.
    pub keys: usize,
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Rows, with one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// Column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Title of the column.
    pub title: String,
    /// Alignment of its cells.
    pub align: Align,
    /// Group of the column; columns of one group are kept together if there is room.
    pub group: u8,
}

/// Alignment of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, for texts.
    Left,
    /// Right, for numbers.
    Right,
}

/// Cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Text of one line.
    pub text: String,
    /// Tone of the text.
    pub tone: Tone,
}

impl Cell {
    /// Creates a cell in a tone.
    #[must_use]
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: super::clean(&text.into()), tone }
    }

    /// Creates a plain cell.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }
}

impl Column {
    /// Creates a column of texts.
    #[must_use]
    pub fn left(title: impl Into<String>, group: u8) -> Self {
        Self { title: super::clean(&title.into()), align: Align::Left, group }
    }

    /// Creates a column of numbers.
    #[must_use]
    pub fn right(title: impl Into<String>, group: u8) -> Self {
        Self { align: Align::Right, ..Self::left(title, group) }
    }
}

impl Table {
    /// Width of a column's widest cell or of its title.
    #[must_use]
    pub fn width_of(&self, column: usize) -> usize {
        let title = self.columns.get(column).map_or(0, |c| c.title.width());
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0).max(title)
    }

    /// Width of the whole table.
    #[must_use]
    pub fn width(&self) -> usize {
        (0..self.columns.len()).map(|column| self.width_of(column) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// Divides the table into tables that fit `width` and contain all columns together: one table if possible, else one
    /// per group of columns, else more. The renderer wraps a column that is too wide alone.
    #[must_use]
    pub fn fit(&self, width: usize) -> Vec<Table> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|c| self.width_of(c)).collect();
        let keys = self.keys.min(self.columns.len());
        if self.width() <= width {
            return vec![self.clone()];
        }
        let of_keys: usize = widths[..keys].iter().map(|w| w.min(&KEY_WIDTH) + GAP).sum();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let (mut left, mut group) = (0, None);
        for (column, described) in self.columns.iter().enumerate().skip(keys) {
            // A group begins where there is room for all of it.
            let together = self.columns.iter().zip(&widths).skip(keys).filter(|(c, _)| c.group == described.group);
            let needed = match group == Some(described.group) {
                true => widths[column] + GAP,
                false => together.map(|(_, w)| w + GAP).sum(),
            };
            let needed_here = widths[column] + GAP;
            match parts.last_mut().filter(|_| needed <= left) {
                Some(part) => part.push(column),
                None => {
                    parts.push(vec![column]);
                    left = (width + GAP).saturating_sub(of_keys);
                }
            }
            left = left.saturating_sub(needed_here);
            group = Some(described.group);
        }
        if parts.is_empty() {
            return vec![self.clone()];
        }
        parts.iter().map(|columns| self.part(keys, columns).without_empty_rows(keys)).collect()
    }

    /// Removes rows that are empty in the columns of this part.
    fn without_empty_rows(mut self, keys: usize) -> Table {
        self.rows.retain(|row| row.iter().skip(keys).any(|cell| !cell.text.is_empty()));
        self
    }

    /// The table of the keys and these columns.
    pub(crate) fn part(&self, keys: usize, columns: &[usize]) -> Table {
        let pick = |column: &usize| self.columns[*column].clone();
        let chosen: Vec<usize> = (0..keys).chain(columns.iter().copied()).collect();
        let row = |row: &Vec<Cell>| chosen.iter().map(|c| row.get(*c).cloned().unwrap_or_default()).collect();
        Table { keys, columns: chosen.iter().map(pick).collect(), rows: self.rows.iter().map(row).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [("variant", 0), ("aaaa", 1), ("bbbb", 1), ("cccc", 2), ("dddd", 2)];
        Table {
            keys: 1,
            columns: columns.map(|(title, group)| Column::left(title, group)).to_vec(),
            rows: vec![["x", "1", "2", "3", "4"].map(Cell::plain).to_vec()],
        }
    }

    fn titles(width: usize) -> Vec<String> {
        let join = |t: &Table| t.columns.iter().map(|c| c.title.as_str()).collect::<Vec<_>>().join(" ");
        table().fit(width).iter().map(join).collect()
    }

    #[test]
    fn a_table_is_cut_between_groups_first() {
        assert_eq!(titles(31), ["variant aaaa bbbb cccc dddd"]);
        assert_eq!(titles(30), ["variant aaaa bbbb", "variant cccc dddd"]);
        assert_eq!(titles(19), ["variant aaaa bbbb", "variant cccc dddd"]);
        assert_eq!(titles(18), ["variant aaaa", "variant bbbb", "variant cccc", "variant dddd"]);
        assert_eq!(titles(0), ["variant aaaa", "variant bbbb", "variant cccc", "variant dddd"]);
    }

    #[test]
    fn no_column_is_lost_and_nothing_panics() {
        assert_eq!(Table::default().fit(10), [Table::default()]);
        for width in 0..40 {
            let cut: usize = table().fit(width).iter().map(|t| t.columns.len() - 1).sum();
            assert_eq!(cut, 4, "{width}");
        }
    }

    #[test]
    fn cells_hold_no_control_characters() {
        assert_eq!(Cell::plain("a\u{1b}[31m\nb\t c").text, "a [31m b c");
    }
}
