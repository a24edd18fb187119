//! Other revisions of the workspace: resolves one, and checks it out.
//!
//! Input: the word of `--base` and the workspace. Output: a folder with that revision, with its
//! submodules and the paths outside of the repository that its manifests name. The user's tree,
//! index and branches are never touched: the checkout is a separate worktree, and git's record of
//! it is removed with it.

mod checkout;
mod git;
mod neighbours;
mod resolve;
mod submodules;
mod tree;

pub use checkout::Checkout;
pub use git::{Repository, describe};
pub use resolve::{Commit, MERGE_BASE, Meaning};
pub use tree::{Head, Tree};
