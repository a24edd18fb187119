//! Launches: their configuration, their limits, and the kernels that series functions launch.

pub(crate) mod configuration;
pub(crate) mod kernel_launcher;
pub(crate) mod launcher;
pub(crate) mod limits;
pub(crate) mod log;
