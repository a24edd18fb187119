//! A metric over two axes: a cell for each pair of values, darker where it is worse.

use gpuprof_analysis::view::rank::Rank;
use maud::{Markup, html};

use super::marks::mark;
use super::point::place;

const CELL_WIDTH: f64 = 66.0;
const CELL_HEIGHT: f64 = 30.0;
const LEFT: f64 = 96.0;
const TOP: f64 = 40.0;

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Its column and row.
    pub at: (usize, usize),
    /// How much worse than the best it is, from 0 for the best to 1 for the worst.
    pub badness: f64,
    /// Its rank among the others.
    pub rank: Rank,
    /// The value.
    pub text: String,
    /// Its tooltip.
    pub label: String,
    /// The `id` of its row on the page.
    pub row: String,
}

/// A chart of cells.
#[derive(Debug, Clone)]
pub(crate) struct Heat {
    /// The title of the chart.
    pub title: String,
    /// The name of the axis of the columns, and its values.
    pub columns: (String, Vec<String>),
    /// The name of the axis of the rows, and its values.
    pub rows: (String, Vec<String>),
    /// The cells that there are.
    pub cells: Vec<Cell>,
}

/// Draws `chart`.
pub(crate) fn heat(chart: &Heat) -> Markup {
    let Heat { columns: (across, columns), rows: (down, rows), .. } = chart;
    #[expect(clippy::cast_precision_loss, reason = "few values")]
    let (x, y) =
        (|at: usize| LEFT + at as f64 * CELL_WIDTH, |at: usize| TOP + at as f64 * CELL_HEIGHT);
    let (width, height) = (x(columns.len()) + 2.0, y(rows.len()) + 2.0);
    html! {
        svg.chart.heat viewBox={ "0 0 " (place(width)) " " (place(height)) } role="img" aria-label=(chart.title)
            width=(place(width)) {
            g.grid {
                text.x x=(place((LEFT + width) / 2.0)) y="12" { (across) }
                text.y x=(place(LEFT - 8.0)) y="26" { (down) }
                @for (at, text) in columns.iter().enumerate() {
                    text.x x=(place(x(at) + CELL_WIDTH / 2.0)) y=(place(TOP - 8.0)) { (text) }
                }
                @for (at, text) in rows.iter().enumerate() {
                    text.y x=(place(LEFT - 8.0)) y=(place(y(at) + CELL_HEIGHT / 2.0)) { (text) }
                }
            }
            @for cell in &chart.cells {
                (one(cell, x(cell.at.0), y(cell.at.1)))
            }
        }
    }
}

fn one(cell: &Cell, x: f64, y: f64) -> Markup {
    let shade = format!("{:.2}", 0.06 + 0.74 * cell.badness.clamp(0.0, 1.0));
    let middle = place(y + CELL_HEIGHT / 2.0);
    html! {
        a.cell href={ "#" (cell.row) } {
            title { (cell.label) }
            rect x=(place(x + 1.0)) y=(place(y + 1.0)) width=(place(CELL_WIDTH - 2.0))
                height=(place(CELL_HEIGHT - 2.0)) fill-opacity=(shade) {}
            text x=(place(x + CELL_WIDTH / 2.0 + 6.0)) y=(middle) { (cell.text) }
            @if cell.rank != Rank::Other { (mark(cell.rank, x + 10.0, y + CELL_HEIGHT / 2.0)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_placed_by_its_two_values() {
        let cell = |column, row, badness, rank| Cell {
            at: (column, row),
            badness,
            rank,
            text: format!("{badness}"),
            label: "block=128,n=2: 5 µs".into(),
            row: format!("s0-{column}"),
        };
        let chart = Heat {
            title: "duration over block and n".into(),
            columns: ("block".into(), vec!["64".into(), "128".into()]),
            rows: ("n".into(), vec!["1".into(), "2".into()]),
            cells: vec![cell(1, 1, 0.0, Rank::Best), cell(0, 0, 1.0, Rank::Other)],
        };
        insta::assert_snapshot!(heat(&chart).into_string().replace("><", ">\n<"));
    }
}
