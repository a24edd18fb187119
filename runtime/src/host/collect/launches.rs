//! The launches of a series function, by user code, a library, another thread or a graph.
//!
//! Input: one call of what is measured, and later its samples. Output: a record of each launch, in
//! the order of the driver calls that queued them, with its median times; and the timeline of the
//! observed call. CUPTI's activity records show all launches of the process. The observed call is
//! no sample: recording the driver's calls slows it down.

use std::collections::HashMap;

use cudarc::driver::{result, sys};
use gpuprof_cupti::{Activity, ActivityRecorder, Call, KernelActivity};
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::protocol::MeasureRequest;
use gpuprof_model::series::without_place;
use gpuprof_model::timeline::Timeline;
use gpuprof_model::unified_memory::{Migrations, UnifiedMemory};

use super::convergence::median;
use super::profiler_calls;
use super::recorder;
use super::timeline::{self, NamedCall, Window};
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// How many times of launches are kept for their medians.
const MOST_TIMES: usize = 1 << 20;

/// What was seen of a closure.
pub(crate) struct Observed {
    /// Its launches.
    pub(crate) launches: Vec<LaunchRecord>,
    /// The order and the times of all it did; none of a single launch.
    pub(crate) timeline: Option<Timeline>,
    /// How often it started the profiler.
    pub(crate) starts: usize,
    /// Which of its work belongs to the range, in the order of the calls; none if all does.
    pub(crate) inside: Option<Vec<bool>>,
    /// The migrations of managed memory; none if they were not requested.
    pub(crate) unified_memory: Option<UnifiedMemory>,
}

/// The launches of `once` in its second call, and the migrations of managed memory if `request`
/// asks for them; nothing if CUPTI records none of this process.
///
/// # Errors
/// Those of `once`; CUPTI's.
pub(crate) fn observe(
    session: &Session,
    request: &MeasureRequest,
    once: &mut dyn FnMut() -> Result<()>,
) -> Result<Option<Observed>> {
    let Ok(mut recorder) = recorder::begin(session, request.cupti.as_deref(), true) else {
        return Ok(None);
    };
    let begun = request.unified_memory.then(|| begin_migrations(session, &mut recorder));
    // The first call under the recorder is slower: its three launches on an H200 took 1.7 ms, those
    // of the second call 0.5 ms.
    once()?;
    session.context.synchronize().map_err(|e| session.explain(e.into()))?;
    recorder.take().map_err(Error::cupti)?;
    recorder.take_calls();
    recorder.take_migrations();
    let begin = recorder.now().map_err(Error::cupti)?;
    once()?;
    let end = recorder.now().map_err(Error::cupti)?;
    session.context.synchronize().map_err(|e| session.explain(e.into()))?;
    let mut work = recorder.take().map_err(Error::cupti)?;
    let calls = recorder.take_calls().into_iter().map(|call| {
        let function = recorder.function(&call).unwrap_or_else(|| "unknown".to_owned());
        let Call { correlation, thread, start, end, .. } = call;
        NamedCall { function, correlation, thread, start, end }
    });
    let calls: Vec<NamedCall> = calls.collect();
    let moved = recorder.take_migrations();
    let unified_memory = begun.map(|begun| match begun {
        Ok(_block) => UnifiedMemory::Recorded(migrations_of(moved)),
        Err(error) => UnifiedMemory::Unavailable(error.to_string()),
    });
    session.quiet.stage(|| {
        drop(recorder);
        Ok(())
    })?;
    let threads = calls.iter().map(|call| (call.correlation, call.thread)).collect();
    let mut numbers = ThreadNumbers::default();
    let mut launches = records(&mut work, &threads, &mut numbers);
    let window = Window { begin, end };
    let inside = profiler_calls::inside(&work, calls.iter().filter(|call| window.holds(call)));
    if let Some(inside) = &inside {
        let of_kernels = work.iter().zip(inside).filter(|(work, _)| work.kernel().is_some());
        for (launch, (_, inside)) in launches.iter_mut().zip(of_kernels) {
            launch.outside = !inside;
        }
    }
    let starts = calls.iter().filter(|call| window.holds(call) && profiler_calls::is_start(call));
    let starts = starts.count();
    let timeline = timeline::timeline(&work, calls, window, |thread| numbers.number(thread));
    Ok(Some(Observed { launches, timeline, starts, inside, unified_memory }))
}

/// Records migrations from now on, for as long as the block lives.
///
/// # Errors
/// A machine on which CUPTI cannot record them.
fn begin_migrations(session: &Session, recorder: &mut ActivityRecorder) -> Result<ManagedBlock> {
    recorder.begin_migrations().map_err(Error::cupti)?;
    // CUPTI of an H200 (13.0) delivers no record before managed memory is allocated again.
    ManagedBlock::allocate(session)
}

/// Unused managed memory.
struct ManagedBlock(sys::CUdeviceptr);

impl ManagedBlock {
    fn allocate(session: &Session) -> Result<Self> {
        session.context.bind_to_thread()?;
        let attach = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
        // SAFETY: a context is current.
        Ok(Self(unsafe { result::malloc_managed(4096, attach) }?))
    }
}

impl Drop for ManagedBlock {
    fn drop(&mut self) {
        // SAFETY: allocated above, and nothing else has the address. A failure leaks it.
        let _ = unsafe { result::free_sync(self.0) };
    }
}

fn migrations_of(moved: gpuprof_cupti::Migrations) -> Migrations {
    Migrations {
        bytes_to_device: moved.bytes_to_device,
        bytes_to_host: moved.bytes_to_host,
        bytes_between_devices: moved.bytes_between_devices,
        gpu_faults: moved.gpu_faults,
        cpu_faults: moved.cpu_faults,
    }
}

/// Numbers for CUPTI's threads, from 0 in the order in which they are asked for.
#[derive(Default)]
struct ThreadNumbers(Vec<u32>);

impl ThreadNumbers {
    fn number(&mut self, thread: u32) -> u32 {
        let at = self.0.iter().position(|other| *other == thread).unwrap_or_else(|| {
            self.0.push(thread);
            self.0.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

/// Puts work into the order of the calls that queued it.
fn order(work: &mut [Activity]) {
    work.sort_by_key(place);
}

/// The place of a piece of work in the order of the calls that queued it.
pub(super) fn place(activity: &Activity) -> (u32, Option<(u32, u64)>, u64) {
    let node = activity.kernel().and_then(|kernel| kernel.graph);
    (activity.correlation, node, activity.start)
}

/// The launches among `work`.
fn records(
    work: &mut [Activity],
    threads: &HashMap<u32, u32>,
    numbers: &mut ThreadNumbers,
) -> Vec<LaunchRecord> {
    order(work);
    let mut number = |thread: u32| numbers.number(thread);
    let launches = work.iter().filter_map(|activity| Some((activity, activity.kernel()?)));
    launches
        .map(|(activity, kernel)| {
            let KernelActivity { name, grid, block, shared_bytes, cluster, graph } = kernel;
            LaunchRecord {
                kernel: without_place(name).to_owned(),
                grid: *grid,
                block: *block,
                shared_bytes: *shared_bytes,
                cluster: cluster.iter().any(|blocks| *blocks > 1).then_some(*cluster),
                // The measured one is number 0.
                device: Some(activity.device).filter(|device| *device != 0),
                context: Some(activity.context.into()),
                stream: Some(activity.stream.into()),
                graph: graph.map(|(graph, _)| graph),
                thread: threads.get(&activity.correlation).copied().map(&mut number),
                ..LaunchRecord::default()
            }
        })
        .collect()
}

/// The times of the launches of all samples.
#[derive(Default)]
pub(crate) struct LaunchTimes {
    /// The kernels of the first sample, in their order.
    kernels: Vec<String>,
    /// The starts of each, in nanoseconds after the first start of its sample, and the durations.
    times: Vec<(Vec<f64>, Vec<f64>)>,
    /// Whether a sample launched something else than the first.
    differ: bool,
}

impl LaunchTimes {
    /// Adds the launches of a sample.
    pub(crate) fn add(&mut self, mut work: Vec<Activity>) {
        let kept = self.times.first().map_or(0, |(starts, _)| starts.len() * self.times.len());
        if self.differ || kept > MOST_TIMES {
            return;
        }
        order(&mut work);
        let begin = work.iter().map(|activity| activity.start).min().unwrap_or_default();
        work.retain(|activity| activity.kernel().is_some());
        let name = |activity: &Activity| activity.kernel().map(|kernel| kernel.name.clone());
        let kernels: Vec<String> = work.iter().filter_map(name).collect();
        if self.times.is_empty() {
            self.times.resize_with(kernels.len(), Default::default);
            self.kernels = kernels;
        } else if self.kernels != kernels {
            self.differ = true;
            return;
        }
        for ((starts, durations), launch) in self.times.iter_mut().zip(&work) {
            starts.push((launch.start - begin) as f64);
            durations.push(launch.end.saturating_sub(launch.start) as f64);
        }
    }

    /// Gives `launches` their median times, if every sample launched the same kernels as they.
    pub(crate) fn give(mut self, launches: &mut [LaunchRecord]) {
        let same = self.kernels.len() == launches.len()
            && self.kernels.iter().zip(&*launches).all(|(a, b)| without_place(a) == b.kernel);
        if self.differ || !same {
            return;
        }
        for (launch, (starts, durations)) in launches.iter_mut().zip(&mut self.times) {
            launch.start_ns = Some(median(starts).round() as u64);
            launch.duration_ns = Some(median(durations).round() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_cupti::DeviceWork;

    use super::*;

    fn launch(name: &str, correlation: u32, graph: Option<(u32, u64)>, at: (u64, u64)) -> Activity {
        let kernel = KernelActivity {
            name: name.to_owned(),
            grid: [4, 1, 1],
            block: [64, 1, 1],
            graph,
            ..KernelActivity::default()
        };
        let (start, end) = at;
        let work = DeviceWork::Kernel(kernel);
        Activity { work, start, end, device: 0, context: 1, stream: 7, correlation }
    }

    #[test]
    fn launches_are_in_the_order_of_their_calls_with_their_threads_numbered() {
        let fill = DeviceWork::Fill { bytes: 4 };
        let fill = Activity { work: fill, ..launch("", 4, None, (0, 1)) };
        let mut work = [
            launch("node b", 9, Some((2, 0x2_0000_0001)), (10, 20)),
            launch("node a", 9, Some((2, 0x2_0000_0000)), (15, 25)),
            launch("first$1a2b3c4d$12$1$", 5, None, (30, 40)),
            launch("other thread", 6, None, (1, 2)),
            fill,
        ];
        let threads = HashMap::from([(5, 4711), (6, 815), (9, 4711)]);
        let found = records(&mut work, &threads, &mut ThreadNumbers::default());
        let told: Vec<_> = found.iter().map(|l| (l.kernel.as_str(), l.thread, l.graph)).collect();
        let expected = [
            ("first", Some(0), None),
            ("other thread", Some(1), None),
            ("node a", Some(0), Some(2)),
            ("node b", Some(0), Some(2)),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_launch_has_median_times_if_its_samples_agree() {
        let sample = |second: &str, slower: u64| {
            vec![
                launch("a", 1, None, (1_000, 1_100 + slower)),
                launch(second, 2, None, (1_200, 1_300)),
            ]
        };
        let mut launches =
            records(&mut sample("b", 0), &HashMap::new(), &mut ThreadNumbers::default());
        let mut times = LaunchTimes::default();
        [0, 50, 7].into_iter().for_each(|slower| times.add(sample("b", slower)));
        times.give(&mut launches);
        let times_of = |launch: &LaunchRecord| (launch.start_ns, launch.duration_ns);
        assert_eq!(times_of(&launches[0]), (Some(0), Some(107)));
        assert_eq!(times_of(&launches[1]), (Some(200), Some(100)));

        for other in [sample("c", 0), vec![launch("a", 1, None, (0, 1))]] {
            let mut launches =
                records(&mut sample("b", 0), &HashMap::new(), &mut ThreadNumbers::default());
            let mut times = LaunchTimes::default();
            times.add(sample("b", 0));
            times.add(other);
            times.give(&mut launches);
            assert_eq!(times_of(&launches[0]), (None, None));
        }
    }
}
