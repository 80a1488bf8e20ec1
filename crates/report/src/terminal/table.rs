//! Tables without borders.

use comfy_table::{Cell as ComfyCell, CellAlignment, ContentArrangement, Row, Table as ComfyTable, presets};

use crate::document::{Align, Table};
use crate::style::{Style, Tone};

/// Lines of a table. A column that is too wide is wrapped.
pub(super) fn lines(table: &Table, style: Style) -> Vec<String> {
    if table.columns.is_empty() {
        return Vec::new();
    }
    let mut comfy = ComfyTable::new();
    // The style has coloured the cells already; comfy-table must not check for a terminal.
    comfy.load_style(presets::NOTHING).force_no_tty().set_content_arrangement(ContentArrangement::Dynamic);
    comfy.set_width(u16::try_from(style.columns() - 2).unwrap_or(u16::MAX));
    comfy.set_header(row(table.columns.iter().map(|column| style.paint(Tone::Dim, &column.title))));
    for cells in &table.rows {
        comfy.add_row(row(cells.iter().map(|cell| style.paint(cell.tone, &cell.text))));
    }
    let last = table.columns.len() - 1;
    for (index, described) in table.columns.iter().enumerate() {
        let Some(column) = comfy.column_mut(index) else { continue };
        column.set_padding((0, if index == last { 0 } else { crate::document::GAP as u16 }));
        column.set_cell_alignment(match described.align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    comfy.lines().collect()
}

fn row(cells: impl Iterator<Item = String>) -> Row {
    Row::from(cells.map(ComfyCell::new).collect::<Vec<_>>())
}
