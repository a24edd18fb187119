//! A line of a journal, and its writer.
//!
//! Every line but the first names the start of the run that wrote it. This distinguishes the lines
//! of a process from those of its replacement. Nothing else does on a file system without locks, or
//! if it gives away the locks of a lost machine.

use std::collections::BTreeMap;
use std::fs;

use gpuprof_model::ExitCode;
use gpuprof_model::measurement::{CountedPart, Energy, HardwareValue, PassResult};
use gpuprof_model::run::{SeriesResult, Status};
use gpuprof_system::error::{Failure, Result};
use serde::{Deserialize, Serialize};

use super::checksum;
use super::run_identity::RunIdentity;
use crate::schedule::Collected;

/// Linux's source of random identifiers.
const RANDOM: &str = "/proc/sys/kernel/random/uuid";

/// Linux's identifier of the machine's boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Linux's name of the machine.
const HOST: &str = "/proc/sys/kernel/hostname";

/// The first start or a later one of a run: the process that works on it, and where.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Start {
    /// Its random name.
    pub id: String,
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The machine.
    pub host: String,
    /// Which boot of it.
    pub boot: String,
    /// The process there.
    pub process: u32,
    /// The job's variables of the scheduler or the CI, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduler: BTreeMap<String, String>,
    /// The UUIDs of the devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The positions of the series that are measured again from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<usize>,
}

impl Start {
    /// A start of this process, which `scheduler` describes.
    ///
    /// # Errors
    /// The system gives no random name (exit code 107): two starts could have the same.
    pub fn now(scheduler: BTreeMap<String, String>) -> Result<Self> {
        let read_trimmed =
            |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Ok(Self {
            id: random_name(RANDOM)?,
            at: jiff::Timestamp::now().to_string(),
            host: read_trimmed(HOST),
            boot: read_trimmed(BOOT),
            process: std::process::id(),
            scheduler,
            ..Self::default()
        })
    }
}

/// The random name that the system gives at `path`.
pub(super) fn random_name(path: &str) -> Result<String> {
    let name = fs::read_to_string(path).map(|name| name.trim().to_owned());
    match name {
        Ok(name) if !name.is_empty() => Ok(name),
        Ok(_) => Err("it is empty".to_owned()),
        Err(error) => Err(error.to_string()),
    }
    .map_err(|why| {
        let message = format!("cannot read {path}, which names the start of a run: {why}");
        Failure::new(ExitCode::NotPossible, message)
    })
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub(super) enum Line {
    Made(Box<RunIdentity>),
    Begin(Box<Start>),
    Pass {
        series: usize,
        configuration: usize,
        repeat: u32,
        result: Box<PassResult>,
    },
    Energy {
        series: usize,
        configuration: usize,
        repeat: u32,
        energy: Energy,
    },
    Counters {
        series: usize,
        configuration: usize,
        hardware: BTreeMap<String, HardwareValue>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<CountedPart>,
    },
    CounterStep {
        series: usize,
        configuration: usize,
        of: usize,
        collected: Collected,
    },
    FailedAttempt {
        series: usize,
        configuration: usize,
        reason: String,
    },
    Ended {
        series: usize,
        configuration: usize,
        status: Status,
    },
    Retried {
        series: usize,
        configuration: usize,
        reason: String,
    },
    Row {
        series: usize,
        configuration: usize,
        row: Box<SeriesResult>,
    },
    Done {
        series: usize,
    },
    Whole {
        at: String,
    },
}

/// The kind of a [`Line`], which a reader needs before the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LineKind {
    Made,
    Begin,
    Pass,
    Energy,
    Counters,
    CounterStep,
    FailedAttempt,
    Ended,
    Retried,
    Row,
    Done,
    Whole,
}

/// A line with the start that wrote it; the first two of a journal have none.
#[derive(Serialize)]
struct Signed<'a> {
    by: &'a str,
    #[serde(flatten)]
    line: &'a Line,
}

/// The bytes of `line`, which the start `by` writes.
pub(super) fn written(line: &Line, by: &str) -> Vec<u8> {
    let bytes = match line {
        Line::Made(_) | Line::Begin(_) => serde_json::to_vec(line),
        Line::Pass { .. }
        | Line::Energy { .. }
        | Line::Counters { .. }
        | Line::CounterStep { .. }
        | Line::FailedAttempt { .. }
        | Line::Ended { .. }
        | Line::Retried { .. }
        | Line::Row { .. }
        | Line::Done { .. }
        | Line::Whole { .. } => serde_json::to_vec(&Signed { by, line }),
    };
    let mut bytes = checksum::sealed(&bytes.expect("journal lines are plain data"));
    bytes.push(b'\n');
    bytes
}
