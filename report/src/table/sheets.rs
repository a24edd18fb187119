//! The sheets of a series in columns of text that fit a width.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};
use gpuprof_model::text::one_line;

use crate::cells::{Column, Sheet};
use crate::paint::Paint;

/// Nothing but a rule under the header, or not even that.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

const BARE: TableStyle = TableStyle::new();

/// The mark in front of the best value of a column.
const MARK: &str = "* ";

/// The mark in front of a value that is indistinguishable from the best.
const TIED: &str = "~ ";

/// Blanks around a column's content, one on either side.
const PADDING: u16 = 2;

/// The lines of `sheet`, as one table or as several that each have the axes in front; `ruled` ones
/// have a line under their header.
pub(super) fn tables(
    sheet: &Sheet,
    (width, ruled): (Option<u16>, bool),
    paint: Paint,
) -> Vec<Vec<String>> {
    let lines = |metrics: &[Column]| {
        let mut text = layout(&sheet.axes, metrics, width);
        text.load_style(if ruled { STYLE } else { BARE });
        text.lines().map(|line| highlighted(line.trim_end(), paint)).collect()
    };
    fitting(sheet, width).into_iter().map(lines).collect()
}

/// Cuts the metric columns into groups that fit the width next to the axes, at least one in each.
fn fitting(sheet: &Sheet, width: Option<u16>) -> Vec<&[Column]> {
    let Some(limit) = width else { return vec![&sheet.metrics] };
    let widths = |columns: &[Column]| -> Vec<usize> {
        let widths = layout(&[], columns, width).column_max_content_widths();
        widths.into_iter().map(|width| usize::from(width + PADDING)).collect()
    };
    let axes: usize = widths(&sheet.axes).iter().sum();
    let room = usize::from(limit).saturating_sub(axes);
    let (mut cuts, mut used) = (vec![0], 0);
    for (index, width) in widths(&sheet.metrics).into_iter().enumerate() {
        if used > 0 && used + width > room {
            cuts.push(index);
            used = 0;
        }
        used += width;
    }
    cuts.push(sheet.metrics.len());
    cuts.windows(2).map(|cut| &sheet.metrics[cut[0]..cut[1]]).collect()
}

fn layout(axes: &[Column], metrics: &[Column], width: Option<u16>) -> comfy_table::Table {
    let columns: Vec<&Column> = axes.iter().chain(metrics).collect();
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE).set_header(columns.iter().map(|column| one_line(&column.title)));
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let text = |column: &&Column| {
            let cell = &column.cells[row];
            match (cell.best, cell.tied) {
                (true, _) => format!("{MARK}{}", one_line(&cell.text)),
                (false, true) => format!("{TIED}{}", one_line(&cell.text)),
                (false, false) => one_line(&cell.text),
            }
        };
        table.add_row(columns.iter().map(text));
    }
    for (laid_out, column) in table.column_iter_mut().zip(&columns) {
        if column.numeric {
            laid_out.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table
}

/// Colours the marked values of a line; a mark is the only asterisk a table holds.
fn highlighted(line: &str, paint: Paint) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(MARK) {
        let value = &rest[start + MARK.len()..];
        let end = start + MARK.len() + value.find(' ').unwrap_or(value.len());
        out.push_str(&rest[..start]);
        out.push_str(&paint.good(&rest[start..end]));
        rest = &rest[end..];
    }
    out + rest
}
