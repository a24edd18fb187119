//! Shared code of the end-to-end tests: the built subcommand, workspaces to run it in, and
//! outcomes.
//!
//! Tests start the real binary, `cargo-gpuprof gpuprof …`, in an environment with only the
//! variables set here, so that neither CI's variables nor a developer's settings affect them.
//! Unless a test changes it, the emulated driver is used, also on a machine with a GPU.

mod archive;
mod commits;
mod fakes;
mod folders;
mod outcome;
mod packed;
mod patience;
pub mod replay;
mod tool;
mod workspace;

pub use archive::{Archive, Entry};
pub use commits::Commits;
pub use fakes::{FakeGpu, Happening, times};
pub use folders::{repository_folder, target_folder};
pub use outcome::Outcome;
pub use packed::Packed;
pub use patience::{wait_beside, wait_for, with_limit};
pub(crate) use tool::NO_NVDISASM;
pub use tool::{Tool, script};
pub use workspace::Workspace;
pub(crate) use workspace::{outside, write};
