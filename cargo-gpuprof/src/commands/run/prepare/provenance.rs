//! The provenance of a run, as far as it is known before the first pass.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gpuprof_model::machine::Backend;
use gpuprof_model::metric::{Catalogue, Metric, Origin};
use gpuprof_model::protocol::CounterRange;
use gpuprof_model::run::Provenance;

use crate::commands::run::prepare::other_revision::Base;
use crate::commands::run::prepare::prepared::Plan;
use crate::options::{ClockControl, Purpose};
use gpuprof_build::built_kernels::Kernels;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::execute::Ahead;
use gpuprof_engine::schedule;

/// The provenance of `plan` with `kernels`, which `counts` on hardware or does not; the device of
/// its first pass is put in when that has ended.
pub(in crate::commands) fn record(plan: &Plan, kernels: &Kernels, counts: bool) -> Provenance {
    let Plan { devices, order, inputs, .. } = plan;
    let settings = &inputs.settings;
    let ahead = Ahead::on(devices.records.first(), settings.ahead.value.map(Into::into));
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now().to_string(),
        backend: Backend::of_device(devices.emulated),
        devices: devices.names(),
        cache_control: settings.cache_control.value,
        clock_control: match devices.emulated {
            true => ClockControl::None,
            false => settings.clock_control.value,
        },
        replay_mode: settings.replay_mode.value.replay().filter(|_| counts),
        counter_range: Some(settings.range.value).filter(|it| counts && *it != CounterRange::Auto),
        nvtx: settings.nvtx.value.clone(),
        ptx_sha256: kernels.hashes(),
        kernel_toolchain: kernels.toolchain.clone(),
        assembler: kernels.assembler.clone(),
        git_revision: inputs.source.git_revision(),
        not_verified: settings.verify.turned_off("verify"),
        // A run that judges nothing says so in other words.
        not_gated: Some(&settings.gate)
            .filter(|_| inputs.request.purpose.judges())
            .and_then(|gate| gate.turned_off("gate")),
        strict: settings.strict.value,
        quick: inputs.request.purpose == Purpose::Quick,
        profile: Some(settings.profile.value.clone()),
        kernel_arch: Some(settings.kernel_arch.value.clone()),
        first_look: plan
            .limited
            .contains(&true)
            .then_some(plan.repeat.least)
            .filter(|_| plan.most_rounds.is_some()),
        order: schedule::described(
            *order,
            plan.isolate(),
            ahead.times,
            !plan.both.pairs.is_empty(),
        ),
        formulas: formulas(&plan.catalogue),
        rules: plan.own_rules.iter().cloned().map(Into::into).collect(),
        // The rest is known when passes end: devices, timer, input files, times and sources.
        ..Provenance::default()
    }
}

/// The formulas of the workspace's own metrics.
fn formulas(catalogue: &Catalogue) -> BTreeMap<String, String> {
    let Ok(ours) = Sections::built_in() else { return BTreeMap::new() };
    let ours: HashSet<&str> = ours.catalogue().defined().map(|metric| &*metric.name).collect();
    let own = catalogue.defined().filter(|metric| !ours.contains(&*metric.name));
    let formula = |metric: &Arc<Metric>| match &metric.origin {
        Origin::Derived(formula) => Some((metric.name.to_string(), formula.text().to_owned())),
        _ => None,
    };
    own.filter_map(formula).collect()
}

/// The provenance of the other revision, with its `kernels`: all the rest is as in `head`, since
/// one run measures both.
pub(in crate::commands) fn of_base(
    head: &Provenance,
    base: &Base,
    kernels: &Kernels,
) -> Provenance {
    Provenance {
        ptx_sha256: kernels.hashes(),
        kernel_toolchain: kernels.toolchain.clone(),
        git_revision: base.revision.clone(),
        rules: Vec::new(),
        ..head.clone()
    }
}
