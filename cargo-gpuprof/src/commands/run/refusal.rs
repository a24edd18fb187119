//! Counters that are needed and cannot be had.
//!
//! Comes in: the checked series and what became of the plan for their counters. Goes out: nothing where every
//! threshold can be decided without them (times and launch facts go on, and the counters are `unavailable`);
//! else a refusal before anything runs, since an hour of measuring would end in a verdict that cannot be had.
//! What does not decide the exit code does not decide this either: soft thresholds, thresholds that speak of
//! other devices, and all of them with `--no-gate`.

use std::collections::BTreeSet;

use gpuprof_cupti::Code;
use gpuprof_model::ExitCode;
use gpuprof_model::metric;
use gpuprof_model::threshold::{Severity, Threshold};

use super::Checked;
use crate::error::{Failure, Result};

/// How many thresholds are named before the rest is counted.
const NAMED: usize = 4;

/// Refuses where a threshold of `checked` cannot be met without `counters`, which cannot be had for `reason`.
///
/// # Errors
/// It cannot (exit code 107).
pub(super) fn check(
    checked: &[Checked],
    counters: &[String],
    reason: &str,
    device: Option<&str>,
) -> Result<()> {
    refuse(thresholds(checked), counters, reason, device)
}

/// As [`check`], where a pass found out `reason` while the run went on: what to say, if a threshold needs
/// what could not be had.
pub(super) fn found_out(
    checked: &[Checked],
    counters: &[String],
    reason: &str,
    device: Option<&str>,
) -> Option<String> {
    let blocked = blocked(thresholds(checked), counters, device);
    (!blocked.is_empty()).then(|| {
        let list = listed(blocked);
        format!("thresholds need hardware counters, which were denied during the run.\n  {list}\n{reason}")
    })
}

/// Whether `reason`, for which counters cannot be had, is that the device is a virtual GPU.
pub(super) fn is_virtual_gpu(reason: &str) -> bool {
    [Code::VirtualizedDeviceInsufficientPrivileges, Code::VirtualizedDeviceNotSupported]
        .iter()
        .any(|code| reason.contains(code.advice().cause))
}

fn thresholds(checked: &[Checked]) -> impl Iterator<Item = (String, &Threshold, &str)> {
    checked.iter().flat_map(|series| {
        let id = &series.planned.series.id;
        let placed = series.thresholds.iter();
        placed.map(move |placed| (id.to_string(), &placed.threshold, &*placed.origin))
    })
}

/// The thresholds that decide and need one of `counters`, each with the counter.
fn blocked<'t>(
    thresholds: impl Iterator<Item = (String, &'t Threshold, &'t str)>,
    counters: &[String],
    device: Option<&str>,
) -> Vec<String> {
    let missing: BTreeSet<&str> = counters.iter().map(String::as_str).collect();
    let blocked = |(series, threshold, origin): (String, &Threshold, &str)| {
        let speaks = device.is_none_or(|device| threshold.speaks_of(device));
        let metric = metric::find(&threshold.metric)
            .filter(|_| threshold.severity == Severity::Hard && speaks)?;
        let counter =
            metric::hardware_names(metric).into_iter().find(|name| missing.contains(name))?;
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

fn refuse<'t>(
    thresholds: impl Iterator<Item = (String, &'t Threshold, &'t str)>,
    counters: &[String],
    reason: &str,
    device: Option<&str>,
) -> Result<()> {
    let blocked = blocked(thresholds, counters, device);
    if blocked.is_empty() {
        return Ok(());
    }
    let message = format!(
        "thresholds need hardware counters, and this machine does not give them; nothing was run.\n  {}\n\
         {reason}\nWithout counters: --no-gate takes times and launch facts and judges nothing; --replay-mode none \
         judges what it can and leaves these thresholds `unavailable`; --backend emulator counts exactly. \
         `cargo gpuprof doctor` checks the machine",
        listed(blocked)
    );
    Err(Failure::new(ExitCode::NotPossible, message))
}

#[cfg(test)]
mod tests {
    use gpuprof_cupti::Code;

    use super::*;

    fn check(texts: &[&str], reason: &str) -> Result<()> {
        let thresholds: Vec<Threshold> =
            texts.iter().map(|text| Threshold::parse(text).unwrap()).collect();
        let counters = metric::hardware_names(metric::find("dram_throughput").unwrap());
        let counters: Vec<String> = counters.into_iter().map(str::to_owned).collect();
        let placed =
            thresholds.iter().map(|t| ("saxpy::kernels::saxpy".to_owned(), t, "attribute"));
        refuse(placed, &counters, reason, Some("NVIDIA H200"))
    }

    #[test]
    fn a_threshold_on_a_counter_that_cannot_be_had_is_refused_with_the_reason() {
        let reason = "cuptiRangeProfilerEnable failed: …";
        let failure =
            check(&["every duration <= 1 s", "best dram_throughput >= 60%"], reason).unwrap_err();
        assert_eq!(failure.code, ExitCode::NotPossible);
        assert_eq!(
            failure.message,
            "thresholds need hardware counters, and this machine does not give them; nothing was run.\n  \
             saxpy::kernels::saxpy: `best dram_throughput >= 60%` (attribute) needs \
             gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed\n\
             cuptiRangeProfilerEnable failed: …\n\
             Without counters: --no-gate takes times and launch facts and judges nothing; --replay-mode none judges \
             what it can and leaves these thresholds `unavailable`; --backend emulator counts exactly. \
             `cargo gpuprof doctor` checks the machine"
        );
    }

    #[test]
    fn thresholds_that_can_be_decided_without_counters_go_on() {
        assert_eq!(check(&[], "no"), Ok(()));
        assert_eq!(check(&["every duration <= 1 s", "best throughput >= 1 TB/s"], "no"), Ok(()));
    }

    #[test]
    fn what_decides_nothing_refuses_nothing() {
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
