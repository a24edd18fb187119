//! Why CUPTI gives no config image for a list of metrics.

use super::MetricProblem;
use crate::Failure;

/// Why metrics have no config image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    /// No metric at all.
    #[error("there is no metric to collect")]
    Empty,
    /// Names that are not metrics of this chip, each with the reason.
    #[error("{}", lines(names))]
    Invalid {
        /// The names and their problems, in the order asked for.
        names: Vec<(String, MetricProblem)>,
    },
    /// Metrics that the chip lists and CUPTI cannot collect, not even alone.
    #[error("{} cannot be collected on {chip}", names.join(", "))]
    NotCollectable {
        /// The metrics.
        names: Vec<String>,
        /// The chip.
        chip: String,
    },
    /// Each can be collected, and not all together.
    #[error(
        "these metrics cannot be collected together; these groups can: {}",
        groups.iter().map(|it| it.join(", ")).collect::<Vec<_>>().join(" | ")
    )]
    CannotCombine {
        /// A way to split them: every metric in one group, each group with a config image.
        groups: Vec<Vec<String>>,
    },
    /// CUPTI failed otherwise.
    #[error("{0}")]
    Failed(#[from] Failure),
}

fn lines(names: &[(String, MetricProblem)]) -> String {
    names.iter().map(|(_, problem)| problem.to_string()).collect::<Vec<_>>().join("\n")
}
