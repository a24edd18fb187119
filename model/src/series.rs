//! A series: one kernel with its axes.
//!
//! Comes in: axes. Goes out: the cross product of their values as configurations, the last axis
//! turning fastest; the order is part of the contract, since tables and files follow it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::configuration::Configuration;

/// What a series is called: the package and target of its harness, and its kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesId {
    /// The package that holds the harness.
    pub package: String,
    /// The harness target, such as a bench.
    pub target: String,
    /// The annotated function.
    pub kernel: String,
}

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}::{}", self.package, self.target, self.kernel)
    }
}

/// How many configurations the axes span; `None` beyond `usize`.
pub fn configuration_count(axes: &[Axis]) -> Option<usize> {
    axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()))
}

/// Every configuration of the axes, the last axis turning fastest.
pub fn configurations(axes: &[Axis]) -> impl Iterator<Item = Configuration> + '_ {
    let count = configuration_count(axes).unwrap_or(usize::MAX);
    (0..count).map(move |index| {
        let mut rest = index;
        let mut pairs: Vec<_> = axes
            .iter()
            .rev()
            .map(|axis| {
                let value = axis.values[rest % axis.values.len()].clone();
                rest /= axis.values.len();
                (axis.name.clone(), value)
            })
            .collect();
        pairs.reverse();
        Configuration(pairs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_turns_fastest() {
        let axes = [Axis::parse("block=64..128").unwrap(), Axis::parse("n=1,2,3").unwrap()];
        let keys: Vec<String> = configurations(&axes).map(|c| c.to_string()).collect();
        assert_eq!(
            keys,
            [
                "block=64,n=1",
                "block=64,n=2",
                "block=64,n=3",
                "block=128,n=1",
                "block=128,n=2",
                "block=128,n=3"
            ]
        );
        assert_eq!(configuration_count(&axes), Some(6));
    }

    #[test]
    fn a_series_without_axes_has_one_configuration() {
        assert_eq!(configurations(&[]).count(), 1);
    }
}
