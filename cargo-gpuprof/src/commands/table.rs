//! Lists in columns, as `baseline list` and `runs list` print them.
//!
//! Input: rows of cells. Output: text, a line a row.

use gpuprof_system::pad;

/// The rows with their cells one below the other, all but the last.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
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
    fn a_list_stands_in_columns() {
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
