//! What the end-to-end tests share: the built subcommand, workspaces to run it in, and what came of
//! it.
//!
//! Tests drive the real binary, `cargo-gpuprof gpuprof …`, in an environment that holds nothing but
//! what is put into it here, so that neither CI's variables nor a developer's settings change what
//! they see. Unless a test says otherwise the emulated driver answers, also on a machine with a
//! GPU.

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
pub use tool::{Tool, script};
pub use workspace::Workspace;
pub(crate) use workspace::{outside, write};
