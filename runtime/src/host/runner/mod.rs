//! The line to the runner: requests, replies, and the turns of processes.

pub(crate) mod line;
pub(crate) mod measure_lock;
pub(crate) mod parent_death;
pub(crate) mod reply;
