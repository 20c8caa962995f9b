//! Tables for a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The width of tables where there is no terminal, or a wider one.
pub const WIDTH: u16 = 100;

/// A table without lines, so that it can be read, cut and searched alike. Wraps at the terminal's width or 100 columns.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.iter().map(|h| h.to_uppercase()));
    let width = table.width().map_or(WIDTH, |w| w.clamp(60, WIDTH));
    table.set_width(width);
    table
}

/// Right-aligns some columns, for numbers.
pub fn right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The table's text, without blanks at the ends of lines.
pub fn text(table: &Table) -> String {
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
