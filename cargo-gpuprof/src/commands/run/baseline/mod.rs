//! The baselines of a run: the one it is compared with, and the one it becomes.

pub(in crate::commands) mod load_baseline;
pub(in crate::commands) mod new_baseline;
pub(in crate::commands) mod prediction;
pub(in crate::commands) mod selected_baseline;
