//! Counters of patched instructions, and whether patching may have moved them.
//!
//! CUPTI collects `smsp__sass_…` by instructions that it patches into the kernel. On an H100 they
//! moved the groups in which diverged lanes run, and with them the counters: 443 or 667 requests of
//! one launch, depending on the other counters of the pass. If no branch diverged, no lanes part
//! and nothing can move.

use serde::{Deserialize, Serialize};

/// The counter of branches at which lanes diverged; it is collected in the pass of all patched
/// counters.
pub const DIVERGENT_BRANCHES: &str = "smsp__sass_branch_targets_threads_divergent.sum";

/// Whether the counter `name` is counted by instructions that CUPTI patches into the kernel.
pub fn is_patched(name: &str) -> bool {
    ["smsp__sass_", "sm__sass_", "sass__"].iter().any(|begin| name.starts_with(begin))
}

/// Why patching may have moved a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Perturbation {
    /// Lanes diverged in the pass that counted it.
    Divergence,
    /// Nothing says whether lanes diverged.
    Unknown,
}

impl Perturbation {
    /// The reason, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Divergence => {
                "lanes diverge, and the patched code that counts may change how they run"
            }
            Self::Unknown => {
                "the patched code that counts may change how diverged lanes run, and whether any \
                 diverge is unknown"
            }
        }
    }
}
