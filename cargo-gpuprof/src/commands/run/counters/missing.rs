//! Counters that are needed and cannot be had.
//!
//! Input: the checked series and the result of planning the counters of a device. Output: nothing
//! if every threshold can be decided without them (times and launch facts continue, and the
//! counters are `unavailable`); else a refusal before anything runs, since an hour of measuring
//! would end in an undecidable verdict. A threshold that cannot change the exit code does not cause
//! a refusal: soft thresholds, thresholds for other devices or for measurements of other devices of
//! the run, and all of them with `--no-gate`.
//!
//! Reasons that appear only at the end of a run (a pass that was denied, a threshold from its
//! baseline) are read from the verdicts: a threshold that was decided needed no counters.

use std::collections::BTreeSet;

use gpuprof_model::ExitCode;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Run;
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::commands::run::prepare::prepared::Plan;
use crate::options::ReplayMode;
use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_engine::plan::Checked;
use gpuprof_system::error::{Failure, Result};

/// That thresholds cannot be met without counters that a device does not give.
#[derive(Debug)]
pub(in crate::commands) struct Blocked {
    /// The thresholds, one a line.
    pub(in crate::commands) thresholds: String,
    /// Why the counters cannot be had.
    reason: String,
}

impl Blocked {
    /// The exit code of such a run.
    pub(in crate::commands) const CODE: ExitCode = ExitCode::NotPossible;

    /// Refuses unless no threshold is `blocked` for this `reason`.
    fn unless_empty(blocked: Vec<String>, reason: String) -> Result<(), Self> {
        match blocked.is_empty() {
            true => Ok(()),
            false => Err(Self { thresholds: listed(blocked), reason }),
        }
    }

    /// The failure that a run ends with.
    pub(in crate::commands) fn into_failure(self) -> Failure {
        let Self { thresholds, reason } = self;
        let message = format!(
            "thresholds need hardware counters, but this machine does not provide them; nothing \
             was run.\n  {thresholds}\n\
             {reason}\nTo run without counters: --no-gate measures times and launch facts and \
             judges nothing; --replay-mode none judges what it can and leaves these thresholds \
             `unavailable`; --backend emulator counts exactly. `cargo gpuprof doctor` checks the \
             machine"
        );
        Failure::new(Self::CODE, message)
    }
}

/// How many thresholds are named before the rest is counted.
const NAMED: usize = 4;

/// Refuses `plan` if a threshold of it cannot be met because a device does not give the counters
/// for the configurations that it measures.
///
/// # Errors
/// There is one (exit code 107).
pub(in crate::commands) fn check(plan: &Plan) -> Result<(), Blocked> {
    let Plan { catalogue, both, setups, devices, assignment, inputs, .. } = plan;
    let settings = &inputs.settings;
    if settings.replay_mode.value == ReplayMode::None || !settings.gate.value {
        return Ok(());
    }
    let name = devices.records.first().map(|device| device.name.as_str());
    for (device, setup) in setups.iter().enumerate() {
        let Some((counters, reason)) = setup.denied(None) else { continue };
        let of_series = |(at, series): (usize, &Checked)| {
            let all = &series.planned.configurations;
            let concerns = |own: &&ConfiguredThreshold| {
                let spoken_of = |index: &usize| own.threshold.selector.matches(&all[*index]);
                let mut concerned = (0..all.len()).filter(spoken_of);
                concerned.any(|index| assignment.device((at, index)) == device)
            };
            let id = series.planned.series.id.to_string();
            let concerned = series.thresholds.iter().filter(concerns);
            concerned.map(|own| (id.clone(), own.clone())).collect::<Vec<_>>()
        };
        let thresholds = both.heads().iter().enumerate().flat_map(of_series);
        let blocked = blocked(catalogue, thresholds, &counters, name);
        Blocked::unless_empty(blocked, devices.blamed(device, reason))?;
    }
    Ok(())
}

/// The message after a `run`, if thresholds of it could not be decided because of missing
/// `counters`.
pub(in crate::commands) fn found_out(
    catalogue: &Catalogue,
    run: &Run,
    counters: &[String],
    reason: &str,
) -> Option<String> {
    let undecided = run.series.iter().flat_map(|series| {
        let judged = series.judgements.iter().filter(|j| j.verdict == Verdict::Unavailable);
        let threshold = |judgement: &Judgement| {
            let threshold = judgement.threshold.parsed.clone().ok()?;
            let own = ConfiguredThreshold::new(threshold, judgement.origin.clone());
            Some((series.id.to_string(), own))
        };
        judged.filter_map(threshold)
    });
    let blocked = blocked(catalogue, undecided, counters, None);
    (!blocked.is_empty()).then(|| {
        let list = listed(blocked);
        format!(
            "thresholds need hardware counters, which could not be collected.\n  {list}\n{reason}"
        )
    })
}

/// The thresholds that decide and need one of `counters`, each with the counter.
fn blocked(
    catalogue: &Catalogue,
    thresholds: impl Iterator<Item = (String, ConfiguredThreshold)>,
    counters: &[String],
    device: Option<&str>,
) -> Vec<String> {
    let missing: BTreeSet<&str> = counters.iter().map(String::as_str).collect();
    let blocked = |(series, own): (String, ConfiguredThreshold)| {
        let ConfiguredThreshold { threshold, origin, .. } = own;
        let speaks = device.is_none_or(|device| threshold.applies_to_device(device));
        let metric = catalogue
            .find(&threshold.metric)
            .filter(|_| threshold.severity == Severity::Hard && speaks)?;
        let counters = catalogue.hardware_names(&metric);
        let counter = counters.into_iter().find(|name| missing.contains(&**name))?;
        Some(format!("{series}: `{}` ({origin}) needs {counter}", threshold.text))
    };
    thresholds.filter_map(blocked).collect()
}

fn listed(mut blocked: Vec<String>) -> String {
    let more = match blocked.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    blocked.truncate(NAMED);
    blocked.join("\n  ") + &more
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use gpuprof_cupti::Code;
    use gpuprof_model::Threshold;
    use gpuprof_model::verdict::Layer;

    use super::*;

    fn check(texts: &[&str], reason: &str) -> Result<()> {
        let thresholds: Vec<Threshold> =
            texts.iter().map(|text| Threshold::parse(text).unwrap()).collect();
        let catalogue = Catalogue::built_in();
        let counters = catalogue.hardware_names(&catalogue.find("dram_throughput").unwrap());
        let counters: Vec<String> = counters.into_iter().map(Cow::into_owned).collect();
        let key = || "saxpy::saxpy".to_owned();
        let own = |t| (key(), ConfiguredThreshold::new(t, Layer::Attribute));
        let placed = thresholds.into_iter().map(own);
        let blocked = blocked(&catalogue, placed, &counters, Some("NVIDIA H200"));
        Blocked::unless_empty(blocked, reason.to_owned()).map_err(Blocked::into_failure)
    }

    #[test]
    fn a_threshold_on_an_unavailable_counter_is_refused_with_the_reason() {
        let reason = "cuptiRangeProfilerEnable failed: …";
        let failure =
            check(&["every duration <= 1 s", "best dram_throughput >= 60%"], reason).unwrap_err();
        assert_eq!(failure.code, ExitCode::NotPossible);
        assert_eq!(
            failure.message,
            "thresholds need hardware counters, but this machine does not provide them; nothing \
             was run.\n  saxpy::saxpy: `best dram_throughput >= 60%` (attribute) needs \
             gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed\n\
             cuptiRangeProfilerEnable failed: …\n\
             To run without counters: --no-gate measures times and launch facts and judges \
             nothing; --replay-mode none judges what it can and leaves these thresholds \
             `unavailable`; --backend emulator counts exactly. `cargo gpuprof doctor` checks the \
             machine"
        );
    }

    #[test]
    fn thresholds_without_counters_need_no_permission() {
        assert_eq!(check(&[], "no"), Ok(()));
        assert_eq!(check(&["every duration <= 1 s", "best throughput >= 1 TB/s"], "no"), Ok(()));
    }

    #[test]
    fn soft_and_inapplicable_thresholds_are_not_refused() {
        assert_eq!(check(&["warn best dram_throughput >= 60%"], "no"), Ok(()));
        assert_eq!(check(&["on \"A100\" best dram_throughput >= 60%"], "no"), Ok(()));
    }

    /// Every obstacle that the machine can be, by CUPTI's code, with a word of its remedy.
    #[test]
    fn every_obstacle_comes_with_its_remedy() {
        let obstacles = [
            (Code::InsufficientPrivileges, "NVreg_RestrictProfilingToAdminUsers=0"),
            (Code::HardwareBusy, "dcgmi profile --pause"),
            (Code::VirtualizedDeviceInsufficientPrivileges, "enable_profiling=1"),
            (Code::VirtualizedDeviceNotSupported, "passed-through GPU"),
            (Code::MigDeviceNotSupported, "owns its whole GPU instance"),
            (Code::ConfidentialComputingNotSupported, "devtools mode"),
            (Code::InvalidChipName, "pip install --upgrade nvidia-cuda-cupti"),
            (Code::InvalidChipName, "a GPU below 7.0 has no counters"),
            (Code::NotInitialized, "reinstall CUPTI"),
            (Code::NotCompatible, "the driver's CUDA major version"),
            (Code::MultipleSubscribersNotSupported, "run without that tool"),
        ];
        for (code, remedy) in obstacles {
            let call = "cuptiRangeProfilerEnable";
            let reason = gpuprof_cupti::Failure { call, code }.to_string();
            let message = check(&["best dram_throughput >= 60%"], &reason).unwrap_err().message;
            assert!(message.contains(&format!("{call} failed: {code}")), "{message}");
            for word in ["\n  cause: ", "\n  check: ", "\n  remedy: ", remedy] {
                assert!(message.contains(word), "{word} is not in {message}");
            }
        }
    }
}
