//! The checks of the driver and of a GPU's settings: permission, persistence, MIG, vGPU, clocks.
//! Nothing is set.

use super::check::{Check, PARAMETERS, State};
use gpuprof_engine::cupti::{Answer, Refusal};
use gpuprof_engine::device::nvml::{Facts, MIG_PREFIX};

/// The driver, and how many devices it shows.
pub(super) fn driver(answer: &Answer, expected: bool) -> Check {
    match answer {
        Answer::Driver(devices) => {
            let version = version(answer).unwrap_or(0);
            let (count, plural) = (devices.len(), if devices.len() == 1 { "" } else { "s" });
            let found =
                format!("CUDA {}.{}, {count} device{plural}", version / 1000, version % 1000 / 10);
            Check::new(State::Ok, "driver", found)
        }
        Answer::Refused(Refusal { reason, .. }) | Answer::NoDriver(reason) => {
            Check::new(if expected { State::Fail } else { State::Warn }, "driver", reason.clone())
        }
        _ => Check::new(State::Fail, "driver", "an unexpected answer came back"),
    }
}

/// The driver's version, in its own form: 13000.
pub(super) fn version(answer: &Answer) -> Option<u32> {
    match answer {
        Answer::Driver(devices) => devices.first().map(|device| device.driver_version),
        _ => None,
    }
}

/// Who may read counters, by the kernel module's parameters.
pub(super) fn permission(parameters: Option<&str>) -> Check {
    let what = "permission";
    let Some(parameters) = parameters else {
        return Check::new(
            State::Warn,
            what,
            format!("{PARAMETERS} cannot be read; see the trial under `counters`"),
        );
    };
    let value = parameters.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"));
    match value.map(str::trim) {
        Some("0") => Check::new(State::Ok, what, "all users may read counters"),
        Some(_) if rustix::process::geteuid().is_root() => {
            Check::new(State::Ok, what, "only administrators may read counters, and you are one")
        }
        Some(_) => {
            let advice = gpuprof_cupti::Code::InsufficientPrivileges.advice();
            let found =
                format!("{}; check: {}; remedy: {}", advice.cause, advice.check, advice.remedy);
            Check::new(State::Warn, what, found)
        }
        None => Check::new(
            State::Warn,
            what,
            "the driver does not say which users may read counters; see the trial under `counters`",
        ),
    }
}

/// NVML's data on persistence, MIG, vGPU and clocks of the device `uuid`.
pub(super) fn settings(answer: Answer, uuid: &str) -> Vec<Check> {
    match answer {
        Answer::Nvml(facts) => of_facts(&facts, uuid),
        answer => {
            let reason = answer.refusal();
            let found = format!("persistence mode, MIG and clocks are unknown: {reason}");
            vec![Check::new(State::Warn, "settings", found)]
        }
    }
}

fn of_facts(facts: &Facts, uuid: &str) -> Vec<Check> {
    let unknown = |what| Check::new(State::Warn, what, "the driver does not report it");
    let persistence = match facts.persistence {
        Some(true) => Check::new(State::Ok, "persistence", "on"),
        Some(false) => Check::new(
            State::Warn,
            "persistence",
            "off: every process loads the driver again, which takes seconds; remedy: run \
             `nvidia-smi -pm 1` as an administrator, or start nvidia-persistenced",
        ),
        None => unknown("persistence"),
    };
    let mut checks = vec![persistence, mig(facts, uuid)];
    if facts.vgpu == Some(true) {
        let advice = gpuprof_cupti::Code::VirtualizedDeviceInsufficientPrivileges.advice();
        let found = format!(
            "this is a virtual GPU: times include interference from other VMs, clocks cannot be \
             locked, and the host must allow counters; check: {}; remedy: {}",
            advice.check, advice.remedy
        );
        checks.push(Check::new(State::Warn, "vGPU", found));
    }
    checks.push(match (facts.sm_mhz, facts.max_sm_mhz) {
        (Some(now), Some(most)) if facts.slowed.is_empty() => {
            let found =
                format!("SM at {now} MHz, at most {most} MHz; only --clock-control changes it");
            Check::new(State::Ok, "clocks", found)
        }
        (Some(now), _) if !facts.slowed.is_empty() => {
            let found = format!(
                "SM at {now} MHz, slowed by: {}; check: nvidia-smi -q -d \
                 PERFORMANCE,TEMPERATURE,POWER; remedy: let the GPU cool down, or stop the other \
                 processes on it",
                facts.slowed.join(", ")
            );
            Check::new(State::Warn, "clocks", found)
        }
        _ => unknown("clocks"),
    });
    checks
}

fn mig(facts: &Facts, uuid: &str) -> Check {
    match facts.mig {
        _ if uuid.starts_with(MIG_PREFIX) => Check::new(
            State::Warn,
            "MIG",
            format!(
                "{uuid} is a MIG slice: units that it shares with other slices have no counters, \
                 and its clocks cannot be locked, since the whole GPU shares them; remedy: use a \
                 compute instance that owns its GPU instance, or run `nvidia-smi -mig 0` as an \
                 administrator"
            ),
        ),
        Some(true) => Check::new(
            State::Warn,
            "MIG",
            "on, but no slice is visible; remedy: create one with `nvidia-smi mig -cgi … -C`, or \
             turn MIG off with `nvidia-smi -mig 0`",
        ),
        // A device without MIG reports "not supported".
        Some(false) | None => Check::new(State::Ok, "MIG", "off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_for_counters_is_read_from_kernel_module_parameters() {
        let check = |text: &str| permission(Some(text)).state;
        assert_eq!(check("ResmanDebugLevel: 1\nRmProfilingAdminOnly: 0\n"), State::Ok);
        let locked = permission(Some("RmProfilingAdminOnly: 1\n"));
        if rustix::process::geteuid().is_root() {
            assert_eq!(locked.state, State::Ok);
        } else {
            assert!(locked.found.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{locked:?}");
        }
        assert_eq!(permission(None).state, State::Warn);
    }

    fn fine() -> Facts {
        Facts {
            driver: Some("580.95.05".into()),
            persistence: Some(true),
            mig: Some(false),
            vgpu: Some(false),
            sm_mhz: Some(345),
            max_sm_mhz: Some(1980),
            slowed: Vec::new(),
        }
    }

    fn list_states(facts: &Facts, uuid: &str) -> Vec<(State, &'static str)> {
        of_facts(facts, uuid).into_iter().map(|check| (check.state, check.what)).collect()
    }

    #[test]
    fn a_machine_in_order_is_reported_in_three_lines() {
        let expected = [(State::Ok, "persistence"), (State::Ok, "MIG"), (State::Ok, "clocks")];
        assert_eq!(list_states(&fine(), "GPU-1"), expected);
        let clocks = of_facts(&fine(), "GPU-1").pop().unwrap().found;
        assert!(clocks.starts_with("SM at 345 MHz, at most 1980 MHz;"), "{clocks}");
    }

    #[test]
    fn problems_are_reported_with_their_remedies() {
        let facts = Facts {
            persistence: Some(false),
            vgpu: Some(true),
            slowed: vec!["temperature (hardware)".into()],
            ..fine()
        };
        let checks = of_facts(&facts, "MIG-1");
        let states: Vec<_> = checks.iter().map(|check| check.what).collect();
        assert_eq!(states, ["persistence", "MIG", "vGPU", "clocks"]);
        for check in &checks {
            assert_eq!(check.state, State::Warn, "{check:?}");
            assert!(check.found.contains("remedy: "), "{check:?}");
        }
        assert!(checks[3].found.contains("slowed by: temperature (hardware);"), "{checks:?}");
    }

    #[test]
    fn facts_unknown_to_nvml_are_reported() {
        let checks =
            settings(Answer::Refused("NVML does not work: gone".to_owned().into()), "GPU-1");
        assert_eq!(
            checks[0].found,
            "persistence mode, MIG and clocks are unknown: NVML does not work: gone"
        );
        assert_eq!(list_states(&Facts::default(), "GPU-1")[0], (State::Warn, "persistence"));
    }
}
