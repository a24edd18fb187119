//! Machine code, replaced by the PTX of the file that `FAKE_MACHINE_CODE` names. It is loaded under
//! the condition of NVIDIA's driver: some of it must be for this device.

use std::{env, fs};

use fatbin::Content;

use super::code::Code;
use super::fatbins::fatbins;
use super::pointers::Source;
use super::state::Driver;

/// The PTX of the machine code `image`, if it is for this device.
///
/// # Errors
/// It is not, or there is no PTX for it.
pub fn stand_in(driver: &mut Driver, _what: &str, image: Source) -> Result<String, (Code, String)> {
    let fits = fits(image, driver.device.chip.compute_capability);
    if !fits.map_err(|code| (code, String::new()))? {
        return Err((Code::NO_BINARY_FOR_GPU, "it is for other devices".to_owned()));
    }
    let file = env::var_os("FAKE_MACHINE_CODE").ok_or((Code::INVALID_VALUE, String::new()))?;
    fs::read_to_string(file).map_err(|e| (Code::FILE_NOT_FOUND, e.to_string()))
}

/// Whether some of `image` is for a device of `capability`: machine code of the same major version
/// that is not newer, or PTX that is not newer.
fn fits(image: Source, capability: (u32, u32)) -> Result<bool, Code> {
    let device = capability.0 * 10 + capability.1;
    let runs = |arch: u32| arch / 10 == device / 10 && arch <= device;
    if image.starts_with(b"\x7fELF")? {
        let header = image.bytes(64)?;
        let flags = word(header, 0x30);
        let arch = if header[7] == 0x41 { flags >> 8 & 0xff } else { flags & 0xff };
        return Ok(runs(arch));
    }
    let all = fatbins(image)?.unwrap_or_default();
    let mut members = all.iter().flat_map(|file| fatbin::members(file)).flatten();
    Ok(members.any(|member| match member.content {
        Content::Cubin => runs(member.architecture),
        Content::Ptx => member.architecture <= device,
    }))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes[at..at + 4].try_into();
    u32::from_le_bytes(word.unwrap_or_default())
}
