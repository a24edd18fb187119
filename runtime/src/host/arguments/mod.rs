//! The arguments of a kernel: made, copied to the device, and verified after the launch.

pub(crate) mod arena;
pub(crate) mod buffer;
pub(crate) mod buffer_element;
pub(crate) mod checks;
pub(crate) mod contents;
#[cfg(test)]
mod contents_tests;
pub(crate) mod device_state;
pub(crate) mod elements;
pub(crate) mod generator;
pub(crate) mod global;
pub(crate) mod input_hash;
pub(crate) mod inputs;
pub(crate) mod ptx_reads;
pub(crate) mod reference;
pub(crate) mod tolerance;
