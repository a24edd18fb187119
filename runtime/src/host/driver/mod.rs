//! The driver beyond cudarc: functions that it may lack, clusters, and NVML.

pub(crate) mod cluster;
pub(crate) mod function;
pub(crate) mod library;
pub(crate) mod nvml;
pub(crate) mod uuid;
