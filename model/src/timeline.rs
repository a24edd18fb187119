//! One call of a measured closure: the work of the device and the calls of the driver, in order.
//!
//! Input: records of CUPTI, or the emulated driver's report. Output: each kernel, copy and fill
//! with its stream, and on a GPU with its times; and the calls of the driver and of CUDA's runtime
//! that queued them. Also the idle times of the device, and the work that overlapped.

use crate::units::Nanoseconds;
use serde::{Deserialize, Serialize};

/// The most pieces of work, and the most calls, that a timeline keeps.
pub const MOST: usize = 1024;

/// One call of a closure. Times are nanoseconds since the closure began; only the work and the
/// calls of a GPU have times.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timeline {
    /// The device's work: on a GPU in the order of its starts, else in the order of its calls.
    pub work: Vec<Work>,
    /// The calls, in the order of their starts; none of the emulated driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ApiCall>,
    /// How many pieces of work there were in addition, after those.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_work: u64,
    /// How many calls there were in addition.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_calls: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A piece of the device's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Work {
    /// Its kind.
    #[serde(flatten)]
    pub kind: WorkKind,
    /// The stream's number.
    pub stream: u64,
    /// The device, by its number in the process; none of the measured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// When the device began and finished it; none if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeSpan>,
    /// The interval of the duration that the emulated driver's model estimates; none on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimatedDuration>,
    /// The call that queued it, by its position among the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
}

/// The interval of an estimated duration, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EstimatedDuration {
    /// Its lower end.
    pub low_ns: Nanoseconds,
    /// Its upper end.
    pub high_ns: Nanoseconds,
}

/// The kinds of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
    /// A kernel: the launch at this position among the launches of the configuration.
    Launch(usize),
    /// A copy.
    Copy {
        /// The memory of the source.
        from: Memory,
        /// The memory of the destination.
        to: Memory,
        /// How many.
        bytes: u64,
    },
    /// A copy from one device to another.
    PeerCopy {
        /// The number of the device with the source.
        from_device: u32,
        /// The number of the device with the destination.
        to_device: u32,
        /// How many.
        bytes: u64,
    },
    /// A fill with one value (`cuMemset…`).
    Fill {
        /// How many bytes.
        bytes: u64,
    },
}

/// The kinds of memory of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// The host's, of a kind that is not reported.
    Host,
    /// The host's, which the device cannot read by itself.
    Pageable,
    /// The host's, locked in place.
    Pinned,
    /// The device's.
    Device,
    /// An array of the device.
    Array,
    /// Memory that the driver moves between host and device.
    Managed,
    /// Not reported.
    Unknown,
}

impl Memory {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
            Self::Device => "device",
            Self::Array => "array",
            Self::Managed => "managed",
            Self::Unknown => "unknown",
        }
    }
}

/// A call of the driver or of CUDA's runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApiCall {
    /// The function.
    pub function: String,
    /// The thread, numbered from 0 in the order of their first calls.
    pub thread: u32,
    /// Its begin and its return.
    pub time: TimeSpan,
}

/// A time span, in nanoseconds since the closure began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeSpan {
    /// The begin.
    pub start_ns: u64,
    /// The end, not before the begin.
    pub end_ns: u64,
}

impl TimeSpan {
    /// Its length in nanoseconds.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// How a piece of work lies next to all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Neighbourhood {
    /// Nanoseconds that the device was idle before it, since the closure began.
    pub idle_ns: u64,
    /// Nanoseconds of it during which earlier work ran too.
    pub overlap_ns: u64,
}

impl Timeline {
    /// How each piece lies next to the earlier ones; none if one has no times.
    #[must_use]
    pub fn neighbourhoods(&self) -> Option<Vec<Neighbourhood>> {
        let mut busy_until = 0;
        let of_piece = |work: &Work| {
            let TimeSpan { start_ns, end_ns } = work.time?;
            let idle_ns = start_ns.saturating_sub(busy_until);
            let overlap_ns = end_ns.min(busy_until).saturating_sub(start_ns);
            busy_until = busy_until.max(end_ns);
            Some(Neighbourhood { idle_ns, overlap_ns })
        };
        self.work.iter().map(of_piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(time: Option<(u64, u64)>) -> Work {
        let time = time.map(|(start_ns, end_ns)| TimeSpan { start_ns, end_ns });
        let kind = WorkKind::Fill { bytes: 8 };
        Work { kind, stream: 0, device: None, time, estimate: None, call: None }
    }

    #[test]
    fn idle_times_and_overlaps_consider_all_earlier_work() {
        // The third one runs within the first; the last one begins after all have ended.
        let times = [(100, 500), (300, 350), (400, 600), (900, 1000)];
        let of = |times: &[(u64, u64)]| Timeline {
            work: times.iter().map(|time| work(Some(*time))).collect(),
            ..Timeline::default()
        };
        let found = of(&times).neighbourhoods().expect("all have times");
        let told: Vec<_> = found.iter().map(|near| (near.idle_ns, near.overlap_ns)).collect();
        assert_eq!(told, [(100, 0), (0, 50), (0, 100), (300, 0)]);
        let mut timeline = of(&times);
        timeline.work.push(work(None));
        assert_eq!(timeline.neighbourhoods(), None);
    }
}
