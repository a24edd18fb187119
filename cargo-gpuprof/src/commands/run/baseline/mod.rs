//! The baselines of a run: the one it is compared with, and the one it becomes.

pub(in crate::commands) mod becoming;
pub(in crate::commands) mod compared;
pub(in crate::commands) mod loaded;
pub(in crate::commands) mod prediction;
