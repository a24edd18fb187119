//! The kernels of a run, built or unpacked, and copied into its folder.

use std::collections::BTreeSet;

use super::prepared::Plan;
use crate::commands::source::Kernels;
use crate::commands::{KernelTarget, Source};
use crate::declared::Needed;
use crate::error::Result;
use crate::plan::Side;

/// The kernels that `plan` needs of one revision, from its `source`.
///
/// # Errors
/// Toolchain, build, files.
pub(super) fn of(plan: &Plan<'_>, source: &Source, side: Side) -> Result<Kernels> {
    let own = plan.both.checked.iter().map(|c| &c.planned).filter(|p| p.side == side);
    let declared: Vec<Needed<'_>> =
        own.clone().filter_map(|p| Needed::of(&p.series, &p.configurations)).collect();
    let device_functions = own.filter(|planned| planned.series.device_function);
    let packages: BTreeSet<String> =
        device_functions.map(|planned| planned.series.source_package.clone()).collect();
    let settings = &plan.inputs.settings;
    let toolchain = settings.kernel_toolchain.value.as_deref();
    let target = KernelTarget { arch: &settings.kernel_arch.value, toolchain };
    let mut kernels = source.kernels(&packages, &declared, target)?;
    plan.inputs.folder.copy_kernels(side, &mut kernels.modules)?;
    Ok(kernels)
}
