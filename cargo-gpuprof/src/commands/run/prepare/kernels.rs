//! The kernels of a run, built or unpacked, and copied into its folder.

use std::collections::BTreeSet;

use crate::commands::Source;
use crate::commands::run::prepare::prepared::Plan;
use gpuprof_build::built_kernels::{KernelTarget, Kernels, newest_cuda};
use gpuprof_build::declared::Needed;
use gpuprof_engine::plan::{PlannedSeries, Side};
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;

/// The packages of the device functions that `planned` launches.
fn packages_of(planned: &PlannedSeries) -> BTreeSet<String> {
    let mut packages = planned.series.launches.clone();
    if planned.series.device_function {
        packages.insert(planned.series.source_package.clone());
    }
    packages
}

/// The kernels that `plan` needs of one revision, from its `source`.
///
/// # Errors
/// Toolchain, build, files.
pub(in crate::commands) fn build(
    plan: &Plan,
    source: &Source,
    side: Side,
    interrupt: &Interrupt,
) -> Result<Kernels> {
    let own = plan.both.checked.iter().map(|c| &c.planned).filter(|p| p.side == side);
    fn needed<'p>(planned: impl Iterator<Item = &'p PlannedSeries>) -> Vec<Needed<'p>> {
        planned.flat_map(|p| Needed::of_run(&p.series, &p.configurations)).collect()
    }
    let mut declared = needed(own.clone());
    if let Some(slice) = &plan.inputs.slice {
        let whole = needed(slice.declared.iter().filter(|p| p.side == side));
        declared = Needed::of_same_modules(&declared, whole);
    }
    let packages: BTreeSet<String> = own.flat_map(packages_of).collect();
    let settings = &plan.inputs.settings;
    let toolchain = settings.kernel_toolchain.value.as_deref();
    let on_gpu = plan.devices.records.first().filter(|_| !plan.devices.emulated);
    let newest = Some(newest_cuda(on_gpu.map(|device| device.driver_version)));
    let target = KernelTarget { arch: &settings.kernel_arch.value, toolchain, newest, interrupt };
    let mut kernels = source.kernels(&packages, &declared, target)?;
    plan.inputs.folder.copy_kernels(side, &mut kernels.modules)?;
    if plan.devices.emulated {
        kernels.assemble(plan.devices.architectures(), &source.target_directory);
    }
    Ok(kernels)
}
