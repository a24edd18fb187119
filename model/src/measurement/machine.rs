//! What is found at each machine instruction on a GPU.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::code::Counter;

/// The findings of a pass at each machine instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineCounts {
    /// The functions that were launched, or called by them.
    pub functions: Vec<MachineFunction>,
    /// How often the measured range ran.
    pub ranges: u32,
    /// Samples that the GPU lost.
    pub dropped: u64,
}

/// The machine code of a function with the counts of its instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineFunction {
    /// Its name in its module.
    pub name: String,
    /// The module of the request that it is in; none if it is in another one.
    pub module: Option<MachineModule>,
    /// The instructions with counts.
    pub instructions: Vec<MachineInstruction>,
}

/// A module, compiled for the GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineModule {
    /// Its PTX.
    pub ptx: PathBuf,
    /// The cubin.
    pub cubin: PathBuf,
}

/// The counts of a machine instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineInstruction {
    /// Its offset in the function, in bytes.
    pub offset: u64,
    /// Its counts.
    pub counts: BTreeMap<Counter, u64>,
}

/// How the counts by line were collected on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceCollection {
    /// How often the measured range ran while warps were sampled.
    pub ranges: u32,
    /// Samples of warps.
    pub samples: u64,
    /// Samples that the GPU lost.
    pub dropped: u64,
    /// Why some of it could not be collected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}
