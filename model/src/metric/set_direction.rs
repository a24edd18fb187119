//! Directions that a file sets for metrics that are known without it.
//!
//! Input: a catalogue, and a file's names and directions. Output: a catalogue that has them, for
//! every name of the same counter, or every reason why one is refused. A direction that two files
//! set differently is refused: no order of files would be the right one for both.

use crate::metric::catalogue::Catalogue;
use crate::metric::entry::Direction;

impl Catalogue {
    /// This catalogue with the `directions` that the file `path` sets.
    ///
    /// # Errors
    /// A message for each metric that is not known, and each that another file has set otherwise.
    pub fn with_directions<'d>(
        &self,
        directions: impl IntoIterator<Item = (&'d str, Direction)>,
        path: &str,
    ) -> Result<Self, Vec<String>> {
        let mut other = self.clone();
        let mut problems = Vec::new();
        for (name, direction) in directions {
            let Some(metric) = other.find(name) else {
                problems.push(other.unknown(name));
                continue;
            };
            let counted = other.counted(&metric);
            match other.directions.get(&counted) {
                Some((before, file)) if *before != direction => problems.push(format!(
                    "metric `{name}`: {} here, and {} in {file}; set its direction once",
                    direction.words(),
                    before.words()
                )),
                _ => drop(other.directions.insert(counted, (direction, path.to_owned()))),
            }
        }
        let own = other.own().cloned().map(|metric| other.directed(metric)).collect();
        other.own = own;
        if problems.is_empty() { Ok(other) } else { Err(problems) }
    }

    /// The built-in metrics that files give another direction than the built-in one.
    pub fn turned(&self) -> impl Iterator<Item = SetDirection<'_>> {
        let built_in = Self::built_in();
        let set = self.directions.iter();
        let turned = set.filter(move |(name, (direction, _))| {
            built_in.find(name).is_some_and(|metric| metric.direction != *direction)
        });
        turned.map(|(metric, (direction, file))| SetDirection {
            metric,
            direction: *direction,
            file,
        })
    }
}

/// The direction of a metric by a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetDirection<'c> {
    /// The metric's name.
    pub metric: &'c str,
    /// Its direction.
    pub direction: Direction,
    /// The file that sets it.
    pub file: &'c str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Definition, Metric};
    use crate::quantity::Unit;
    use std::sync::Arc;

    const IPC: &str = "sm__inst_executed.avg.per_cycle_active";

    #[test]
    fn a_direction_that_is_set_holds_for_every_name_of_the_counter() {
        let known = Catalogue::built_in();
        for name in ["ipc", IPC, "retire_ipc"] {
            let set = known.with_directions([(name, Direction::Neither)], "a.toml").unwrap();
            for alias in ["ipc", IPC, "retire_ipc"] {
                let metric = set.find(alias).unwrap();
                assert_eq!(metric.direction, Direction::Neither, "{name} sets {alias}");
                assert_eq!(metric.direction_set.as_deref(), Some("a.toml"));
            }
            let listed = set.own().find(|metric| metric.name == "ipc").unwrap();
            assert_eq!(listed.direction, Direction::Neither);
            assert_eq!(set.find("duration"), known.find("duration"));
        }
        let set = known.with_directions([("registers", Direction::Higher)], "a.toml").unwrap();
        assert_eq!(set.find("launch__registers_per_thread").unwrap().direction, Direction::Higher);
    }

    #[test]
    fn one_file_may_set_the_direction_of_a_metric_of_another() {
        let definition = Definition {
            name: "d_ipc".into(),
            formula: format!("2 * {IPC}"),
            unit: Unit::Ratio,
            direction: Direction::Higher,
            description: None,
        };
        let known = Catalogue::built_in().with_definitions(&[definition]).unwrap();
        let set = known.with_directions([(IPC, Direction::Lower)], "a.toml").unwrap();
        let direction = |metric: Arc<Metric>| metric.direction;
        assert_eq!(set.find("d_ipc").map(direction), Some(Direction::Lower));
    }

    #[test]
    fn only_changed_directions_of_a_file_are_recorded() {
        let directions = [("registers", Direction::Higher), ("ipc", Direction::Higher)];
        let set = Catalogue::built_in().with_directions(directions, "a.toml").unwrap();
        let turned: Vec<_> = set.turned().collect();
        let registers = SetDirection {
            metric: "launch__registers_per_thread",
            direction: Direction::Higher,
            file: "a.toml",
        };
        assert_eq!(turned, [registers]);
        assert_eq!(Catalogue::built_in().turned().count(), 0);
    }

    #[test]
    fn two_files_that_disagree_are_refused_and_so_is_an_unknown_name() {
        let known = Catalogue::built_in();
        let set = known.with_directions([("ipc", Direction::Lower)], "a.toml").unwrap();
        assert!(set.with_directions([(IPC, Direction::Lower)], "b.toml").is_ok());
        let problems = set
            .with_directions([(IPC, Direction::Higher), ("ipx", Direction::Lower)], "b.toml")
            .unwrap_err();
        assert_eq!(
            problems,
            [
                "metric `sm__inst_executed.avg.per_cycle_active`: higher is better here, and lower is better in a.toml; \
                 set its direction once",
                "no metric is named `ipx`: did you mean `ipc`?"
            ]
        );
    }
}
