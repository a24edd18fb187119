//! A history: values of metrics, revision by revision.
//!
//! Input: a stored run. Output: [`Entry`], one line per run, series and metric, which is
//! self-contained for readers in later years. Lines are only ever appended, and mean the same in
//! any order and if repeated, so that files of two branches merge line by line. A reader ignores
//! unknown fields; a change that it must not ignore gets a new [`SCHEMA_VERSION`].

mod keys;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::comparison::Interval;
use crate::machine::{Backend, CacheControl, ClockControl};
use crate::measurement::Source;
use crate::metric::{Class, Direction};
use crate::quantity::Unit;

pub use keys::unite_keys;

/// The version of a line.
pub const SCHEMA_VERSION: u32 = 1;

/// A line that is no entry.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// One metric of one series in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Entry {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The run's id.
    pub run: String,
    /// When it started, RFC 3339, UTC.
    pub started: String,
    /// What was measured; none if no repository was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The conditions of the measurement.
    pub conditions: Conditions,
    /// The version of `cargo-gpuprof`.
    pub tool: String,
    /// The driver's version, such as 13000; 0 on the emulated one.
    #[serde(default)]
    pub driver: u32,
    /// The toolchain that built the kernels, as `rustc --version` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<String>,
    /// The key of the series: `package::kernel`, or `package::target::kernel`.
    pub series: String,
    /// The bench target, if the key does not contain it; older versions put it into every key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The metric.
    pub metric: String,
    /// The base unit of its values.
    pub unit: Unit,
    /// Whether lower or higher is better, or neither.
    pub direction: Direction,
    /// Whether it is a deterministic count.
    pub class: Class,
    /// Its source.
    pub source: Source,
    /// Its value in each configuration that has one.
    pub values: BTreeMap<String, Value>,
}

/// A revision of the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Revision {
    /// The commit's hash.
    pub commit: String,
    /// When it was committed, RFC 3339, UTC; none if the repository did not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Whether the tree had changes that are in no commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
}

/// The conditions that two values of one history must share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Conditions {
    /// The device's name.
    pub device: String,
    /// The driver that ran the kernels.
    pub backend: Backend,
    /// What happened to the L2 cache before each sample.
    pub cache_control: CacheControl,
    /// What happened to the clocks.
    pub clock_control: ClockControl,
}

/// The value of a metric in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Value {
    /// In the base unit of the metric; the median of process medians where there are several.
    pub value: f64,
    /// The interval of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// How many processes it comes from.
    pub processes: usize,
}

impl Entry {
    /// Whether this version can read it.
    ///
    /// # Errors
    /// A field that this version does not know, or an impossible value.
    pub fn check(&self) -> Result<(), String> {
        if self.schema == 0 || self.schema > SCHEMA_VERSION {
            return Err(format!(
                "it is of schema {}, and this version reads up to {SCHEMA_VERSION}",
                self.schema
            ));
        }
        let dates = self.revision.iter().filter_map(|revision| revision.date.as_ref());
        match dates.chain([&self.started]).find(|date| !is_utc(date)) {
            Some(date) => Err(format!("`{date}` is no time in UTC, such as 2026-11-23T03:44:00Z")),
            None => Ok(()),
        }
    }
}

/// Whether `text` is a time as the writer writes it, so that times are in the order of their texts.
fn is_utc(text: &str) -> bool {
    let shape = "0000-00-00T00:00:00";
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    text.ends_with('Z') && text.len() > shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn entry() -> Entry {
        let value = Value { value: 12_345.5, interval: None, processes: 7 };
        Entry {
            schema: SCHEMA_VERSION,
            run: "20261123T034400-1".into(),
            started: "2026-11-23T03:44:00.25Z".into(),
            revision: Some(Revision { commit: "bda6d1e".into(), date: None, dirty: false }),
            conditions: Conditions {
                device: "NVIDIA H200".into(),
                backend: Backend::Cuda,
                cache_control: CacheControl::All,
                clock_control: ClockControl::None,
            },
            tool: "0.1.0".into(),
            driver: 13_000,
            toolchain: None,
            series: "saxpy::kernels::saxpy".into(),
            target: None,
            metric: "duration".into(),
            unit: Unit::Nanoseconds,
            direction: Direction::Lower,
            class: Class::Noisy,
            source: Source::Measured,
            values: [("block=64".to_owned(), value)].into(),
        }
    }

    #[test]
    fn a_line_is_compact_and_comes_back() {
        let line = serde_json::to_string(&entry()).unwrap();
        assert_eq!(
            line,
            "{\"schema\":1,\"run\":\"20261123T034400-1\",\"started\":\"2026-11-23T03:44:00.25Z\",\
             \"revision\":{\"commit\":\"bda6d1e\"},\"conditions\":{\"device\":\"NVIDIA H200\",\
             \"backend\":\"cuda\",\"cache_control\":\"all\",\"clock_control\":\"none\"},\
             \"tool\":\"0.1.0\",\"driver\":13000,\"series\":\"saxpy::kernels::saxpy\",\
             \"metric\":\"duration\",\"unit\":\"ns\",\"direction\":\"lower\",\"class\":\"noisy\",\
             \"source\":\"measured\",\"values\":{\"block=64\":{\"value\":12345.5,\"processes\":7}}}"
        );
        let more = line.replacen('{', "{\"of_a_later_version\":[1],", 1);
        assert_eq!(serde_json::from_str::<Entry>(&more).unwrap(), entry());
        assert_eq!(entry().check(), Ok(()));
    }

    #[test]
    fn a_newer_schema_or_a_malformed_date_is_refused() {
        let later = Entry { schema: 2, ..entry() };
        let error = "it is of schema 2, and this version reads up to 1";
        assert_eq!(later.check(), Err(error.to_owned()));
        for bad in ["2026-11-23T03:44:00+01:00", "2026-11-23 03:44:00Z", "yesterdayZ", ""] {
            assert!(Entry { started: bad.into(), ..entry() }.check().is_err(), "{bad}");
            let date = Some(bad.to_owned());
            let revision = Revision { commit: "a".into(), date, dirty: true };
            assert!(Entry { revision: Some(revision), ..entry() }.check().is_err(), "{bad}");
        }
    }
}
