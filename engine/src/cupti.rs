//! CUPTI's host API, the driver and NVML, asked in a child process of our own.
//!
//! Input: a [`Question`]. Output: its [`Answer`], or how the child failed. NVIDIA's libraries may
//! crash where they should return an error; in a child a crash is a diagnosis, and this process
//! needs no unsafe code.

mod child;

use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_characterize::{Characterization, Sizes};
use gpuprof_model::ExitCode;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::device::VISIBLE_ENV;
use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::exit_status::describe_end_without_answer;
use gpuprof_system::scratch::Scratch;

pub use child::run_child;

/// The hidden subcommand that answers.
pub const SUBCOMMAND: &str = "__ask";

/// How long an answer may take: a trial session needs a second or two, micro-benchmarks up to 30.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A question to CUPTI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// The location of CUPTI.
    Locate,
    /// The chips that it knows.
    Chips,
    /// Every base metric of a chip.
    Catalogue {
        /// The chip.
        chip: String,
    },
    /// One metric of a chip.
    Describe {
        /// The chip.
        chip: String,
        /// The metric, with or without a roll-up.
        name: String,
    },
    /// The cost of collecting metrics.
    Cost {
        /// The chip.
        chip: String,
        /// PerfWorks names.
        names: Vec<String>,
        /// Whether the cost of each is wanted too; for a hundred metrics that takes many seconds.
        each: bool,
    },
    /// Whether NVIDIA's driver answers, and with which devices.
    Driver,
    /// Whether a profiling session can be opened on the first device that the child sees.
    Trial,
    /// The constants of the first device that the child sees, which it measures.
    Characterize {
        /// How much work is measured, if not the usual.
        sizes: Option<Sizes>,
    },
    /// NVML's data on a device.
    Nvml {
        /// Its library, if the user named one.
        library: Option<Utf8PathBuf>,
        /// The device's UUID.
        uuid: String,
    },
}

/// An answer, one kind a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// CUPTI is there.
    Located(Located),
    /// The chips.
    Chips(Vec<String>),
    /// The base metrics.
    Catalogue(Vec<Described>),
    /// The metric, its submetrics, and the passes it takes alone: of the submetrics, the most.
    Described {
        /// The metric.
        metric: Described,
        /// The submetrics, each with its dot.
        submetrics: Vec<String>,
        /// The passes that it takes alone.
        passes: Option<usize>,
    },
    /// The cost of collecting metrics.
    Cost(Cost),
    /// The driver's devices, one at least.
    Driver(Vec<gpuprof_model::measurement::DeviceRecord>),
    /// No driver is installed: the linker's words. One that is there and does not work gives no
    /// answer.
    NoDriver(String),
    /// The reason for which there is no answer.
    Refused(Refusal),
    /// NVML's data.
    Nvml(crate::device::nvml::Facts),
    /// The constants of a device.
    Characterized(Characterization),
    /// A session was opened on this chip.
    Trial {
        /// The chip.
        chip: String,
    },
}

/// The location of CUPTI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// Its library.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// The step of the search that found it.
    pub place: String,
}

/// A base metric of a chip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// Its name, without a roll-up.
    pub name: String,
    /// `counter`, `ratio` or `throughput`.
    pub kind: String,
    /// One line about it, in NVIDIA's words.
    pub description: String,
    /// The unit of the GPU that counts it.
    pub hw_unit: String,
    /// The dimension of its values.
    pub dim_unit: String,
}

/// The cost of collecting metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Names that the chip cannot collect, each with the reason.
    pub refused: Vec<(String, String)>,
    /// The passes of all the others together.
    pub passes: usize,
    /// For each of the others, if requested: the passes that it takes alone, and those of the rest
    /// without it.
    pub each: Vec<MetricCost>,
}

/// The cost of one metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricCost {
    /// The metric.
    pub name: String,
    /// Its passes alone.
    pub alone: usize,
    /// The passes of the rest without it.
    pub without: usize,
}

impl Cost {
    /// The metrics without which there would be fewer passes, the dearest first.
    pub fn dearest(&self) -> Vec<&MetricCost> {
        let mut dear: Vec<&MetricCost> =
            self.each.iter().filter(|metric| metric.without < self.passes).collect();
        dear.sort_by_key(|metric| (metric.without, std::cmp::Reverse(metric.alone)));
        dear
    }
}

impl Answer {
    /// Why this is not the answer that was wanted.
    pub fn refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            _ => Refusal::from("an unexpected answer came back".to_owned()),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of reason.
    pub kind: RefusalKind,
    /// The reason in full, for people.
    pub reason: String,
}

/// The kind of reason for which there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// None of the others.
    Other,
    /// The chip has no metric of this name; others may be near.
    UnknownMetric,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self { kind: RefusalKind::Other, reason }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// The child's input.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    cupti: Option<Utf8PathBuf>,
    question: Question,
}

/// Asks in a child process. `cupti` is the library or folder that was named.
///
/// # Errors
/// The child cannot be started, or files cannot be written.
pub fn ask(cupti: Option<&Utf8Path>, question: Question) -> Result<Answer> {
    ask_on(None, cupti, question)
}

/// As [`ask`], in a child that sees only the device with the UUID `device`, if one is named: like a
/// process that measures on it.
///
/// # Errors
/// As [`ask`].
pub fn ask_on(
    device: Option<&str>,
    cupti: Option<&Utf8Path>,
    question: Question,
) -> Result<Answer> {
    let folder = Scratch::new()?;
    let file = |name| folder.path().join(name).into_std_path_buf();
    let (request, reply) = (file("request"), file("reply"));
    let body = Request { cupti: cupti.map(ToOwned::to_owned), question };
    let bytes = serde_json::to_vec(&body).expect("requests are plain data");
    fs::write(&request, bytes).map_err(|e| Failure::output(&request, &e))?;
    let start = |e: std::io::Error| {
        Failure::new(
            ExitCode::NotPossible,
            format!("cannot start gpuprof's own helper process: {e}"),
        )
    };
    let executable = env::current_exe().map_err(start)?;
    let mut child = Command::new(executable)
        .envs(device.map(|uuid| (VISIBLE_ENV, uuid)))
        .args(["gpuprof", SUBCOMMAND])
        .args([&request, &reply])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(start)?;
    let id = Pid::from_child(&child);
    let ended = BlockingCall::start(move || child.wait()).map_err(start)?;
    let status = match ended.within(TIMEOUT) {
        Some(status) => status.map_err(start)?,
        None => {
            let _ = kill_process(id, Signal::KILL);
            let seconds = TIMEOUT.as_secs();
            let reason = format!("no answer came within {seconds} s, and the process was killed");
            return Ok(Answer::Refused(reason.into()));
        }
    };
    let answered = fs::read(&reply).ok().filter(|_| status.success());
    let answer = answered.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(answer.unwrap_or_else(|| Answer::Refused(crashed(status).into())))
}

/// That the chips `known` are known, and `chip` is none of them.
pub fn no_chip(chip: &str, known: &[String]) -> String {
    let chip = chip.to_uppercase();
    format!("no chip is called `{chip}`; known are {}", known.join(", "))
}

fn crashed(status: ExitStatus) -> String {
    let how = describe_end_without_answer(status);
    format!(
        "the process that asked the library {how}; try another version with --cupti-path (13.0.85 \
         of the PyPI package nvidia-cuda-cupti also works without a GPU)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_expensive_metric_saves_most_passes_when_removed() {
        let metric = |name: &str, alone, without| MetricCost { name: name.into(), alone, without };
        let cost = Cost {
            refused: Vec::new(),
            passes: 9,
            each: vec![metric("a", 1, 9), metric("b", 7, 3), metric("c", 2, 8)],
        };
        let names: Vec<&str> = cost.dearest().iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
