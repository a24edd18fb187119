//! What is measured, and how much of it.

use serde::{Deserialize, Serialize};

use crate::constant::Constant;
use crate::gpu::{Gpu, Times};

/// What was measured on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Characterization {
    /// The device's name.
    pub name: String,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// The constants that were measured, in the order of [`Constant::ALL`].
    pub measured: Vec<Measured>,
    /// The others, each with the reason.
    pub missing: Vec<(Constant, String)>,
}

/// A measured constant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Which one.
    pub constant: Constant,
    /// Its value, in [`Constant::unit`].
    pub value: f64,
    /// By how much the longest repetition exceeded the shortest, in per cent.
    pub varied_percent: f64,
}

/// How much work is measured. Counts are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Multiprocessors to occupy.
    pub multiprocessors: u32,
    /// Blocks of the largest empty launch.
    pub blocks: u32,
    /// Bytes of each of two buffers, several times as many as L2 has.
    pub bytes: u32,
    /// Loads of a chain.
    pub steps: u32,
    /// Rounds of arithmetic.
    pub rounds: u32,
}

impl Sizes {
    /// The usual ones.
    pub fn usual(gpu: &Gpu) -> Self {
        let multiprocessors = gpu.multiprocessors;
        Self { multiprocessors, blocks: 1 << 20, bytes: 512 << 20, steps: 1 << 14, rounds: 64 }
    }
}

/// Results so far.
#[derive(Default)]
pub struct Results {
    pub measured: Vec<Measured>,
    pub missing: Vec<(Constant, String)>,
}

impl Results {
    pub fn add(&mut self, constant: Constant, value: f64, times: Times) {
        self.measured.push(Measured { constant, value, varied_percent: times.varied_percent() });
    }
}
