//! What must be known to repeat a run, as far as it is before the first pass.

use std::collections::BTreeMap;

use gpuprof_model::run::Provenance;

use super::prepared::Plan;
use crate::commands::source::Kernels;
use crate::execute::Ahead;
use crate::options::{CacheControl, ClockControl};
use crate::{schedule, store};

/// The provenance of `plan` with `kernels`, which `counts` on hardware or does not; the device of
/// its first pass is put in when that has ended.
pub(super) fn of(plan: &Plan<'_>, kernels: &Kernels, counts: bool) -> Provenance {
    let Plan { options, devices, order, .. } = plan;
    let hashes: BTreeMap<String, String> = kernels
        .modules
        .iter()
        .filter_map(|(package, path)| Some((package.clone(), store::sha256_of(path)?)))
        .collect();
    let ahead = Ahead::on(devices.records.first(), options.ahead);
    let clocks = if devices.emulated { ClockControl::None } else { options.clock_control };
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now().to_string(),
        backend: if devices.emulated { "emulator" } else { "cuda" }.to_owned(),
        device: None,
        devices: devices.names(),
        cache_control: match options.cache_control.unwrap_or_default() {
            CacheControl::All => "all",
            CacheControl::None => "none",
        }
        .to_owned(),
        clock_control: clocks.word().to_owned(),
        replay_mode: counts.then(|| options.replay_mode.word().to_owned()),
        ptx_sha256: hashes,
        kernel_toolchain: kernels.toolchain.clone(),
        git_revision: plan.inputs.source.git_revision(),
        profile: Some(options.cargo.profile.clone()),
        kernel_arch: Some(options.kernels.kernel_arch.clone()),
        order: schedule::described(*order, options.isolate, ahead.times),
    }
}
