//! The manifest of a slice: the whole plan, and the part that is measured here.
//!
//! Input: a divided plan, and the build and device of one slice. Output: a file in the slice's
//! folder, on disk before the first pass, so that a merge knows the expected slices, even those
//! that never began.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_analysis::gate::baseline::Scope;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::run::{Provenance, SectionColumns, SeriesResult};
use gpuprof_model::verdict::{FileLine, Layer};
use gpuprof_model::{Configuration, ExitCode, Threshold};
use serde::{Deserialize, Serialize};

use super::journal::{RunIdentity, Start};
use super::untrusted::{self, place, wrong};
use crate::schedule::partition::{Method, PartitionBy};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sha256::sha256;
use gpuprof_system::whole::write_whole;

/// The file's name in a slice's folder.
pub const FILE: &str = "manifest.json";

/// The version of the document.
const SCHEMA_VERSION: u32 = 1;

/// How many digits of a plan's hash name its folder.
const NAMED: usize = 12;

/// Digits of a hash.
const HASH: usize = 64;

/// A slice of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Which form this document has.
    pub schema_version: u32,
    /// The id of the slice's run.
    pub run: String,
    /// The whole plan, the same for every slice.
    pub plan: Outline,
    /// SHA-256 of the plan.
    pub plan_hash: String,
    /// Which slice this is, from 1.
    pub slice: u32,
    /// The part of the plan that is measured here.
    pub own: Vec<OwnSeries>,
    /// The slice's build and device; none if it has nothing to measure.
    pub made: Option<RunIdentity>,
    /// What is known of the run before its first pass.
    pub provenance: Provenance,
    /// The other revision, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<OwnBase>,
    /// The devices; none on the emulated driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceRecord>,
    /// Notes that weaken a comparison, as in the report of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// SHA-256 of the archive, if the slice comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The first start of the slice.
    pub start: Start,
}

/// A whole plan, as every slice of it has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// The version of the tool.
    pub tool_version: String,
    /// How it is divided.
    pub method: Method,
    /// What is dealt out.
    pub unit: PartitionBy,
    /// Into how many slices.
    pub slices: u32,
    /// The settings that change what is measured, by name.
    pub settings: BTreeMap<String, String>,
    /// SHA-256 of each harness; those of the other revision behind `base/`.
    pub harnesses: BTreeMap<String, String>,
    /// The other revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The selection, as far as it matters for comparing with a baseline's run.
    pub scope: Scope,
    /// Every series.
    pub series: Vec<OutlineSeries>,
}

/// A series of a whole plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutlineSeries {
    /// Its name.
    pub id: String,
    /// How many configurations it has.
    pub configurations: usize,
    /// SHA-256 of their keys, a line each.
    pub keys: String,
    /// SHA-256 of its thresholds, a line each.
    pub thresholds: String,
    /// The slices that have a part of it, such as `1-3,7`.
    pub slices: String,
    /// The assumed cost of a configuration, in microseconds; none if all slices have the same
    /// number of configurations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

/// A slice's part of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnSeries {
    /// Its position in the plan.
    pub position: usize,
    /// Its harness's description.
    pub description: SeriesDescription,
    /// The metrics that are asked for.
    pub columns: Vec<String>,
    /// Its sections.
    pub sections: Vec<SectionColumns>,
    /// Its thresholds.
    pub thresholds: Vec<OwnThreshold>,
    /// The positions of its configurations among those of the plan.
    pub positions: Vec<usize>,
    /// The configurations.
    pub configurations: Vec<Configuration>,
}

/// A threshold and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnThreshold {
    /// Its text.
    pub text: String,
    /// The layer that it comes from.
    pub origin: Layer,
    /// The line of the configuration file, if it is from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FileLine>,
}

impl From<&ConfiguredThreshold> for OwnThreshold {
    fn from(configured: &ConfiguredThreshold) -> Self {
        let ConfiguredThreshold { threshold, origin, place } = configured.clone();
        Self { text: threshold.text, origin, place }
    }
}

impl OwnThreshold {
    /// The threshold that it is the text of.
    ///
    /// # Errors
    /// This version does not understand it (exit code 96).
    pub fn parse(&self) -> Result<ConfiguredThreshold> {
        let Self { text, origin, place } = self.clone();
        let threshold = Threshold::parse(&text)
            .map_err(|e| Failure::new(ExitCode::Configuration, e.render(FILE, &text)))?;
        Ok(ConfiguredThreshold { threshold, origin, place })
    }
}

/// The other revision of a slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnBase {
    /// As it was asked for.
    pub name: String,
    /// What is known of its run before its first pass.
    pub provenance: Provenance,
    /// Every series that it has, with what is not measured of it.
    pub known: Vec<SeriesResult>,
    /// The series that are measured of it, in order.
    pub measured: Vec<String>,
}

impl Outline {
    /// SHA-256 of the plan.
    pub fn hash(&self) -> String {
        sha256(&serde_json::to_vec(self).expect("plans are plain data"))
    }

    /// The folder of slice `slice` of this plan, below `folder`.
    pub fn folder(&self, folder: &Utf8Path, slice: u32) -> Utf8PathBuf {
        let hash = self.hash();
        folder.join(&hash[..NAMED]).join(format!("slice-{slice}-of-{}", self.slices))
    }

    /// The first thing in which `other` is another plan, in words; none where it is the same.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let differ = |what: &str, one: &str, two: &str| {
            (one != two).then(|| describe_difference(what, one, two))
        };
        let (ours, theirs) = (self.slices.to_string(), other.slices.to_string());
        let base = |outline: &Self| outline.base.clone().unwrap_or_else(|| "none".to_owned());
        differ("the version of cargo-gpuprof", &self.tool_version, &other.tool_version)
            .or_else(|| differ("the number of slices", &ours, &theirs))
            .or_else(|| differ("--partition", self.method.word(), other.method.word()))
            .or_else(|| (self.unit != other.unit).then(|| "--partition-by".to_owned()))
            .or_else(|| differing("--", &self.settings, &other.settings))
            .or_else(|| differ("--base", &base(self), &base(other)))
            .or_else(|| differing("the harness ", &self.harnesses, &other.harnesses))
            .or_else(|| self.other_series(other))
            .or_else(|| (self != other).then(|| "the plan".to_owned()))
    }

    fn other_series(&self, other: &Self) -> Option<String> {
        let ids = |outline: &Self| outline.series.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
        let (ours, theirs) = (ids(self), ids(other));
        let only = |a: &[String], b: &[String]| a.iter().find(|id| !b.contains(id)).cloned();
        if let Some(id) = only(&ours, &theirs).or_else(|| only(&theirs, &ours)) {
            return Some(format!("the series {id}, which only one of them has"));
        }
        let both = self.series.iter().zip(&other.series);
        both.filter(|(one, two)| one != two).find_map(|(one, two)| {
            Some(match () {
                () if one.keys != two.keys => format!("the configurations of {}", one.id),
                () if one.thresholds != two.thresholds => format!("the thresholds of {}", one.id),
                () if one.cost != two.cost => {
                    let cost = |series: &OutlineSeries| {
                        series.cost.map_or_else(|| "none".to_owned(), |cost| format!("{cost} µs"))
                    };
                    let subject = format!("what {} costs (--partition-costs)", one.id);
                    describe_difference(&subject, &cost(one), &cost(two))
                }
                () => return None,
            })
        })
    }
}

/// The difference of two plans, in words.
fn describe_difference(what: &str, one: &str, two: &str) -> String {
    format!("{what}: `{one}` and `{two}`")
}

/// The first entry in which two maps differ, in words.
fn differing(
    kind: &str,
    one: &BTreeMap<String, String>,
    two: &BTreeMap<String, String>,
) -> Option<String> {
    let name = one.keys().chain(two.keys()).find(|&name| one.get(name) != two.get(name))?;
    let value_in = |map: &BTreeMap<String, String>| {
        let value = map.get(name).map_or("none", String::as_str);
        // A few digits tell two hashes apart.
        let shown = if value.len() == HASH { &value[..NAMED] } else { value };
        shown.to_owned()
    };
    Some(format!("{kind}{name}: `{}` and `{}`", value_in(one), value_in(two)))
}

impl OutlineSeries {
    /// Whether `slice`, from 1, has a part of it.
    pub fn is_in(&self, slice: u32) -> bool {
        self.slices.split(',').any(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let numbers = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
            numbers.is_some_and(|(first, last)| (first..=last).contains(&slice))
        })
    }
}

/// Ascending numbers, with ranges for consecutive ones: `1-3,7`.
pub fn ranges(numbers: &[u32]) -> String {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => all.push((number, number)),
        }
    }
    let text = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    all.into_iter().map(text).collect::<Vec<_>>().join(",")
}

impl Manifest {
    /// The version that is written.
    pub const VERSION: u32 = SCHEMA_VERSION;

    /// Writes it into `folder`.
    ///
    /// # Errors
    /// It cannot be written (exit code 110).
    pub fn write(&self, folder: &Utf8Path) -> Result<()> {
        let path = folder.join(FILE);
        let bytes = serde_json::to_vec(self).expect("manifests are plain data");
        write_whole(&path, &bytes).map_err(Failure::writing(&path))
    }

    /// Reads that of the slice in `folder`.
    ///
    /// # Errors
    /// It cannot be read, or is none (exit code 96).
    pub fn read(folder: &Utf8Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            schema_version: u32,
        }
        let path = folder.join(FILE);
        let bytes = untrusted::read(&path)?;
        let at = |e: serde_json::Error| {
            wrong(format!("{path} is not the manifest of a slice: {}", place(&bytes, 0, &e)))
        };
        let read: serde_json::Result<Self> = serde_json::from_slice(&bytes);
        let version = match &read {
            Ok(manifest) => manifest.schema_version,
            Err(_) => serde_json::from_slice::<Versioned>(&bytes).map_err(at)?.schema_version,
        };
        if version > SCHEMA_VERSION {
            return Err(wrong(format!(
                "{path} has schema {version}, but this cargo-gpuprof only reads up to \
                 {SCHEMA_VERSION}; use a newer one"
            )));
        }
        let manifest = read.map_err(at)?;
        manifest.check().map_err(|why| wrong(format!("{path} contradicts itself: {why}")))?;
        Ok(manifest)
    }

    /// That the parts of the document fit together.
    fn check(&self) -> Result<(), String> {
        if self.plan.hash() != self.plan_hash {
            return Err("its plan does not have the hash that it names".to_owned());
        }
        if !(1..=self.plan.slices).contains(&self.slice) {
            return Err(format!("it is slice {} of {}", self.slice, self.plan.slices));
        }
        if let Some(hash) = self.archive.as_ref().filter(|hash| !is_sha256(hash)) {
            return Err(format!(
                "its archive's SHA-256 is `{hash}`, and not 64 hexadecimal digits"
            ));
        }
        let starts = [&self.provenance.started, &self.start.at].into_iter();
        let no_time = |at: &&String| at.parse::<jiff::Timestamp>().is_err();
        if let Some(at) = starts.filter(|at| !at.is_empty()).find(no_time) {
            return Err(format!("it was started at `{at}`, which is not a time"));
        }
        for own in &self.own {
            let id = &own.description.id;
            let planned = self.plan.series.get(own.position);
            // Older versions wrote the target into every key.
            let planned = planned.filter(|series| id.keys().contains(&series.id));
            let Some(planned) = planned else {
                return Err(format!("{id} is not where its plan has it"));
            };
            let ascending = own.positions.is_sorted_by(|a, b| a < b);
            let inside = own.positions.last().is_none_or(|&last| last < planned.configurations);
            if own.configurations.len() != own.positions.len() || !ascending || !inside {
                return Err(format!("the configurations of {id} are not those of its plan"));
            }
        }
        Ok(())
    }
}

/// Whether `text` has the form of [`sha256`]'s result.
fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether there is one in `folder`.
pub fn is_in(folder: &Utf8Path) -> bool {
    fs::metadata(folder.join(FILE)).is_ok_and(|known| known.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of a slice that has not begun.
    fn manifest() -> Manifest {
        let plan = Outline {
            tool_version: "0.1.0".into(),
            method: Method::Slice,
            unit: PartitionBy::Series,
            slices: 2,
            settings: BTreeMap::new(),
            harnesses: BTreeMap::new(),
            base: None,
            scope: Scope::default(),
            series: Vec::new(),
        };
        Manifest {
            schema_version: Manifest::VERSION,
            run: "run".into(),
            plan_hash: plan.hash(),
            plan,
            slice: 1,
            own: Vec::new(),
            made: None,
            provenance: Provenance::default(),
            base: None,
            devices: Vec::new(),
            notes: Vec::new(),
            archive: Some(sha256(b"an archive")),
            start: Start { at: "2026-11-25T12:00:00Z".into(), ..Start::default() },
        }
    }

    fn read(manifest: &Manifest) -> std::result::Result<Manifest, String> {
        let folder = tempfile::tempdir().unwrap();
        let at = Utf8Path::from_path(folder.path()).unwrap();
        manifest.write(at).unwrap();
        let read = Manifest::read(at).map_err(|failure| failure.to_string());
        read.map_err(|message| message.replace(at.as_str(), "FOLDER"))
    }

    #[test]
    fn an_invalid_archive_hash_or_time_is_refused() {
        assert_eq!(read(&manifest()), Ok(manifest()));
        let archive = Manifest { archive: Some("7".into()), ..manifest() };
        assert_eq!(
            read(&archive).unwrap_err(),
            "FOLDER/manifest.json contradicts itself: its archive's SHA-256 is `7`, and not 64 hexadecimal \
             digits"
        );
        let start = Start { at: "yesterday".into(), ..Start::default() };
        assert_eq!(
            read(&Manifest { start, ..manifest() }).unwrap_err(),
            "FOLDER/manifest.json contradicts itself: it was started at `yesterday`, which is not a time"
        );
        let newer = Manifest { schema_version: Manifest::VERSION + 1, ..manifest() };
        assert!(read(&newer).unwrap_err().contains("only reads up to"));
    }

    #[test]
    fn a_hash_is_64_hexadecimal_digits() {
        assert!(is_sha256(&sha256(b"an archive")));
        for bad in ["", "7", &sha256(b"")[..63], &sha256(b"").to_uppercase()] {
            assert!(!is_sha256(bad), "{bad}");
        }
    }

    #[test]
    fn the_slices_of_a_series_are_reported_as_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        let series = OutlineSeries {
            id: "s".into(),
            configurations: 1,
            keys: String::new(),
            thresholds: String::new(),
            slices: "1-3,7".into(),
            cost: None,
        };
        let inside: Vec<u32> = (0..12).filter(|&slice| series.is_in(slice)).collect();
        assert_eq!(inside, [1, 2, 3, 7]);
    }
}
