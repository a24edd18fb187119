//! The provenance of a run, as far as it is known before the first pass.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use gpuprof_model::code::Sources;
use gpuprof_model::machine::Backend;
use gpuprof_model::protocol::CounterRange;
use gpuprof_model::run::Provenance;

use super::base::Base;
use super::decided::Plan;
use crate::commands::settings::Settings;
use crate::commands::source::Kernels;
use crate::options::{CacheControl, ClockControl, Purpose, ReplayMode};
use gpuprof_engine::execute::Ahead;
use gpuprof_engine::schedule;
use gpuprof_system::sha256::sha256_of;

/// The provenance of `plan` with `kernels`, which `counts` on hardware or does not; the device of
/// its first pass is put in when that has ended.
pub(super) fn record(plan: &Plan, kernels: &Kernels, counts: bool) -> Provenance {
    let Plan { devices, order, inputs, .. } = plan;
    let conditions = Conditions::select(&inputs.settings);
    let Conditions { ahead, clock_control, cache_control, replay_mode, range, .. } = conditions;
    let Conditions { kernel_arch, profile, .. } = conditions;
    let ahead = Ahead::on(devices.records.first(), ahead);
    let clocks = if devices.emulated { ClockControl::None } else { clock_control };
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now().to_string(),
        backend: Backend::of_device(devices.emulated),
        device: None,
        devices: devices.names(),
        cache_control,
        clock_control: clocks,
        // Known when samples are taken.
        timer: None,
        replay_mode: replay_mode.replay().filter(|_| counts),
        counter_range: (counts && range != CounterRange::Auto).then_some(range),
        ptx_sha256: hashes(kernels),
        // Known when they are read.
        input_sha256: BTreeMap::new(),
        kernel_toolchain: kernels.toolchain.clone(),
        assembler: kernels.assembler.clone(),
        git_revision: inputs.source.git_revision(),
        not_verified: inputs.settings.verify.turned_off("verify"),
        // A run that judges nothing says so in other words.
        not_gated: Some(&inputs.settings.gate)
            .filter(|_| inputs.request.purpose.judges())
            .and_then(|gate| gate.turned_off("gate")),
        strict: inputs.settings.strict.value,
        quick: inputs.request.purpose == Purpose::Quick,
        profile: Some(profile.clone()),
        kernel_arch: Some(kernel_arch.clone()),
        first_look: plan
            .limited
            .contains(&true)
            .then_some(plan.repeat.least)
            .filter(|_| plan.most_rounds.is_some()),
        // Known at the end.
        seconds_per_process: None,
        order: schedule::described(
            *order,
            plan.isolate(),
            ahead.times,
            !plan.both.pairs.is_empty(),
        ),
        // Read at the end.
        sources: Sources::default(),
        rules: plan.own_rules.iter().cloned().map(Into::into).collect(),
        slices: Vec::new(),
        missing_slices: None,
        spans: Vec::new(),
        costs: Vec::new(),
    }
}

/// The provenance of the other revision, with its `kernels`: all the rest is as in `head`, since
/// one run measures both.
pub(super) fn of_base(head: &Provenance, base: &Base, kernels: &Kernels) -> Provenance {
    Provenance {
        ptx_sha256: hashes(kernels),
        kernel_toolchain: kernels.toolchain.clone(),
        git_revision: base.revision.clone(),
        rules: Vec::new(),
        ..head.clone()
    }
}

fn hashes(kernels: &Kernels) -> BTreeMap<String, String> {
    let hash = |(package, path): (&String, &Utf8PathBuf)| Some((package.clone(), sha256_of(path)?));
    kernels.modules.iter().filter_map(hash).collect()
}

/// The settings that change measurements: `analysis`' fingerprint compares them, and a resumed run
/// must share them.
struct Conditions<'a> {
    ahead: Option<u8>,
    clock_control: ClockControl,
    cache_control: CacheControl,
    replay_mode: ReplayMode,
    range: CounterRange,
    kernel_arch: &'a String,
    profile: &'a String,
}

impl<'a> Conditions<'a> {
    /// A new setting does not compile before it is said here which of the two kinds it is.
    fn select(settings: &'a Settings) -> Self {
        #[rustfmt::skip]
        let Settings {
            ahead, clock_control, cache_control, replay_mode, range, kernel_arch, profile,
            // Recorded by their effects: the devices, the toolchain, the order, the plan, and the
            // hashes of build results.
            backend: _, devices: _, expect_device: _, kernel_toolchain: _, interleave: _, isolate: _, repeat: _,
            features: _, all_features: _, default_features: _, bench: _,
            // How launches are matched with each other changes which of them count together; the
            // plan of counters holds it.
            app_replay_match: _, app_replay_mode: _,
            // Recorded in every row.
            check: _, estimate: _,
            // What is measured further for the sake of a verdict.
            max_repeat: _, time_budget: _,
            // Paths of libraries, time limits, selection, retention and judging.
            nvml_path: _, cupti_path: _, timeout: _, wait: _, verify: _, sets: _, sections: _,
            fail_fast: _, retries: _,
            advice: _, rules: _, max_passes: _, sample: _, sample_seed: _, max_configs: _, gate: _, strict: _,
            baseline: _, base: _, across_devices: _, keep_runs: _,
            // What is shown and written.
            best_by: _, reference: _, filter: _, columns: _, sort: _, top: _, pareto: _,
            message_format: _, export_csv: _, export_html: _, export_json: _, export_junit: _,
            export_markdown: _, export_svg: _, color: _, quiet: _,
        } = settings;
        Self {
            ahead: ahead.value.map(Into::into),
            clock_control: clock_control.value,
            cache_control: cache_control.value,
            replay_mode: replay_mode.value,
            range: range.value,
            kernel_arch: &kernel_arch.value,
            profile: &profile.value,
        }
    }
}
