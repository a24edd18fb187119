//! Metrics: built-in ones, user-defined ones, and the formulas of derived ones.
//!
//! Input: a name. Output: its unit, direction, class and possible sources, from a [`Catalogue`].
//! Counter names are PerfWorks names; `ptx__` marks counts that exist only at PTX level.

mod attributes;
mod built_in_table;
mod catalogue;
mod condition;
mod cycle;
mod definition;
mod direction;
mod entry;
mod formula;
mod groups;
mod launch;
mod links;
mod nearest_ptx_metric;
mod other_profilers;
mod patching;
mod perfworks;
mod set_direction;
mod share;

pub use attributes::{DEVICE_ATTRIBUTE, KEPT_ATTRIBUTES, attribute_number, attributes};
pub use catalogue::{Catalogue, built_in, is_own};
pub use condition::Condition;
pub use cycle::cycle_among;
pub use definition::{Definition, DefinitionProblem};
pub use entry::{Class, Direction, Metric, Origin};
pub use formula::{Formula, Undefined};
pub use groups::{group, groups};
pub use launch::launch_facts;
pub use links::{counts_nvlink, link_facts};
pub use nearest_ptx_metric::counterpart;
pub use other_profilers::{legacy, legacy_refused};
pub use patching::{DIVERGENT_BRANCHES, Perturbation, is_patched};
pub use perfworks::direction_by_family;
pub use set_direction::SetDirection;
pub use share::part_of;
