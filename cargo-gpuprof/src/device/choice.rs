//! Which devices a run measures on, and which configuration goes to which of them. Pure.
//!
//! Comes in: what was asked for (`--devices 0,1`, `all`, UUIDs) and the devices that the driver shows. Goes out:
//! those devices, and one of them for every configuration. A configuration is measured on one device from its first
//! pass to its last; which one follows from the positions alone, so that a run that is resumed or repeated on the
//! same devices puts it on the same one. Devices of one run are of one model: between models every comparison
//! inside a series would be one between machines.

use std::str::FromStr;

use gpuprof_model::measurement::DeviceRecord;

use crate::error::{Failure, Result};

/// What `--devices` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Every device that the driver shows.
    All,
    /// These, in this order.
    These(Vec<Name>),
}

/// How a device is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// By its position among those that the driver shows.
    Position(usize),
    /// By its UUID, or the beginning of one.
    Uuid(String),
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let name = |word: &str| match word.trim() {
            word if word.starts_with("GPU-") || word.starts_with("MIG-") => {
                Ok(Name::Uuid(word.to_owned()))
            }
            word => word.parse().map(Name::Position).map_err(|_| {
                format!(
                    "`{word}` is no device: write positions or UUIDs separated by commas, or `all`"
                )
            }),
        };
        text.split(',').map(name).collect::<Result<_, _>>().map(Self::These)
    }
}

/// The devices asked for, of those `shown`; without a word about it the first.
///
/// # Errors
/// A device that is not there or named twice, and devices of different models (exit code 2).
pub fn choose<'d>(
    asked: Option<&Asked>,
    shown: &'d [DeviceRecord],
) -> Result<Vec<&'d DeviceRecord>> {
    let chosen = match asked {
        None => shown.iter().take(1).collect(),
        Some(Asked::All) => shown.iter().collect(),
        Some(Asked::These(names)) => {
            let mut chosen: Vec<&DeviceRecord> = Vec::new();
            for name in names {
                let device = find(name, shown)?;
                if chosen.iter().any(|other| other.uuid == device.uuid) {
                    return Err(Failure::usage(format!("--devices names {} twice", device.uuid)));
                }
                chosen.push(device);
            }
            chosen
        }
    };
    if let [first, others @ ..] = chosen.as_slice()
        && let Some(other) = others.iter().find(|other| model(other) != model(first))
    {
        return Err(Failure::usage(format!(
            "a run measures on devices of one model, and --devices names {} ({}) and {} ({}); start one run for \
             each model",
            first.name, first.uuid, other.name, other.uuid
        )));
    }
    Ok(chosen)
}

fn find<'d>(name: &Name, shown: &'d [DeviceRecord]) -> Result<&'d DeviceRecord> {
    let found: Vec<&DeviceRecord> = match name {
        Name::Position(at) => shown.get(*at).into_iter().collect(),
        Name::Uuid(start) => shown.iter().filter(|device| device.uuid.starts_with(start)).collect(),
    };
    if let [device] = found[..] {
        return Ok(device);
    }
    let text = match name {
        Name::Position(at) => at.to_string(),
        Name::Uuid(uuid) => uuid.clone(),
    };
    let problem = if found.is_empty() { "which is not there" } else { "which several have" };
    let list: Vec<String> = shown
        .iter()
        .enumerate()
        .map(|(at, device)| format!("\n  {at}  {}  {}", device.uuid, device.name))
        .collect();
    Err(Failure::usage(format!(
        "--devices names {text}, {problem}; the driver shows{}",
        list.concat()
    )))
}

/// What must be alike: name, architecture and size.
fn model(device: &DeviceRecord) -> (&str, (u32, u32), u32, u64) {
    (&device.name, device.compute_capability, device.sm_count, device.l2_bytes)
}

/// The device of configuration `configuration` of series `series`, of `devices`: in turns, and each series
/// begins with another, so that many short series are spread too.
pub fn place(series: usize, configuration: usize, devices: usize) -> usize {
    (series + configuration) % devices.max(1)
}

#[cfg(test)]
mod tests {
    use gpuprof_model::ExitCode;
    use proptest::prelude::*;

    use super::*;
    use crate::compare::fixture::h200;

    fn devices() -> Vec<DeviceRecord> {
        let device = |uuid: &str| DeviceRecord { uuid: uuid.into(), ..h200() };
        vec![device("GPU-11-a"), device("GPU-12-b"), device("GPU-22-c")]
    }

    fn chosen(text: &str) -> Result<Vec<String>> {
        let (asked, shown) = (text.parse().unwrap(), devices());
        Ok(choose(Some(&asked), &shown)?.into_iter().map(|device| device.uuid.clone()).collect())
    }

    #[test]
    fn devices_are_named_by_position_uuid_or_all_together() {
        assert_eq!(chosen("all").unwrap(), ["GPU-11-a", "GPU-12-b", "GPU-22-c"]);
        assert_eq!(chosen("2,0").unwrap(), ["GPU-22-c", "GPU-11-a"]);
        assert_eq!(chosen("GPU-22, 1").unwrap(), ["GPU-22-c", "GPU-12-b"]);
        assert_eq!(choose(None, &devices()).unwrap()[0].uuid, "GPU-11-a");
        assert_eq!(choose(None, &[]).unwrap(), Vec::<&DeviceRecord>::new());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_is_there() {
        let failure = chosen("7").unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
        assert_eq!(
            failure.message,
            "--devices names 7, which is not there; the driver shows\n  0  GPU-11-a  NVIDIA H200\n  1  GPU-12-b  \
             NVIDIA H200\n  2  GPU-22-c  NVIDIA H200"
        );
        assert!(
            chosen("GPU-1")
                .unwrap_err()
                .message
                .starts_with("--devices names GPU-1, which several have;")
        );
        assert_eq!(chosen("0,GPU-11-a").unwrap_err().message, "--devices names GPU-11-a twice");
        assert_eq!(
            "0,one".parse::<Asked>().unwrap_err(),
            "`one` is no device: write positions or UUIDs separated by commas, or `all`"
        );
    }

    #[test]
    fn different_models_are_refused() {
        let mut mixed = devices();
        mixed[1].name = "NVIDIA A100".into();
        let failure = choose(Some(&Asked::All), &mixed).unwrap_err();
        assert_eq!(
            failure.message,
            "a run measures on devices of one model, and --devices names NVIDIA H200 (GPU-11-a) and NVIDIA A100 \
             (GPU-12-b); start one run for each model"
        );
        assert!(choose(Some(&"0,2".parse().unwrap()), &mixed).is_ok());
    }

    proptest! {
        #[test]
        fn no_device_has_two_configurations_more_than_another(
            series in 0..9_usize, count in 0..99_usize, devices in 1..9_usize,
        ) {
            let mut load = vec![0_usize; devices];
            (0..count).for_each(|c| load[place(series, c, devices)] += 1);
            prop_assert!(load.iter().max().unwrap() - load.iter().min().unwrap() <= 1);
        }
    }
}
