//! Spans: the use of a run's time.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most spans that a run keeps: the first ones.
pub const MOST_SPANS: usize = 50_000;

/// The use of a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Spent {
    /// Building, and asking the harnesses for their series.
    Build,
    /// Waiting for a device that another run measures on.
    Lock,
    /// A process, from its start to its end.
    Process,
    /// A process prepares while others have the device, and waits for its turn.
    Turn,
    /// A pass: a process has the device, until it replies.
    Pass,
    /// A process that has the device waits for others to finish on it.
    Waiting,
    /// A process has replied, and ends.
    Leaving,
}

impl Spent {
    /// In words, of many.
    pub fn of_many(self) -> &'static str {
        match self {
            Self::Build => "builds",
            Self::Lock => "waiting for devices that others measured on",
            Self::Process => "processes",
            Self::Turn => "preparing and waiting for the turn, next to others",
            Self::Pass => "passes",
            Self::Waiting => "waiting for others to leave the device",
            Self::Leaving => "ending after the reply",
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Build => "build",
            Self::Lock => "lock",
            Self::Process => "process",
            Self::Turn => "turn",
            Self::Pass => "pass",
            Self::Waiting => "waiting",
            Self::Leaving => "leaving",
        })
    }
}

/// A stretch of a run's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Span {
    /// Its use.
    pub spent: Spent,
    /// What was done: `times 1`, `counter pass 3`, or the name of a process.
    pub what: String,
    /// The process, counted from 1 in the order of their starts; 0 for the runner itself.
    #[serde(default, skip_serializing_if = "is_runner")]
    pub process: u32,
    /// The position of the device among the run's.
    #[serde(default, skip_serializing_if = "is_first")]
    pub device: u32,
    /// The slice of a merged run that it is of, from 1; 0 in a run that is whole.
    #[serde(default, skip_serializing_if = "is_whole")]
    pub slice: u32,
    /// When it began, in microseconds since the run did.
    pub begin_us: u64,
    /// How long it took, in microseconds.
    pub length_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_runner(process: &u32) -> bool {
    *process == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_first(device: &u32) -> bool {
    *device == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_whole(slice: &u32) -> bool {
    *slice == 0
}
