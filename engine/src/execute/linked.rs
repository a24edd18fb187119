//! Programs that are linked to the driver or to the shared CUDA runtime instead of loading the
//! driver. Without these libraries the system does not start them, so they could not list series.
//!
//! Input: harnesses. Output: the emulated driver as a stand-in at the end of the search path, for
//! harnesses that need it.

use std::fs;
use std::path::Path;

use camino::Utf8Path;

use crate::cupti::{self, Answer, Question};
use crate::emulator::emulator_folder;
use fatbin::elf;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::Result;

/// The libraries of the driver and of the CUDA runtime, as programs that are linked to them name
/// them.
const LIBRARIES: [&[u8]; 4] =
    [b"libcuda.so.1", b"libcuda.so", b"libcudart.so.12", b"libcudart.so.13"];

/// Present while the kernel module is loaded: a driver is installed then, even if its library is
/// not found.
const MODULE: &str = "/proc/driver/nvidia/version";

/// Gives `harnesses` that are linked to the driver a stand-in, unless a driver is installed.
///
/// # Errors
/// The process that looks for a driver, or the emulated driver's folder below `target`.
pub fn stand_in(harnesses: &mut [Harness], target: &Utf8Path) -> Result<()> {
    if !harnesses.iter().any(is_linked) || Path::new(MODULE).exists() {
        return Ok(());
    }
    if !matches!(cupti::ask(None, Question::Driver)?, Answer::NoDriver(_)) {
        return Ok(());
    }
    let folder = emulator_folder(target)?;
    for harness in harnesses.iter_mut().filter(|harness| is_linked(harness)) {
        harness.stand_in = Some(folder.clone());
    }
    Ok(())
}

/// Whether the executable is linked to the driver's library or to the shared CUDA runtime.
fn is_linked(harness: &Harness) -> bool {
    let Ok(file) = fs::read(&harness.executable) else { return false };
    let Ok(Some(names)) = elf::named(&file, ".dynstr") else { return false };
    names.split(|&byte| byte == 0).any(|name| LIBRARIES.contains(&name))
}
