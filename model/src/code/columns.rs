//! The counts of all lines of a listing, packed.
//!
//! Input: the counts of each line. Output: a column for each counter that is not 0 everywhere, as
//! runs of equal values, since the instructions of a basic block share their counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counts::{Counter, LineCounts};

/// Columns of counts. In a document a column is a list of numbers: how many lines, their value, how
/// many further lines, their value, and so on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Columns(BTreeMap<Counter, Vec<u64>>);

impl Columns {
    /// Of lines with these counts.
    #[must_use]
    pub fn new(lines: &[LineCounts]) -> Self {
        let column = |counter: Counter| {
            let mut runs: Vec<u64> = Vec::new();
            for counts in lines {
                match &mut runs[..] {
                    [.., many, value] if *value == counts[counter] => *many += 1,
                    _ => runs.extend([1, counts[counter]]),
                }
            }
            runs
        };
        let columns = Counter::ALL.map(|counter| (counter, column(counter)));
        let is_zero = |column: &[u64]| column.chunks_exact(2).all(|run| run[1] == 0);
        Self(columns.into_iter().filter(|(_, column)| !is_zero(column)).collect())
    }

    /// The counts of each of so many lines.
    #[must_use]
    pub fn rows(&self, lines: usize) -> Vec<LineCounts> {
        let mut rows = vec![LineCounts::default(); lines];
        for (&counter, column) in &self.0 {
            let mut at = 0;
            for run in column.chunks_exact(2) {
                let end = at + usize::try_from(run[0]).unwrap_or(usize::MAX).min(lines - at);
                rows[at..end].iter_mut().for_each(|row| row[counter] = run[1]);
                at = end;
            }
        }
        rows
    }

    /// Checks that every column has a value for each of so many lines.
    ///
    /// # Errors
    /// The first column with more or fewer values, in words.
    pub fn fit(&self, lines: usize) -> Result<(), String> {
        for column in self.0.values() {
            let known =
                column.iter().step_by(2).fold(0, |sum: u64, many| sum.saturating_add(*many));
            if known != lines as u64 || column.len() % 2 != 0 {
                return Err(format!("the counts of {known} lines for a listing of {lines}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_counts_of_neighbours_are_one_run() {
        let line = |instructions, sectors| {
            let mut line = LineCounts::default();
            (line[Counter::Instructions], line[Counter::Sectors]) = (instructions, sectors);
            line
        };
        let lines = [line(8, 0), line(8, 32), line(8, 0), line(4, 0)];
        let columns = Columns::new(&lines);
        let text = serde_json::to_string(&columns).unwrap();
        assert_eq!(text, r#"{"instructions":[3,8,1,4],"sectors":[1,0,1,32,2,0]}"#);
        assert_eq!(columns.fit(4), Ok(()));
        let odd: Columns = serde_json::from_str(r#"{"bytes":[1,8,1]}"#).unwrap();
        assert!(odd.fit(2).is_err());
    }

    proptest! {
        #[test]
        fn packed_counts_survive_unpacking(values in prop::collection::vec(prop::collection::vec(0u64..3, Counter::ALL.len()), 0..40)) {
            let lines: Vec<LineCounts> = values.into_iter().map(|it| LineCounts(it.try_into().unwrap())).collect();
            let columns = Columns::new(&lines);
            prop_assert_eq!(columns.fit(lines.len()), Ok(()));
            prop_assert_eq!(columns.rows(lines.len()), lines);
        }
    }
}
