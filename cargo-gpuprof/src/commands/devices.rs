//! The GPUs that the setting `devices` names, for a run and for `doctor`, and the emulated chips of
//! a run.
//!
//! Input: the setting and the devices that the driver shows. Output: their positions, or an error
//! that names the option, the variable or the file that named them.

use std::env;

use gpuprof_model::machine::Chip;
use gpuprof_model::measurement::DeviceRecord;

use super::settings::{Setting, Settings};
use crate::options::{DeviceSelection, Shown};
use gpuprof_engine::device::VISIBLE_ENV;
use gpuprof_system::error::{Failure, Result};

/// The positions in `shown` of the GPUs that are named, in the order of their names; none if the
/// setting selects none here. `shown` gets the MIG instances that only their names show; `see`
/// returns the devices of a process that is shown only the given one.
///
/// # Errors
/// Devices that are not there, and any that are named where the emulated driver answers (exit code
/// 2, or 96 for the configuration file); those of `see`.
pub(super) fn named(
    settings: &Settings,
    emulated: bool,
    shown: &mut Vec<DeviceRecord>,
    see: impl FnMut(&str) -> Result<Vec<DeviceRecord>>,
) -> Result<Option<Vec<usize>>> {
    let wanted = &settings.devices;
    let Some(named) = &wanted.value else { return Ok(None) };
    if emulated {
        without_gpus(settings, named)?;
        return Ok(None);
    }
    // The environment may say what is to be seen.
    if env::var_os(VISIBLE_ENV).is_none() {
        *shown = named.with_hidden(std::mem::take(shown), see)?;
    }
    named.find(shown).map(Some).map_err(|failure| placed(wanted, failure))
}

/// The emulated chips that are named.
///
/// # Errors
/// A chip that is named twice or does not run the kernels (exit code 2, or 96 for the configuration
/// file); any chip on the command line if a GPU answers (exit code 2).
pub(super) fn chips(settings: &Settings, emulated: bool) -> Result<Vec<Chip>> {
    let Setting { value: chips, origin } = &settings.chip;
    let refused = |text: String| Err(placed(&settings.chip, Failure::usage(text)));
    if chips.is_empty() {
        return Ok(Vec::new());
    }
    if !emulated && !settings.chip.on_command_line() {
        settings.notes().say(format_args!(
            "chip = {} [{origin}] has no effect: a GPU answers here",
            chips.text()
        ));
        return Ok(Vec::new());
    }
    if !emulated {
        return refused(format!(
            "`{}` names emulated chips, but a GPU answers here; add --backend emulator",
            chips.text()
        ));
    }
    if let Some(twice) = (1..chips.len()).find(|&at| chips[..at].contains(&chips[at])) {
        return refused(format!("{} is named twice; name every chip once", chips[twice]));
    }
    let arch = &settings.kernel_arch;
    if let Some(chip) = chips.iter().find(|chip| !chip.runs(&arch.value)) {
        let own = chip.architecture();
        return refused(format!(
            "{chip} is an {own}, which does not run PTX for {} ({}); compile the kernels with \
             --kernel-arch {own} or an older one",
            arch.value, arch.origin
        ));
    }
    Ok(chips.clone())
}

/// `failure` with the origin of the setting `wanted`.
pub(super) fn placed<T>(wanted: &Setting<T>, failure: Failure) -> Failure {
    match wanted.on_command_line() {
        true => Failure::new(failure.code, format!("{}: {}", wanted.origin, failure.message)),
        false => wanted.blamed(failure),
    }
}

/// The emulated device cannot be named. A configuration file is shared by machines with and without
/// GPUs; a command line is written for one machine.
fn without_gpus(settings: &Settings, named: &DeviceSelection) -> Result<()> {
    let wanted = &settings.devices;
    if wanted.on_command_line() {
        let message = format!(
            "`{named}` names GPUs, but the emulated driver answers here, and it has a single \
             device; leave {} out, or require a GPU with --backend cuda",
            wanted.origin
        );
        return Err(placed(wanted, Failure::usage(message)));
    }
    settings.notes().say(format_args!(
        "devices = {named} [{}] has no effect: the emulated driver has a single device",
        wanted.origin
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use gpuprof_emulator::device::chip;
    use gpuprof_model::words::Word;

    use super::*;

    #[test]
    fn every_chip_can_be_emulated() {
        assert_eq!(chip::BY_NAME.len(), Chip::ALL.len());
        for (chip, name, _) in Chip::ALL {
            let emulated = chip::named(name).unwrap_or_else(|| panic!("{name} is not emulated"));
            assert_eq!(emulated.compute_capability, chip.compute_capability(), "{name}");
        }
    }
}
