//! The build and device of a run; only a run with the same may resume its journal.

use std::collections::BTreeMap;

use gpuprof_model::metric::Catalogue;
use gpuprof_model::protocol::CounterRange;
use gpuprof_model::run::Run;

use crate::commands::run::prepare::prepared::Plan;
use gpuprof_build::harnesses::Harness;
use gpuprof_engine::plan::{Checked, PlannedSeries};
use gpuprof_engine::store::journal::{IdentityPart, RunIdentity};
use gpuprof_system::sha256::sha256;

/// What `plan` is made of, for the journal of the run that is documented so far in `run`, and of
/// the other revision in `base`.
pub(in crate::commands) fn compute(plan: &Plan, run: &Run, base: Option<&Run>) -> RunIdentity {
    let devices = &plan.devices.records;
    let uuids = devices.iter().map(|device| device.uuid.clone());
    let series = |checked: &Checked| {
        let PlannedSeries { series, configurations, .. } = &checked.planned;
        let keys: Vec<String> = configurations.iter().map(ToString::to_string).collect();
        (series.id.full_key(), series.space.axes.clone(), sha256(keys.join("\n").as_bytes()))
    };
    let thresholds = |checked: &Checked| -> Vec<String> {
        let id = &checked.planned.series.id;
        checked.thresholds.iter().map(|placed| format!("{id}: {}", placed.threshold)).collect()
    };
    let baseline = plan.inputs.against.as_ref().filter(|against| !against.in_rounds);
    RunIdentity {
        tool_version: run.provenance.tool_version.clone(),
        kernels: run.provenance.ptx_sha256.clone(),
        harnesses: plan.inputs.source.harnesses.iter().map(Harness::hashed).collect(),
        series: plan.both.heads().iter().map(series).collect(),
        base: base.map(|base| IdentityPart {
            kernels: base.provenance.ptx_sha256.clone(),
            harnesses: plan.both.harnesses[plan.inputs.source.harnesses.len()..]
                .iter()
                .map(Harness::hashed)
                .collect(),
            series: plan.both.bases().iter().map(series).collect(),
        }),
        baseline: baseline.map(|against| against.name.clone()),
        device: devices.first().map(|d| (d.name.clone(), d.uuid.clone(), d.driver_version)),
        devices: if devices.len() > 1 { uuids.collect() } else { Vec::new() },
        backend: run.provenance.backend,
        chips: plan.devices.chips.clone(),
        cache_control: run.provenance.cache_control,
        clock_control: run.provenance.clock_control,
        replay_mode: run.provenance.replay_mode,
        // The emulated driver counts parts by it too, without counters of the hardware.
        counter_range: Some(plan.inputs.settings.range.value)
            .filter(|range| *range != CounterRange::Auto),
        nvtx: run.provenance.nvtx.clone(),
        order: run.provenance.order.clone(),
        repeat: plan.repeat,
        quick: run.provenance.quick,
        counters: plan.counters(),
        checks: Some(plan.inputs.settings.of_checks()),
        thresholds: plan.both.heads().iter().flat_map(thresholds).collect(),
        metrics: Some(sha256(plan.catalogue.definitions().as_bytes())),
        strict: plan.inputs.settings.strict.value,
        collection: Some(collection(plan)),
    }
}

/// The data that `plan` collects in addition to counters, and how far its passes may differ.
fn collection(plan: &Plan) -> BTreeMap<String, String> {
    let mut all = plan.inputs.settings.of_collection();
    let mut facts = plan.attributes();
    let needs = [
        ("energy", plan.energy.contains(&true)),
        ("links", plan.asks(Catalogue::needs_links)),
        ("migrations", plan.asks(Catalogue::needs_unified_memory)),
    ];
    facts.extend(needs.iter().filter(|(_, needed)| *needed).map(|(name, _)| (*name).to_owned()));
    all.insert("facts that metrics need".to_owned(), facts.join(","));
    all
}
