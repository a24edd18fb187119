//! Which devices a run measures on. Pure.
//!
//! Comes in: what was asked for (`0,1`, `all`, UUIDs or their beginnings, as `CUDA_VISIBLE_DEVICES` takes them) and the
//! devices that the driver shows. Goes out: those devices, in the order of their UUIDs, so that the same devices are
//! always locked, and given the same configurations, in the same order. They are of one model: between models every
//! comparison inside a run would be one between machines.

use std::fmt;
use std::str::FromStr;

use gpuprof_model::measurement::{DeviceRecord, MIG_PREFIX};
use serde::{Deserialize, Deserializer, de};

use crate::error::{Failure, Result};

/// What `--devices` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Every device that the driver shows.
    All,
    /// These.
    These(Vec<Name>),
}

/// How a device is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// By its position among those that the driver shows.
    Ordinal(usize),
    /// By its UUID, or the beginning of one.
    Uuid(String),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinal(at) => at.fmt(f),
            Self::Uuid(start) => f.write_str(start),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::These(names) => {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let wrong = |word: &str| {
            format!(
                "`{word}` is no device: give ordinals, UUIDs (GPU-… or MIG-…) or their beginnings, \
                 separated by commas, or `all`"
            )
        };
        let name = |word: &str| match word.trim() {
            word if word.starts_with("GPU-") || word.starts_with(MIG_PREFIX) => {
                Ok(Name::Uuid(word.to_owned()))
            }
            word => word.parse().map(Name::Ordinal).map_err(|_| wrong(word)),
        };
        text.split(',').map(name).collect::<Result<_, _>>().map(Self::These)
    }
}

impl<'de> Deserialize<'de> for Asked {
    /// `"all"`, `"0,1"`, `1`, `[0, 1]` or `["GPU-…", "GPU-…"]`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"all\", \"0,1\" or a list of ordinals and UUIDs")]
        enum Written {
            Ordinal(usize),
            Text(String),
            List(Vec<Written>),
        }
        fn text(written: &Written) -> String {
            match written {
                Written::Ordinal(at) => at.to_string(),
                Written::Text(text) => text.clone(),
                Written::List(list) => list.iter().map(text).collect::<Vec<_>>().join(","),
            }
        }
        text(&Written::deserialize(deserializer)?).parse().map_err(de::Error::custom)
    }
}

impl Asked {
    /// The MIG instances that are named and not among those `shown`: the driver shows a process no more than one, and
    /// another only where it is asked for it.
    pub fn hidden_instances<'a>(&'a self, shown: &[DeviceRecord]) -> Vec<&'a str> {
        let Self::These(names) = self else { return Vec::new() };
        let hidden = |name: &'a Name| match name {
            Name::Uuid(start) if start.starts_with(MIG_PREFIX) => {
                let known = shown.iter().any(|device| device.uuid.starts_with(start));
                (!known).then_some(start.as_str())
            }
            _ => None,
        };
        names.iter().filter_map(hidden).collect()
    }

    /// The devices asked for, of those `shown`, in the order of their UUIDs.
    ///
    /// # Errors
    /// A device that is not there or named twice, and devices of different models (exit code 2).
    pub fn choose(&self, shown: &[DeviceRecord]) -> Result<Vec<DeviceRecord>> {
        let mut chosen: Vec<&DeviceRecord> = Vec::new();
        match self {
            Self::All => chosen.extend(shown),
            Self::These(names) => {
                for name in names {
                    let device = name.find(shown)?;
                    if chosen.iter().any(|other| other.uuid == device.uuid) {
                        let uuid = &device.uuid;
                        return Err(Failure::usage(format!(
                            "{uuid} is named twice ({self}); name every device once"
                        )));
                    }
                    chosen.push(device);
                }
            }
        }
        one_model(&chosen)?;
        chosen.sort_by(|a, b| a.uuid.cmp(&b.uuid));
        Ok(chosen.into_iter().cloned().collect())
    }
}

impl Name {
    fn find<'d>(&self, shown: &'d [DeviceRecord]) -> Result<&'d DeviceRecord> {
        let found: Vec<&DeviceRecord> = match self {
            Self::Ordinal(at) => shown.get(*at).into_iter().collect(),
            Self::Uuid(start) => {
                shown.iter().filter(|device| device.uuid.starts_with(start)).collect()
            }
        };
        if let [device] = found[..] {
            return Ok(device);
        }
        let problem = match found.len() {
            0 => format!("there is no device {self}"),
            several => format!("{self} is the beginning of {several} UUIDs"),
        };
        let sliced = shown.iter().any(|device| device.uuid.starts_with(MIG_PREFIX));
        let help = match self {
            Self::Uuid(start) if sliced && !start.starts_with(MIG_PREFIX) => {
                "\nA GPU in MIG mode is measured on by its instances: `nvidia-smi -L` lists their UUIDs (MIG-…)"
            }
            _ => "",
        };
        Err(Failure::usage(format!("{problem}; the driver shows{}{help}", listed(shown))))
    }
}

/// "\n  0  GPU-…  NVIDIA H200", and what `CUDA_VISIBLE_DEVICES` has to do with it is the book's to tell.
fn listed(shown: &[DeviceRecord]) -> String {
    let line = |(at, device): (usize, &DeviceRecord)| {
        format!("\n  {at}  {}  {}", device.uuid, device.name)
    };
    shown.iter().enumerate().map(line).collect()
}

fn one_model(chosen: &[&DeviceRecord]) -> Result<()> {
    /// What must be alike: name, architecture and size.
    fn model(device: &DeviceRecord) -> (&str, (u32, u32), u32, u64) {
        (&device.name, device.compute_capability, device.sm_count, device.l2_bytes)
    }
    let [first, others @ ..] = chosen else { return Ok(()) };
    let Some(other) = others.iter().find(|other| model(other) != model(first)) else {
        return Ok(());
    };
    let told = |device: &DeviceRecord| {
        let (major, minor) = device.compute_capability;
        format!("{} (sm_{major}{minor}, {} SMs, {})", device.name, device.sm_count, device.uuid)
    };
    Err(Failure::usage(format!(
        "the devices of a run must be of one model, and these are not: {} and {}. Results of two models cannot be \
         compared: start one run for each model, with --devices naming its devices",
        told(first),
        told(other)
    )))
}

#[cfg(test)]
mod tests {
    use gpuprof_model::ExitCode;

    use super::*;
    use crate::compare::fixture::h200;

    fn devices() -> Vec<DeviceRecord> {
        let device = |uuid: &str| DeviceRecord { uuid: uuid.into(), ..h200() };
        vec![device("GPU-22-c"), device("GPU-11-a"), device("GPU-12-b")]
    }

    fn chosen(text: &str) -> Result<Vec<String>> {
        let asked: Asked = text.parse().unwrap();
        Ok(asked.choose(&devices())?.into_iter().map(|device| device.uuid).collect())
    }

    #[test]
    fn devices_are_named_by_ordinal_uuid_or_all_together_and_come_in_one_order() {
        assert_eq!(chosen("all").unwrap(), ["GPU-11-a", "GPU-12-b", "GPU-22-c"]);
        assert_eq!(chosen("0,1").unwrap(), ["GPU-11-a", "GPU-22-c"]);
        assert_eq!(chosen("GPU-22, 2").unwrap(), ["GPU-12-b", "GPU-22-c"]);
        assert_eq!(chosen("2").unwrap(), ["GPU-12-b"]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_is_there() {
        let failure = chosen("7").unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
        assert_eq!(
            failure.message,
            "there is no device 7; the driver shows\n  0  GPU-22-c  NVIDIA H200\n  1  GPU-11-a  NVIDIA H200\n  \
             2  GPU-12-b  NVIDIA H200"
        );
        let failure = chosen("GPU-1").unwrap_err();
        assert!(failure.message.starts_with("GPU-1 is the beginning of 2 UUIDs;"), "{failure}");
        assert_eq!(
            chosen("1,GPU-11-a").unwrap_err().message,
            "GPU-11-a is named twice (1,GPU-11-a); name every device once"
        );
        for text in ["", "0,", "one", "-1"] {
            let word = text.trim_start_matches("0,");
            let error = text.parse::<Asked>().unwrap_err();
            assert!(error.starts_with(&format!("`{word}` is no device: ")), "{error}");
        }
    }

    #[test]
    fn different_models_are_refused_by_name() {
        let mut mixed = devices();
        mixed[1].name = "NVIDIA A100".into();
        let failure = Asked::All.choose(&mixed).unwrap_err();
        assert_eq!(
            failure.message,
            "the devices of a run must be of one model, and these are not: NVIDIA H200 (sm_90, 132 SMs, GPU-22-c) and \
             NVIDIA A100 (sm_90, 132 SMs, GPU-11-a). Results of two models cannot be compared: start one run for each \
             model, with --devices naming its devices"
        );
        assert!("0,2".parse::<Asked>().unwrap().choose(&mixed).is_ok());
    }

    #[test]
    fn instances_are_asked_for_by_name_and_not_found_by_that_of_their_gpu() {
        let slice = DeviceRecord { uuid: "MIG-1-a".into(), ..h200() };
        let asked: Asked = "MIG-1,MIG-2-b".parse().unwrap();
        assert_eq!(asked.hidden_instances(std::slice::from_ref(&slice)), ["MIG-2-b"]);
        let whole: Asked = "GPU-11".parse().unwrap();
        let failure = whole.choose(&[slice]).unwrap_err();
        assert!(failure.message.contains("by its instances: `nvidia-smi -L`"), "{failure}");
    }

    #[test]
    fn the_configuration_file_may_write_text_or_lists() {
        #[derive(Deserialize)]
        struct File {
            devices: Asked,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|f| f.devices.to_string());
        assert_eq!(read("devices = \"all\"").unwrap(), "all");
        assert_eq!(read("devices = [0, \"GPU-1\"]").unwrap(), "0,GPU-1");
        assert_eq!(read("devices = 1").unwrap(), "1");
        assert!(read("devices = []").unwrap_err().to_string().contains("is no device"));
        assert!(read("devices = true").is_err());
    }
}
