//! A line of a journal, and who writes it.
//!
//! Every line but the first names the start of the run that wrote it, so that those of a process
//! that another one took the place of can be told: where a file system has no locks, or gives those
//! of a machine that is lost away, nothing else keeps the two apart.

use std::collections::BTreeMap;
use std::fs;

use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::run::{SeriesResult, Status};
use serde::{Deserialize, Serialize};

use super::made::Made;
use crate::schedule::Collected;

/// Where Linux gives a random identifier at each reading.
const RANDOM: &str = "/proc/sys/kernel/random/uuid";

/// Where Linux tells which boot of the machine this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Where Linux tells what the machine is called.
const HOST: &str = "/proc/sys/kernel/hostname";

/// The first start or a later one of a run: the process that works on it, and where.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Start {
    /// A random name of its own.
    pub id: String,
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The machine.
    pub host: String,
    /// Which boot of it.
    pub boot: String,
    /// The process there.
    pub process: u32,
    /// What the scheduler or the CI calls the job, by the names of its variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduler: BTreeMap<String, String>,
    /// The UUIDs of the devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The positions of the series that are measured anew from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<usize>,
}

impl Start {
    /// A start of this process, which `scheduler` describes.
    pub fn now(scheduler: BTreeMap<String, String>) -> Self {
        let told = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            id: told(RANDOM),
            at: jiff::Timestamp::now().to_string(),
            host: told(HOST),
            boot: told(BOOT),
            process: std::process::id(),
            scheduler,
            ..Self::default()
        }
    }
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub(super) enum Line {
    Made(Box<Made>),
    Begin(Box<Start>),
    Pass { series: usize, configuration: usize, repeat: u32, result: Box<PassResult> },
    Counters { series: usize, configuration: usize, hardware: BTreeMap<String, HardwareValue> },
    CounterStep { series: usize, configuration: usize, of: usize, collected: Collected },
    Ended { series: usize, configuration: usize, status: Status },
    Row { series: usize, configuration: usize, row: Box<SeriesResult> },
    Done { series: usize },
    Whole { at: String },
}

/// A line with the start that wrote it; the first two of a journal have none.
#[derive(Serialize)]
struct Signed<'a> {
    by: &'a str,
    #[serde(flatten)]
    line: &'a Line,
}

/// Who wrote a line.
#[derive(Deserialize)]
struct By {
    #[serde(default)]
    by: Option<String>,
}

/// The bytes of `line`, which the start `by` writes.
pub(super) fn written(line: &Line, by: &str) -> Vec<u8> {
    let bytes = match line {
        Line::Made(_) | Line::Begin(_) => serde_json::to_vec(line),
        Line::Pass { .. }
        | Line::Counters { .. }
        | Line::CounterStep { .. }
        | Line::Ended { .. }
        | Line::Row { .. }
        | Line::Done { .. }
        | Line::Whole { .. } => serde_json::to_vec(&Signed { by, line }),
    };
    let mut bytes = bytes.expect("journal lines are plain data");
    bytes.push(b'\n');
    bytes
}

/// The line in `text`, and who wrote it.
///
/// # Errors
/// It is none.
pub(super) fn read(text: &[u8]) -> serde_json::Result<(Line, Option<String>)> {
    let line = serde_json::from_slice(text)?;
    Ok((line, serde_json::from_slice::<By>(text)?.by))
}
