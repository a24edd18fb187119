//! The baseline that a run is compared with, read before anything runs.

use camino::Utf8Path;

use crate::commands::Source;
use crate::commands::run::prepare::request::Request;
use crate::commands::selection::Named;
use crate::commands::settings::Settings;
use crate::commands::stored::refuse_quick;
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_engine::store::baselines::{Baselines, ResolvedBaseline};
use gpuprof_system::error::{Failure, Result};

/// The baseline of the run, read before anything runs.
///
/// # Errors
/// There is none of that name, unless nothing is gated or this run is to become it.
pub(in crate::commands) fn read(
    request: &Request,
    settings: &Settings,
    baselines: &Baselines,
    source: &Source,
) -> Result<Option<Against>> {
    let scope = scope(request, source);
    stored(baselines, (settings, &source.root()), scope, request.save_baseline.as_deref())
}

/// The baseline of a run next to a revision without a harness: its `name`, and the missing part. A
/// note says that the run measures this revision alone.
pub(in crate::commands) fn absent(
    (name, reason): (String, String),
    request: &Request,
    settings: &Settings,
    source: &Source,
) -> Against {
    let reason = format!("the base {name} has nothing to compare with: {reason}");
    settings.notes().say(format_args!("{reason}; this revision is measured alone"));
    let across_devices = settings.across_devices.value;
    Against {
        name,
        run: Err(reason),
        across_devices,
        in_rounds: true,
        scope: scope(request, source),
    }
}

/// The scope of a run of this `request`, for its comparison.
pub(in crate::commands) fn scope(request: &Request, source: &Source) -> Scope {
    let Named { series, filters } = request.named.clone();
    Scope {
        whole: series.is_empty() && request.given.sample.is_none(),
        filters,
        other_packages: source.other_packages(),
        targets: source.bench_targets().to_vec(),
    }
}

/// The stored baseline that `settings` name in the workspace at `root`, for a run of this `scope`.
/// If it is missing, only a run that gates nothing or that `makes` it continues.
///
/// # Errors
/// It is missing (exit code 2, or 96 where the configuration file names it), no run, or a quick
/// one.
pub(in crate::commands) fn stored(
    baselines: &Baselines,
    (settings, root): (&Settings, &Utf8Path),
    scope: Scope,
    makes: Option<&str>,
) -> Result<Option<Against>> {
    let Some(name) = settings.baseline_of(root) else { return Ok(None) };
    let found = baselines.read(&name)?;
    match &found {
        ResolvedBaseline::Missing(reason) if settings.gate.value && makes != Some(&name) => {
            let message = format!("{reason}\n--no-gate continues without a baseline");
            return Err(settings.baseline.blamed(Failure::usage(message)));
        }
        ResolvedBaseline::Missing(_) => {}
        ResolvedBaseline::Run(run) => refuse_quick(&name, run)?,
    }
    let (run, across_devices) = (found.into(), settings.across_devices.value);
    Ok(Some(Against { name, run, across_devices, in_rounds: false, scope }))
}
