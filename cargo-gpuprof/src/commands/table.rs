//! Lists in columns, as `baseline list` and `runs list` print them.
//!
//! Input: what is listed. Output: a line of JSON each, or text, a line a row.

use std::io::Write;

use crate::options::MessageFormat;
use gpuprof_report::Screen;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::printable_output::shown_within;
use gpuprof_system::{console, json_text, pad};

/// Something that can be listed.
pub(super) trait Listed {
    /// Said if there is nothing to list.
    const NONE: &'static str;

    /// Its cells; the last one may be long.
    fn cells(&self) -> Vec<String>;

    /// The same for programs.
    fn json(&self) -> serde_json::Value;
}

/// Lists `all` in `format`.
///
/// # Errors
/// Standard output.
pub(super) fn list<T: Listed>(
    all: &[T],
    format: MessageFormat,
    screen: Screen,
    out: &mut impl Write,
) -> Result<()> {
    let written = match format {
        MessageFormat::Json => all.iter().try_for_each(|one| json_text::line(out, &one.json())),
        MessageFormat::Human => {
            if all.is_empty() {
                console::say(T::NONE);
            }
            let text = aligned(&all.iter().map(T::cells).collect::<Vec<_>>());
            shown_within(out, screen.width, |out| out.write_all(text.as_bytes()))
        }
    };
    written.map_err(Failure::standard_output)
}

/// The rows with their cells one below the other, all but the last.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| column + 1 < row.len()).map(|row| &row[column]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = if column + 1 < row.len() { width(column) } else { 0 };
            text.push_str(&pad::left(cell, width));
            text.push_str("  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn rows_of_a_list_are_aligned() {
        let rows = [["main", "in git", "5 configurations"], ["b", "in the target folder", "1"]];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let torn = vec!["torn".to_owned(), "torn.json is not a run document".to_owned()];
        assert_eq!(
            aligned(&[rows, vec![torn]].concat()),
            "main  in git                5 configurations\n\
             b     in the target folder  1\n\
             torn  torn.json is not a run document\n"
        );
    }
}
