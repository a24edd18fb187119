//! Hardware counters by CUPTI's Range Profiler, one pass per process or all of them in one.
//!
//! Input: for each pass, its subject: one configuration, or several with a slot each in the counter
//! data; and the counter request. Output: the counter data image with one more pass in it, and
//! after the last pass a value, or a reason, for every metric of each. A counter pass takes no
//! times, which would include CUPTI's own work. The measured launch finds the original inputs,
//! since warm-up runs for a certain time and would leave them different in every pass: a kernel's
//! inputs are restored, and a series function, whose buffers only it knows, is called again
//! (`replay.rs`). The cache is flushed after CUPTI has started and right before the launch. A
//! closure of several launches is one range, pushed before it and popped after all of its work.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use gpuprof_cupti::target::{PassStart, RangeMode, Replay as CuptiReplay};
use gpuprof_cupti::{Host, HostApi, Session as CuptiSession, SessionOptions};
use gpuprof_model::measurement::{CounterPass, HardwareValue, LaunchRecord};
use gpuprof_model::protocol::{CounterRange, CounterRequest, Replay, Sampling};

use super::empty_caches::CacheEmptier;
use super::parts::{self, Counts, Mark};
use super::persisting;
use crate::host::collect::named_ranges::Marker;
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// How many launches of a series function have ranges of their own, if it is not known how many it
/// makes.
const MOST_UNKNOWN: u32 = 16;

/// The name of a closure's range.
const CLOSURE: &str = "closure";

/// The owner of a slot in a pass: how to launch it, and how to restore its inputs.
pub(crate) trait Member {
    /// Its slot in the counter data.
    fn slot(&self) -> u32;
    /// Restores its original inputs.
    fn restore(&mut self) -> Result<()>;
    /// Queues its launches.
    fn launch(&mut self) -> Result<()>;
}

/// The counter passes of this process for the owners of a counter data image: one by application
/// replay, all of them otherwise.
pub(crate) struct Collection<'a> {
    session: &'a Session,
    request: &'a CounterRequest,
    cold: bool,
    /// For kernel replay.
    cache_emptier: Option<CacheEmptier>,
    layout: Layout,
    api: HostApi,
    profiler: Rc<RefCell<CuptiSession>>,
    steps: StepTimes,
    passes: usize,
    /// Where CUPTI continues.
    next: PassStart,
    complete: bool,
}

/// The ranges of the counter data and their owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    slots: u32,
    /// How many launches flush caches before those of each slot: separate ranges, which are not
    /// read.
    flushes: u32,
    content: SlotContent,
}

/// The contents of the ranges of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotContent {
    /// One launch.
    Launch,
    /// Each launch of a series function, which has the only slot: at most so many.
    Launches(u32),
    /// A series function's closure in the only slot, with so many named ranges that lie so deep in
    /// it. Flushes are in no range.
    Closure {
        /// Whether the closure itself is a range, around the named ones: without NVTX ranges, which
        /// are the measured range.
        whole: bool,
        /// How many named ranges begin.
        named: u32,
        /// How deep they lie: 0 without any.
        depth: u16,
    },
}

impl SlotContent {
    /// The content of the ranges of a series function with these `named` ranges; its launches, if
    /// they were `seen`.
    ///
    /// # Errors
    /// Launches of a graph, or from several threads, cannot have ranges of their own; there are too
    /// many ranges.
    pub(crate) fn of_function(
        range: CounterRange,
        seen: Option<&[LaunchRecord]>,
        marks: &[Mark],
    ) -> Result<Self> {
        let named = u32::try_from(marks.len()).unwrap_or(u32::MAX);
        let depth = u16::try_from(parts::depth(marks)).unwrap_or(u16::MAX);
        let by_nvtx = marks.iter().any(|mark| mark.outer_nvtx);
        let closure = Self::Closure { whole: !by_nvtx, named, depth };
        let from_graph = seen.unwrap_or_default().iter().any(|launch| launch.graph.is_some());
        let several_threads =
            seen.unwrap_or_default().iter().any(|launch| launch.thread.is_some_and(|at| at > 0));
        let most = seen.map_or(MOST_UNKNOWN, |seen| u32::try_from(seen.len()).unwrap_or(u32::MAX));
        let delimited = !by_nvtx && seen.unwrap_or_default().iter().any(|launch| launch.outside);
        let (range, instead) = match range {
            CounterRange::Auto if delimited => (CounterRange::Launch, "remove cuProfilerStart"),
            CounterRange::Launch if delimited => (range, "remove cuProfilerStart"),
            _ => (range, "use --range closure"),
        };
        let several = named > 0 || from_graph || seen.is_some_and(|seen| seen.len() != 1);
        match range {
            CounterRange::Closure | CounterRange::Auto if named >= MOST_RANGES => {
                Err(Error::failed(format!(
                    "the closure has {named} named ranges, and counter data has room for {}",
                    MOST_RANGES - 1
                )))
            }
            CounterRange::Closure => Ok(closure),
            CounterRange::Auto if several => Ok(closure),
            CounterRange::Auto => Ok(Self::Launches(most)),
            CounterRange::Launch if from_graph => Err(Error::failed(format!(
                "--range launch: the closure launches a graph, whose kernels CUPTI does not count \
                 one by one; {instead}"
            ))),
            CounterRange::Launch if several_threads => Err(Error::failed(format!(
                "--range launch: the closure launches from several threads, and CUPTI does not say \
                 which launch it counted; {instead}"
            ))),
            CounterRange::Launch if most > MOST_RANGES => Err(Error::failed(format!(
                "--range launch: the closure makes {most} launches, and counter data has room for \
                 {MOST_RANGES}; {instead}"
            ))),
            CounterRange::Launch => Ok(Self::Launches(most)),
        }
    }
}

/// The most ranges of a closure: each takes some 0.7 MB.
const MOST_RANGES: u32 = 256;

impl Layout {
    /// Ranges that the image has room for: one more than are wanted, since CUPTI drops what is too
    /// many without a word.
    fn room(self) -> usize {
        (self.slots * self.per_slot() + 1) as usize
    }

    fn per_slot(self) -> u32 {
        match self.content {
            SlotContent::Launch => 1 + self.flushes,
            SlotContent::Launches(most) => most + self.flushes,
            SlotContent::Closure { whole, named, .. } => u32::from(whole) + named,
        }
    }

    /// How deep ranges lie in each other.
    fn levels(self) -> u16 {
        match self.content {
            SlotContent::Launch | SlotContent::Launches(_) => 1,
            SlotContent::Closure { whole, depth, .. } => u16::from(whole) + depth,
        }
    }

    /// The ranges of `slot`, if the image holds `found`.
    fn ranges_of(self, slot: u32, found: usize) -> Result<Range<usize>> {
        let first = (slot * self.per_slot() + self.flushes) as usize;
        match self.content {
            SlotContent::Launches(most) if found == self.room() => Err(Error::failed(format!(
                "the measured range holds more than {most} launches, the limit for counters"
            ))),
            SlotContent::Launches(_) if found <= first => {
                Err(Error::failed("CUPTI saw no kernel launch in the measured range"))
            }
            SlotContent::Launches(_) => Ok(first..found),
            SlotContent::Launch if found + 1 != self.room() => Err(Error::failed(format!(
                "CUPTI saw {found} launches instead of {}: something else launched kernels in between",
                self.room() - 1
            ))),
            SlotContent::Launch => Ok(first..first + 1),
            SlotContent::Closure { .. } if found != self.per_slot() as usize => Err(Error::failed(
                format!("CUPTI's counter data holds {found} ranges instead of {}", self.per_slot()),
            )),
            SlotContent::Closure { .. } => Ok(0..found),
        }
    }
}

impl<'a> Collection<'a> {
    /// Opens a CUPTI session, on a device that is warm, for slots of this `content`.
    ///
    /// # Errors
    /// CUPTI, or files.
    pub(crate) fn open(
        session: &'a Session,
        request: &'a CounterRequest,
        sampling: &Sampling,
        content: SlotContent,
    ) -> Result<Self> {
        let mut steps = StepTimes::begin();
        let profiler = session.profiler(&request.cupti)?;
        let (api, target) = (profiler.api, &profiler.target);
        let cold = sampling.cold_cache;
        // As ncu does in its kernel replay. A program that launches a kernel repeatedly finds its
        // instructions in the caches, as the other modes do.
        let empties = cold && request.replay == Replay::Kernel;
        let cache_emptier = empties.then(|| CacheEmptier::new(session)).transpose()?;
        let flushes = u32::from(cold) + u32::from(cache_emptier.is_some());
        let layout = Layout { slots: request.slots, flushes, content };
        let options = SessionOptions {
            config: read(&request.config_image)?,
            metrics: request.metrics.clone(),
            counter_data: request.image_before.as_deref().map(read).transpose()?,
            // Each takes some 0.7 MB of the image and 3 ms a session.
            max_ranges: layout.room(),
            nesting_levels: layout.levels(),
            // A loop of passes in one process is application replay to CUPTI: it saves and restores
            // nothing. Its own kernel replay leaves restored data dirty in the L2, and lets nothing
            // run between that and the launch.
            replay: CuptiReplay::Application,
            // A launch is a range: a range of our own would hold the gaps around the launch too,
            // and every rate over elapsed time would be diluted by them.
            range: match content {
                SlotContent::Launch | SlotContent::Launches(_) => RangeMode::Auto,
                SlotContent::Closure { .. } => RangeMode::User,
            },
            pass: PassStart { index: request.pass as usize, ..PassStart::default() },
        };
        // One session for all slots: starting one costs 0.2 s, and an open one does not take the
        // counter data of another configuration (SetConfig crashed or was not heeded on an H200
        // with 13.0).
        let next = options.pass;
        let profiler =
            CuptiSession::open(target, &session.context, options).map_err(Error::cupti)?;
        let profiler = Rc::new(RefCell::new(profiler));
        steps.end("open");
        Ok(Self {
            session,
            request,
            cold,
            cache_emptier,
            layout,
            api,
            profiler,
            steps,
            passes: 0,
            next,
            complete: false,
        })
    }

    /// How many passes it has collected.
    pub(crate) fn passes(&self) -> usize {
        self.passes
    }

    /// Whether this process has another pass to collect. CUPTI repeats a pass for each level of
    /// ranges.
    pub(crate) fn goes_on(&self) -> bool {
        let same_pass = self.next.index == self.request.pass as usize;
        !self.complete && (same_pass || self.request.replay != Replay::Application)
    }

    /// What happens at the ends of named ranges.
    pub(crate) fn marker(&self) -> Marker {
        match self.layout.content {
            SlotContent::Launch | SlotContent::Launches(_) => Marker::None,
            SlotContent::Closure { .. } => Marker::Profiler(Rc::clone(&self.profiler)),
        }
    }

    /// Collects a pass.
    ///
    /// # Errors
    /// CUPTI, or the launches.
    pub(crate) fn pass(&mut self, members: &mut [&mut dyn Member]) -> Result<()> {
        let Self { session, layout, steps, .. } = self;
        // From here on, the work of another process would affect the cache and the counters. A
        // start takes 0.2 s, in which others may prepare if the cache is flushed afterwards, since
        // that removes their traces.
        let quiet_start = (!self.cold).then(|| session.quiet.window()).transpose()?;
        steps.end("quiet");
        if self.cold {
            // The driver does that by a launch, which CUPTI would count.
            persisting::reset();
        }
        if members.len() < layout.slots as usize {
            // Not at its first launch, which is inside the pass: CUPTI might count the launch that
            // fills its buffer.
            session.flusher()?;
        }
        session.stream.synchronize()?;
        steps.end("inputs");
        self.profiler.borrow_mut().start().map_err(Error::cupti)?;
        steps.end("start");
        let quiet = quiet_start.map_or_else(|| session.quiet.window(), Ok)?;
        steps.end("quiet since");
        self.launch_all(members)?;
        self.session.stream.synchronize()?;
        let stopped = self.profiler.borrow_mut().stop()?;
        drop(quiet);
        self.steps.end("measure");
        self.passes += 1;
        self.complete = stopped.all_passes_submitted;
        self.next = stopped.next;
        if !self.goes_on() {
            // While what was launched is still loaded: patched counters belong to its code, and a
            // series function unloads that when it returns.
            self.profiler.borrow_mut().decode()?;
            self.steps.end("decode");
        }
        Ok(())
    }

    /// Launches the owners of slots, each after a flush of the cache, and fills the other slots.
    fn launch_all(&mut self, members: &mut [&mut dyn Member]) -> Result<()> {
        let Self { session, layout, profiler, .. } = self;
        let closure = matches!(layout.content, SlotContent::Closure { whole: true, .. });
        for slot in 0..layout.slots {
            let member = members.iter_mut().find(|member| member.slot() == slot);
            let Some(member) = member else {
                (0..layout.per_slot()).try_for_each(|_| session.evict())?;
                continue;
            };
            member.restore()?;
            // After the start: its effects are over before the launch, whether it took 0.2 s, as
            // the first in a process does, or 2 ms.
            if self.cold {
                session.evict()?;
            }
            if let Some(emptier) = &self.cache_emptier {
                emptier.run(session)?;
            }
            session.stream.synchronize()?;
            if closure {
                profiler.borrow_mut().push(CLOSURE).map_err(Error::cupti)?;
            }
            member.launch()?;
            // On all streams: the range ends with the last of its work.
            session.context.synchronize()?;
            if closure {
                profiler.borrow_mut().pop().map_err(Error::cupti)?;
            }
        }
        Ok(())
    }

    /// The counters of the ranges of these `slots`, in their order, if this was the last pass;
    /// otherwise none, and a file for the process that collects the next one.
    ///
    /// # Errors
    /// CUPTI, or files.
    pub(crate) fn finish(self, slots: &[u32]) -> Result<(CounterPass, Vec<Vec<Counts>>)> {
        let Self { request, layout, api, profiler, mut steps, complete, .. } = self;
        let profiler = Rc::into_inner(profiler).ok_or_else(|| Error::failed("a range is open"))?;
        let image = profiler.into_inner().into_counter_data()?;
        steps.end("close");
        let values = if complete {
            let values = evaluate(api, request, layout, &image, slots)?;
            steps.end("evaluate");
            values
        } else {
            // Written under another name first: a process that is killed leaves a whole image or
            // none.
            let unfinished = request.image.with_extension("unfinished");
            fs::write(&unfinished, &image)?;
            fs::rename(unfinished, &request.image)?;
            steps.end("hand over");
            vec![Vec::new(); slots.len()]
        };
        Ok((CounterPass { complete, steps_ms: steps.taken }, values))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Error::failed(format!("cannot read {}: {e}", path.display())))
}

/// The value of every metric in each range of each slot.
fn evaluate(
    api: HostApi,
    request: &CounterRequest,
    layout: Layout,
    image: &[u8],
    slots: &[u32],
) -> Result<Vec<Vec<Counts>>> {
    let found = api.range_count(image)?;
    let mut host = Host::new(api, &request.chip, None)?;
    let mut per_slot = |&slot: &u32| {
        let mut counted = Vec::new();
        for range in layout.ranges_of(slot, found)? {
            let values = host.evaluate(image, range, &request.metrics)?;
            let hardware = request.metrics.iter().cloned().zip(values.into_iter().map(finite));
            let place = match layout.content {
                SlotContent::Launch | SlotContent::Launches(_) => range,
                SlotContent::Closure { .. } => place(&api.range_name(image, range)?),
            };
            let counts = Counts { hardware: hardware.collect(), ..Counts::default() };
            counted.push((place, counts));
        }
        counted.sort_by_key(|(place, _)| *place);
        Ok(counted.into_iter().map(|(_, counts)| counts).collect())
    };
    slots.iter().map(&mut per_slot).collect()
}

/// The place of the range `name` of a closure: first the closure, then its named ranges as they
/// began. CUPTI has them in the order of their levels.
fn place(name: &str) -> usize {
    let innermost = name.rsplit('/').next().unwrap_or(name);
    innermost.parse().map_or(0, |named: usize| named + 1)
}

/// A value that CUPTI returned.
fn finite(value: f64) -> HardwareValue {
    if value.is_finite() {
        return HardwareValue::Value(value);
    }
    HardwareValue::Unavailable(format!(
        "CUPTI returned {value}: a division by zero, or a unit that this device shares with others"
    ))
}

/// The time of the steps of a counter pass.
struct StepTimes {
    last: Instant,
    taken: Vec<(String, f64)>,
}

impl StepTimes {
    fn begin() -> Self {
        Self { last: Instant::now(), taken: Vec::new() }
    }

    fn end(&mut self, name: &str) {
        let now = Instant::now();
        self.taken.push((name.to_owned(), (now - self.last).as_secs_f64() * 1e3));
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_and_cache_flushes_have_separate_ranges() {
        let layout = Layout { slots: 3, flushes: 1, content: SlotContent::Launch };
        assert_eq!(layout.room(), 7);
        let of = |slot| layout.ranges_of(slot, 6).unwrap();
        assert_eq!([of(0), of(1), of(2)], [1..2, 3..4, 5..6]);
        let warm = Layout { flushes: 0, ..layout };
        assert_eq!((warm.room(), warm.ranges_of(2, 3).unwrap()), (4, 2..3));
    }

    #[test]
    fn an_unexpected_number_of_launches_is_an_error() {
        for (slots, all) in [(1, 2), (3, 6)] {
            let layout = Layout { slots, flushes: 1, content: SlotContent::Launch };
            for found in [all - 1, all + 1] {
                let error = layout.ranges_of(0, found).unwrap_err().to_string();
                let text = format!("CUPTI saw {found} launches instead of {all}: something");
                assert!(error.starts_with(&text), "{error}");
            }
        }
    }

    #[test]
    fn ranges_of_a_series_function_exclude_the_cache_flush() {
        let layout = Layout { slots: 1, flushes: 1, content: SlotContent::Launches(16) };
        assert_eq!((layout.room(), layout.ranges_of(0, 4).unwrap()), (18, 1..4));
        let error = |found| layout.ranges_of(0, found).unwrap_err().to_string();
        assert!(error(1).starts_with("CUPTI saw no kernel launch"), "{}", error(1));
        assert_eq!(layout.ranges_of(0, 17).unwrap(), 1..17);
        assert!(error(18).starts_with("the measured range holds more than 16"), "{}", error(18));
    }

    #[test]
    fn the_range_of_a_closure_excludes_the_cache_flush() {
        let closure = |named, depth| SlotContent::Closure { whole: true, named, depth };
        let layout = Layout { slots: 1, flushes: 1, content: closure(0, 0) };
        assert_eq!((layout.room(), layout.ranges_of(0, 1).unwrap()), (2, 0..1));
        let named = Layout { content: closure(3, 2), ..layout };
        assert_eq!((named.room(), named.levels(), named.ranges_of(0, 4).unwrap()), (5, 3, 0..4));
        assert!(named.ranges_of(0, 1).is_err());
        assert_eq!(["closure", "closure/0", "closure/1/2", "1/2"].map(place), [0, 1, 3, 3]);
        let error = layout.ranges_of(0, 2).unwrap_err().to_string();
        assert!(error.starts_with("CUPTI's counter data holds 2 ranges"), "{error}");
    }

    #[test]
    fn several_launches_or_a_graph_are_one_range_by_default() {
        let launches =
            |count: usize, graph| vec![LaunchRecord { graph, ..Default::default() }; count];
        let of = |range, seen: &[LaunchRecord]| SlotContent::of_function(range, Some(seen), &[]);
        let (auto, launch) = (CounterRange::Auto, CounterRange::Launch);
        let closure = SlotContent::Closure { whole: true, named: 0, depth: 0 };
        assert_eq!(of(auto, &launches(1, None)).unwrap(), SlotContent::Launches(1));
        assert_eq!(of(auto, &launches(2, None)).unwrap(), closure);
        assert_eq!(of(auto, &launches(1, Some(2))).unwrap(), closure);
        assert_eq!(of(launch, &launches(20, None)).unwrap(), SlotContent::Launches(20));
        assert_eq!(of(CounterRange::Closure, &launches(1, None)).unwrap(), closure);
        let refused = |seen: &[LaunchRecord]| of(launch, seen).unwrap_err().to_string();
        assert!(refused(&launches(1, Some(2))).contains("launches a graph"));
        assert!(refused(&launches(257, None)).contains("makes 257 launches"));
        let mut by_threads = launches(2, None);
        by_threads[1].thread = Some(1);
        assert!(refused(&by_threads).contains("from several threads"));
        assert_eq!(of(auto, &by_threads).unwrap(), closure);
        let mut delimited = launches(2, None);
        delimited[0].outside = true;
        assert_eq!(of(auto, &delimited).unwrap(), SlotContent::Launches(2));
        assert_eq!(of(launch, &delimited).unwrap(), SlotContent::Launches(2));
        let mark = |path: &str| Mark {
            path: path.to_owned(),
            depth: path.split('/').count(),
            outer_nvtx: false,
            launches: 0..0,
        };
        let marks = [mark("a"), mark("a/b")];
        let named = SlotContent::of_function(auto, Some(&launches(1, None)), &marks).unwrap();
        assert_eq!(named, SlotContent::Closure { whole: true, named: 2, depth: 2 });
        // NVTX ranges are the measured range, and what is outside of them is in none.
        let of_nvtx = [Mark { outer_nvtx: true, ..mark("a") }, mark("a/b")];
        let of = |range| SlotContent::of_function(range, Some(&delimited), &of_nvtx).unwrap();
        let ranges = SlotContent::Closure { whole: false, named: 2, depth: 2 };
        assert_eq!([of(auto), of(CounterRange::Closure)], [ranges; 2]);
        assert_eq!(of(launch), SlotContent::Launches(2));
        let layout = Layout { slots: 1, flushes: 1, content: ranges };
        assert_eq!((layout.room(), layout.levels(), layout.ranges_of(0, 2).unwrap()), (3, 2, 0..2));
        assert!(layout.ranges_of(0, 3).is_err());
        let many = vec![mark("a"); 256];
        let error = SlotContent::of_function(auto, None, &many).unwrap_err().to_string();
        assert!(error.contains("256 named ranges"), "{error}");
        let unseen = SlotContent::of_function(auto, None, &[]).unwrap();
        assert_eq!(unseen, SlotContent::Launches(MOST_UNKNOWN));
    }

    #[test]
    fn values_that_are_not_finite_are_unavailable() {
        assert_eq!(finite(1.0), HardwareValue::Value(1.0));
        let none = |value| matches!(finite(value), HardwareValue::Unavailable(why) if why.starts_with("CUPTI returned"));
        assert!(none(f64::NAN) && none(f64::INFINITY));
    }
}
