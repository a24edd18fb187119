//! The timeline of one call of a closure, from CUPTI's records.
//!
//! Input: the work of the call, in the order of the launches, and the calls of the driver. Output:
//! both in the order of their starts, in nanoseconds since the closure began. A closure of a single
//! launch has none.

use std::collections::HashMap;

use gpuprof_cupti::{Activity, DeviceWork};
use gpuprof_model::timeline::{ApiCall, MOST, Memory, TimeSpan, Timeline, Work, WorkKind};

/// When a closure began and returned, by CUPTI's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Window {
    /// Whether `call` is the closure's: others may follow it.
    pub(super) fn holds(self, call: &NamedCall) -> bool {
        (self.begin..self.end).contains(&call.start)
    }

    fn span(self, start: u64, end: u64) -> TimeSpan {
        let since = |time: u64| time.saturating_sub(self.begin);
        TimeSpan { start_ns: since(start), end_ns: since(end.max(start)) }
    }
}

/// A call of a function, with CUPTI's numbers of the call and of its thread.
pub(super) struct NamedCall {
    pub(super) function: String,
    pub(super) correlation: u32,
    pub(super) thread: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The timeline of `work`, with kernels in the order of the launches. `named` has the calls in the
/// order of their starts, and `thread` numbers CUPTI's threads.
pub(super) fn timeline(
    work: &[Activity],
    named: Vec<NamedCall>,
    window: Window,
    mut thread: impl FnMut(u32) -> u32,
) -> Option<Timeline> {
    if let [] | [Activity { work: DeviceWork::Kernel(_), .. }] = work {
        return None;
    }
    let mut calls = Vec::new();
    let (mut places, mut more_calls) = (HashMap::new(), 0);
    for call in named.into_iter().filter(|call| window.holds(call)) {
        if calls.len() == MOST {
            more_calls += 1;
            continue;
        }
        // Of a call of the runtime and the driver's inside it, the work is the latter's.
        places.insert(call.correlation, calls.len());
        let time = window.span(call.start, call.end);
        calls.push(ApiCall { function: call.function, thread: thread(call.thread), time });
    }
    let mut launches = 0..;
    let pieces = work.iter().map(|activity| {
        let kind = match &activity.work {
            DeviceWork::Kernel(_) => WorkKind::Launch(launches.next().unwrap_or_default()),
            DeviceWork::Copy { from, to, bytes } => {
                WorkKind::Copy { from: memory(*from), to: memory(*to), bytes: *bytes }
            }
            DeviceWork::PeerCopy { from_device, to_device, bytes } => WorkKind::PeerCopy {
                from_device: *from_device,
                to_device: *to_device,
                bytes: *bytes,
            },
            DeviceWork::Fill { bytes } => WorkKind::Fill { bytes: *bytes },
        };
        Work {
            kind,
            stream: activity.stream.into(),
            // The measured one is number 0.
            device: Some(activity.device).filter(|device| *device != 0),
            time: Some(window.span(activity.start, activity.end)),
            estimate: None,
            call: places.get(&activity.correlation).copied(),
        }
    });
    let mut pieces: Vec<Work> = pieces.collect();
    pieces.sort_by_key(|piece| piece.time.map(|time| (time.start_ns, time.end_ns)));
    let more_work = pieces.len().saturating_sub(MOST) as u64;
    pieces.truncate(MOST);
    Some(Timeline { work: pieces, calls, more_work, more_calls })
}

/// The memory of a number of `CUpti_ActivityMemoryKind`.
fn memory(number: u8) -> Memory {
    match number {
        1 => Memory::Pageable,
        2 => Memory::Pinned,
        3 | 6 => Memory::Device,
        4 => Memory::Array,
        5 | 7 => Memory::Managed,
        _ => Memory::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { begin: 1_000, end: 5_000 };

    fn fill(correlation: u32, start: u64, end: u64) -> Activity {
        let work = DeviceWork::Fill { bytes: 8 };
        Activity { work, start, end, device: 0, context: 1, stream: 7, correlation }
    }

    fn call(function: &str, correlation: u32, start: u64) -> NamedCall {
        let (function, end) = (function.to_owned(), start + 100);
        NamedCall { function, correlation, thread: 77, start, end }
    }

    #[test]
    fn work_is_in_the_order_of_its_starts_with_the_innermost_call_of_the_closure() {
        let work = [fill(1, 4_000, 4_500), fill(2, 2_000, 9_000)];
        let calls = vec![
            call("before", 0, 900),
            call("cudaMemset", 1, 1_000),
            call("cuMemsetD8", 1, 1_010),
            call("cuMemsetD32", 2, 1_200),
            call("cuCtxSynchronize", 3, 5_000),
        ];
        let found = timeline(&work, calls, WINDOW, |thread| thread - 77).expect("two pieces");
        let functions: Vec<&str> = found.calls.iter().map(|call| &*call.function).collect();
        assert_eq!(functions, ["cudaMemset", "cuMemsetD8", "cuMemsetD32"]);
        let told = |work: &Work| (work.time.map(|time| (time.start_ns, time.end_ns)), work.call);
        let work: Vec<_> = found.work.iter().map(told).collect();
        assert_eq!(work, [(Some((1_000, 8_000)), Some(2)), (Some((3_000, 3_500)), Some(1))]);
        assert!(found.calls.iter().all(|call| call.thread == 0), "{found:#?}");
    }

    #[test]
    fn work_beyond_the_limit_is_counted_and_a_single_fill_has_a_timeline() {
        let work: Vec<Activity> = (0..MOST as u64 + 3).map(|at| fill(1, at, at)).collect();
        let calls = (0..MOST as u64 + 2).map(|at| call("f", 1, 1_000 + at)).collect();
        let found = timeline(&work, calls, WINDOW, |_| 0).expect("many pieces");
        assert_eq!((found.work.len(), found.more_work), (MOST, 3));
        assert_eq!((found.calls.len(), found.more_calls), (MOST, 2));
        let single = timeline(&work[..1], Vec::new(), WINDOW, |_| 0).expect("a fill is no launch");
        assert_eq!(single.work.len(), 1);
        assert!(timeline(&[], Vec::new(), WINDOW, |_| 0).is_none());
    }

    #[test]
    fn a_copy_between_devices_names_both_and_work_of_another_device_says_so() {
        let work = DeviceWork::PeerCopy { from_device: 1, to_device: 0, bytes: 4096 };
        let work = [
            Activity { work, ..fill(1, 2_000, 2_100) },
            Activity { device: 1, ..fill(2, 3_000, 3_100) },
        ];
        let found = timeline(&work, Vec::new(), WINDOW, |_| 0).expect("two pieces");
        let copy = WorkKind::PeerCopy { from_device: 1, to_device: 0, bytes: 4096 };
        let told: Vec<_> = found.work.iter().map(|work| (work.kind.clone(), work.device)).collect();
        assert_eq!(told, [(copy, None), (WorkKind::Fill { bytes: 8 }, Some(1))]);
    }
}
