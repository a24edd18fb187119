//! Whether a configuration is a point of a space, without making its other points.

use super::Space;
use super::points::axis_value;
use crate::axis::AxisValue;
use crate::configuration::Configuration;
use crate::expression::Value;
use crate::text::ParseError;

impl Space {
    /// Whether `configuration` is one of [`Space::points`].
    ///
    /// # Errors
    /// An expression without a value there.
    pub fn holds(&self, configuration: &Configuration) -> Result<bool, ParseError> {
        let value_of = |name: &str| configuration.get(name);
        let same_axes = self.names().count() == configuration.0.len()
            && self.names().all(|name| value_of(name).is_some());
        if !same_axes
            || !self
                .axes
                .iter()
                .all(|axis| axis.values.iter().any(|v| Some(v) == value_of(&axis.name)))
        {
            return Ok(false);
        }
        if !self.zips.iter().all(|zip| self.advances_to(zip, configuration)) {
            return Ok(false);
        }
        let look_up = |name: &str| Ok(value_of(name).map(Value::from));
        for derived in &self.derived {
            let value = axis_value(derived, derived.formula.evaluate(&look_up)?)?;
            if Some(&value) != value_of(&derived.name) {
                return Ok(false);
            }
        }
        for filter in &self.filters {
            if !filter.holds(&look_up)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the axes of `zip` have their values in `configuration` at one position.
    fn advances_to(&self, zip: &[String], configuration: &Configuration) -> bool {
        let axes: Vec<(&[AxisValue], Option<&AxisValue>)> = self
            .axes
            .iter()
            .filter(|axis| zip.contains(&axis.name))
            .map(|axis| (axis.values.as_slice(), configuration.get(&axis.name)))
            .collect();
        let length = axes.iter().map(|(values, _)| values.len()).min().unwrap_or(0);
        (0..length).any(|at| axes.iter().all(|(values, own)| Some(&values[at]) == *own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_holds_its_own_points_and_no_others() {
        let clauses = [
            "block = [64, 128, 256]",
            "zip(a = [1, 2], b = [x, y])",
            "total = block * a",
            "where total < 512",
        ];
        let space = Space::from_clauses(&clauses).unwrap();
        let every = |text: &str| {
            let free = Space::from_clauses(&[
                "block = [32, 64, 128, 256]",
                "a = [1, 2]",
                "b = [x, y]",
                text,
            ]);
            free.unwrap().points().map(Result::unwrap).collect::<Vec<_>>()
        };
        let own: Vec<Configuration> = space.points().map(Result::unwrap).collect();
        for formula in ["total = block * a", "total = block * a + 1"] {
            for point in every(formula) {
                let held = space.holds(&point).unwrap();
                assert_eq!(held, own.contains(&point), "{point}");
            }
        }
        let more =
            Configuration([own[0].0.clone(), vec![("n".to_owned(), AxisValue::Int(1))]].concat());
        assert!(!space.holds(&more).unwrap());
        assert!(!space.holds(&Configuration(own[0].0[1..].to_vec())).unwrap());
    }
}
