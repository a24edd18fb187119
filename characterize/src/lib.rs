//! Micro-benchmarks of a GPU.
//!
//! Input: a device of the driver. Output: a [`Characterization`]: the constants of the emulated
//! driver's model of time, or the reason why a constant is not measured. The kernels are PTX, which
//! the driver compiles. The result of every kernel is checked, so a compiler that removes its work
//! causes an error. Times are those of CUDA events, the shortest of several; rates are slopes
//! between two sizes, without the cost of a launch.

#![cfg(target_os = "linux")]

mod access;
mod characterization;
mod constant;
mod gpu;
mod latency;
mod starts;
mod unit;

use characterization::Results;
pub use characterization::{Characterization, Measured, Sizes};
pub use constant::Constant;
use gpu::Gpu;
pub use gpu::Problem;

/// Measures device `ordinal`; `sizes` replaces the usual ones.
///
/// # Errors
/// The driver's; a kernel that computes something else than it should.
pub fn measure(ordinal: usize, sizes: Option<Sizes>) -> Result<Characterization, Problem> {
    let gpu = Gpu::open(ordinal)?;
    let sizes = sizes.unwrap_or_else(|| Sizes::usual(&gpu));
    // The largest buffers come first: they are missing if another program uses the device.
    let words = sizes.bytes as usize / 4;
    let mut memory = [gpu.allocate(words)?, gpu.allocate(words)?];
    let mut results = Results::default();
    unit::measure(&gpu, &sizes, &mut results)?;
    starts::measure(&gpu, &sizes, &mut results)?;
    access::measure(&gpu, &sizes, &memory, &mut results)?;
    latency::measure(&gpu, &sizes, &mut memory, &mut results)?;
    let Results { mut measured, mut missing } = results;
    let reason = "it was fitted to the times of whole kernels".to_owned();
    missing.push((Constant::WrittenBack, reason));
    measured.sort_by_key(|measured| measured.constant);
    Ok(Characterization {
        name: gpu.name.clone(),
        multiprocessors: gpu.multiprocessors,
        memory_bytes: gpu.memory_bytes,
        measured,
        missing,
    })
}

/// The example of the README compiles as well.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    /// ptxas refuses other characters even in comments; the emulated driver does not.
    #[test]
    fn kernels_are_ascii() {
        for ptx in [gpu::KERNELS, access::PTX, latency::PTX, unit::PTX] {
            let odd = ptx.lines().find(|line| !line.is_ascii());
            assert_eq!(odd, None);
        }
    }
}
