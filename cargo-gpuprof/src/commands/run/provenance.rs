//! What must be known to repeat a run, as far as it is before the first pass.

use std::collections::BTreeMap;

use gpuprof_model::run::Provenance;

use super::prepared::Plan;
use crate::commands::source::Kernels;
use crate::execute::Ahead;
use crate::options::{ClockControl, Shown};
use crate::{schedule, store};

/// The provenance of `plan` with `kernels`, which `counts` on hardware or does not; the device of
/// its first pass is put in when that has ended.
pub(super) fn of(plan: &Plan<'_>, kernels: &Kernels, counts: bool) -> Provenance {
    let Plan { options, devices, order, inputs, .. } = plan;
    let settings = &inputs.settings;
    let hashes: BTreeMap<String, String> = kernels
        .modules
        .iter()
        .filter_map(|(package, path)| Some((package.clone(), store::sha256_of(path)?)))
        .collect();
    let ahead = Ahead::on(devices.records.first(), settings.ahead.value);
    let clocks = if devices.emulated { ClockControl::None } else { settings.clock_control.value };
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now().to_string(),
        backend: if devices.emulated { "emulator" } else { "cuda" }.to_owned(),
        device: None,
        devices: devices.names(),
        cache_control: settings.cache_control.value.text(),
        clock_control: clocks.text(),
        replay_mode: counts.then(|| settings.replay_mode.value.text()),
        ptx_sha256: hashes,
        kernel_toolchain: kernels.toolchain.clone(),
        git_revision: inputs.source.git_revision(),
        profile: Some(options.cargo.profile.clone()),
        kernel_arch: Some(settings.kernel_arch.value.clone()),
        order: schedule::described(*order, settings.isolate.value, ahead.times),
    }
}
