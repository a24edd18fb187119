//! The output of a run, while it works and at its end.

pub(in crate::commands) mod costliest_line;
pub(in crate::commands) mod dry_run;
pub(in crate::commands) mod exports;
pub(in crate::commands) mod presenter;
pub(in crate::commands) mod progress;
pub(in crate::commands) mod source_text;
