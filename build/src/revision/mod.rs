//! Other revisions of the user's code: which one is meant, and a checkout of it.
//!
//! Input: the word of `--base` and the workspace. Output: a folder that holds that revision as this
//! one lies on the disk, with its submodules and with what its manifests name outside of the
//! repository. The user's tree, index and branches are never touched: the checkout is a worktree of
//! its own, and git's record of it is removed with it.

mod checkout;
mod git;
mod meaning;
mod neighbours;
mod submodules;

pub use checkout::Checkout;
pub use git::Repository;
pub use meaning::{Commit, MERGE_BASE, commit};
