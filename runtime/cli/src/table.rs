//! Tables for a terminal.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

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

/// Keeps a column whole, for ids that are to be copied, and lets the others give way.
pub fn whole(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// A share of the tolerance, in few columns however large.
pub fn share(value: f64) -> String {
    if value < 1000.0 || !value.is_finite() {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

/// The table's text: one blank between columns, none at the ends of lines.
pub fn text(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
