//! The part of a closure between `cuProfilerStart` and `cuProfilerStop`.
//!
//! Input: the work of a closure, and its calls of the driver in the order of their starts. Output:
//! which work belongs to the range, as in Nsight Compute with `--profile-from-start off`. Calls of
//! all threads count, in the order of their times.

use std::collections::HashMap;

use gpuprof_cupti::Activity;

use super::timeline::NamedCall;

const START: &str = "cuProfilerStart";

/// Whether `call` starts the profiler.
pub(super) fn is_start(call: &NamedCall) -> bool {
    call.function == START
}

/// Which of `work` belongs to the range; none if the closure never starts the profiler.
pub(super) fn inside<'c>(
    work: &[Activity],
    calls: impl Iterator<Item = &'c NamedCall>,
) -> Option<Vec<bool>> {
    let (mut started, mut any) = (false, false);
    let mut queued: HashMap<u32, bool> = HashMap::new();
    for call in calls {
        match call.function.as_str() {
            START => (started, any) = (true, true),
            "cuProfilerStop" => started = false,
            _ => {}
        }
        queued.insert(call.correlation, started);
    }
    let belongs = |activity: &Activity| queued.get(&activity.correlation).copied() == Some(true);
    any.then(|| work.iter().map(belongs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_cupti::DeviceWork;

    fn found(functions: &[&str]) -> Option<Vec<bool>> {
        let call = |(correlation, function): (u32, &&str)| {
            let (function, start) = ((*function).to_owned(), correlation.into());
            NamedCall { function, correlation, thread: 1, start, end: start }
        };
        let calls: Vec<NamedCall> = (0..).zip(functions).map(call).collect();
        let launches = calls.iter().filter(|call| call.function == "launch").map(|call| {
            let (work, correlation) = (DeviceWork::Fill { bytes: 8 }, call.correlation);
            Activity { work, start: 0, end: 1, device: 0, context: 1, stream: 7, correlation }
        });
        inside(&launches.collect::<Vec<_>>(), calls.iter())
    }

    #[test]
    fn work_belongs_to_the_range_if_its_call_comes_after_a_start_and_before_the_next_stop() {
        let (launch, start, stop) = ("launch", "cuProfilerStart", "cuProfilerStop");
        let calls = [launch, start, launch, launch, stop, launch, start, launch];
        assert_eq!(found(&calls), Some(vec![false, true, true, false, true]));
        assert_eq!(found(&[launch, start, stop]), Some(vec![false]));
        // Without a start, a stop says nothing.
        assert_eq!(found(&[launch, stop, launch]), None);
    }
}
