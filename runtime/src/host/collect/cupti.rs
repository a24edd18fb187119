//! Hardware counters by CUPTI's Range Profiler, one pass a process or all of them in one.
//!
//! Comes in: for each pass, a closure that queues the launches of the measured range and another that puts the inputs
//! back, and the counter request. Goes out: the counter data image with one more pass in it, and after
//! the last pass a value, or a reason, for every metric. A counter pass takes no times: CUPTI's own
//! work would be in them. The inputs are as they were at first before the measured launch, since warm-up goes by
//! time and would leave them different in every pass: a kernel's are put back, and a series function, whose buffers nobody
//! else knows, is called again (`replay.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use cudarc::driver::CudaContext;
use gpuprof_cupti::host::ConfigProblem;
use gpuprof_cupti::target::{PassStart, RangeMode, Replay as CuptiReplay, TargetError};
use gpuprof_cupti::{Host, HostApi, Session as CuptiSession, SessionOptions, Target, locate};
use gpuprof_model::measurement::{CounterPass, HardwareValue, PassResult};
use gpuprof_model::protocol::{
    CounterGroup, CounterPlan, CounterPlanRequest, CounterProblem, CounterRequest, Replay, Sampling,
};

use super::events;
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// The most launches one measured range may have.
const MAX_LAUNCHES: usize = 16;

/// Says what the counters will take, after a trial session, and writes their config image.
///
/// # Errors
/// Metrics the chip does not have, or a machine that does not give counters.
pub(crate) fn plan(
    request: &CounterPlanRequest,
) -> std::result::Result<CounterPlan, CounterProblem> {
    fn machine(error: impl ToString) -> CounterProblem {
        CounterProblem::Machine(error.to_string())
    }
    let location = locate(request.cupti.as_deref()).map_err(machine)?;
    let api = HostApi::load(&location).map_err(machine)?;
    let target = Target::initialize(api).map_err(machine)?;
    let context = CudaContext::new(0).map_err(|e| machine(crate::host::error::describe(e)))?;
    let support = target.device_supported(&context).map_err(machine)?;
    if let Some((part, _, code)) = support.obstacles().first() {
        let advice = code.advice();
        return Err(machine(format!(
            "{part}: {}; check: {}; remedy: {}",
            advice.cause, advice.check, advice.remedy
        )));
    }
    let chip = target.chip_name(0).map_err(machine)?;
    let availability = target.counter_availability(&context).map_err(machine)?;
    let host = Host::new(api, &chip, Some(&availability)).map_err(machine)?;
    let groups = host.groups(&request.metrics).map_err(|problem| match problem {
        ConfigProblem::Failed(failure) => machine(failure),
        problem => CounterProblem::Metrics(problem.to_string()),
    })?;
    let first = groups.first().ok_or_else(|| machine("no counters were asked for"))?;
    let trial = SessionOptions {
        config: first.config.clone(),
        metrics: first.metrics.clone(),
        counter_data: None,
        max_ranges: MAX_LAUNCHES,
        replay: CuptiReplay::Application,
        range: RangeMode::Auto,
        pass: PassStart::default(),
    };
    drop(CuptiSession::open(&target, &context, trial).map_err(machine)?);
    let kept = groups.into_iter().enumerate().map(|(position, group)| {
        let config_image = request.config_folder.join(format!("counters-{position}.config"));
        fs::write(&config_image, group.config)?;
        let passes = u32::try_from(group.passes)?;
        Ok(CounterGroup { metrics: group.metrics, config_image, passes })
    });
    Ok(CounterPlan {
        cupti: location.path().to_owned(),
        cupti_version: location.version().to_string(),
        chip,
        groups: kept.collect::<Result<_>>().map_err(machine)?,
    })
}

/// CUPTI, initialised for collection.
pub(crate) struct Profiler {
    api: HostApi,
    target: Target,
}

impl Profiler {
    pub(crate) fn initialize(library: &Path) -> Result<Self> {
        let api = HostApi::load(&locate(Some(library))?)?;
        Ok(Self { api, target: Target::initialize(api).map_err(denied)? })
    }
}

/// The error, told apart where it says that this machine does not give counters.
fn denied(error: TargetError) -> Error {
    match &error {
        TargetError::Failed(failure) if failure.code.is_denial() => {
            Error::denied(error.to_string())
        }
        _ => error.into(),
    }
}

/// What is measured: how to launch it, and how to put its inputs back.
pub(crate) struct Measured<'a> {
    pub(crate) launch: &'a mut dyn FnMut() -> Result<()>,
    pub(crate) restore: &'a mut dyn FnMut() -> Result<()>,
}

/// The counter passes of one configuration in this process: one by application replay, all of them otherwise.
pub(crate) struct Collection<'a> {
    session: &'a Session,
    request: &'a CounterRequest,
    sampling: &'a Sampling,
    api: HostApi,
    profiler: CuptiSession,
    steps: Steps,
    passes: usize,
    complete: bool,
}

impl<'a> Collection<'a> {
    /// Opens a session of CUPTI's, on a device that is warm.
    ///
    /// # Errors
    /// CUPTI, or files.
    pub(crate) fn open(
        session: &'a Session,
        request: &'a CounterRequest,
        sampling: &'a Sampling,
    ) -> Result<Self> {
        let mut steps = Steps::begin();
        let profiler = session.profiler(&request.cupti)?;
        let (api, target) = (profiler.api, &profiler.target);
        let options = SessionOptions {
            config: fs::read(&request.config_image)?,
            metrics: request.metrics.clone(),
            counter_data: request.image_before.as_ref().map(fs::read).transpose()?,
            max_ranges: MAX_LAUNCHES,
            // A loop of passes in one process is application replay to CUPTI: it saves and restores nothing.
            replay: match request.replay {
                Replay::Application | Replay::Range => CuptiReplay::Application,
                Replay::Kernel => CuptiReplay::Kernel,
            },
            // Each launch is a range: a range of our own would hold the gaps around the launch too, and every
            // rate over elapsed time would be diluted by them.
            range: RangeMode::Auto,
            pass: PassStart { index: request.pass as usize, ..PassStart::default() },
        };
        // One session a configuration: giving the next one's counter data to an open session failed on an H200 (13.0).
        let profiler = CuptiSession::open(target, &session.context, options).map_err(denied)?;
        steps.end("open");
        Ok(Self { session, request, sampling, api, profiler, steps, passes: 0, complete: false })
    }

    /// How many passes it has collected.
    pub(crate) fn passes(&self) -> usize {
        self.passes
    }

    /// Whether this process has another pass to collect.
    pub(crate) fn goes_on(&self) -> bool {
        !self.complete && (self.passes == 0 || self.request.replay != Replay::Application)
    }

    /// Collects a pass.
    ///
    /// # Errors
    /// CUPTI, or the launches.
    pub(crate) fn pass(&mut self, measured: &mut Measured<'_>) -> Result<()> {
        let Self { session, steps, .. } = self;
        (measured.restore)()?;
        session.stream.synchronize()?;
        steps.end("inputs");
        // Whatever another process did from here on would be in the cache, and in the counters.
        let quiet = session.quiet.window()?;
        steps.end("quiet");
        events::flush_once(session, self.sampling)?;
        steps.end("cache");
        self.profiler.start().map_err(denied)?;
        steps.end("start");
        (measured.launch)()?;
        session.stream.synchronize()?;
        let stopped = self.profiler.stop()?;
        drop(quiet);
        steps.end("measure");
        self.passes += 1;
        self.complete = stopped.all_passes_submitted;
        if !self.goes_on() {
            // While what was launched is still loaded: patched counters belong to its code, and a series function
            // unloads that when it returns.
            self.profiler.decode()?;
            self.steps.end("decode");
        }
        Ok(())
    }

    /// Puts what was collected into `result`, or into a file for the process that collects the next pass.
    ///
    /// # Errors
    /// CUPTI, or files.
    pub(crate) fn finish(self, result: &mut PassResult) -> Result<()> {
        let Self { request, api, profiler, mut steps, complete, .. } = self;
        let image = profiler.into_counter_data()?;
        steps.end("close");
        if complete {
            result.hardware = evaluate(api, request, &image)?;
            steps.end("evaluate");
        } else {
            // Written under another name first: a process that is killed leaves a whole image or none.
            let unfinished = request.image.with_extension("unfinished");
            fs::write(&unfinished, &image)?;
            fs::rename(unfinished, &request.image)?;
            steps.end("hand over");
        }
        result.counter_pass = Some(CounterPass { complete, steps_ms: steps.taken });
        Ok(())
    }
}

/// The values of every metric over the launches of the range: sums add up over several launches, and
/// everything else is told for one launch only.
fn evaluate(
    api: HostApi,
    request: &CounterRequest,
    image: &[u8],
) -> Result<BTreeMap<String, HardwareValue>> {
    let launches = api.range_count(image)?;
    if launches == 0 {
        return Err(Error::failed("CUPTI saw no kernel launch in the measured range"));
    }
    let mut host = Host::new(api, &request.chip, None)?;
    let mut of_launches = Vec::new();
    for launch in 0..launches {
        of_launches.push(host.evaluate(image, launch, &request.metrics)?);
    }
    let value = |position: usize, name: &str| {
        let values: Vec<f64> = of_launches.iter().map(|values| values[position]).collect();
        match values.as_slice() {
            [value] if value.is_finite() => HardwareValue::Value(*value),
            [value] => HardwareValue::Unavailable(format!(
                "CUPTI gives no number for it ({value}): a quotient of nothing, or a unit that this \
                 device shares"
            )),
            several if name.ends_with(".sum") && several.iter().all(|v| v.is_finite()) => {
                HardwareValue::Value(several.iter().sum())
            }
            several => HardwareValue::Unavailable(format!(
                "the range holds {} launches, and only sums add up over launches",
                several.len()
            )),
        }
    };
    Ok(request.metrics.iter().enumerate().map(|(i, name)| (name.clone(), value(i, name))).collect())
}

/// Where the time of a counter pass went.
struct Steps {
    last: Instant,
    taken: Vec<(String, f64)>,
}

impl Steps {
    fn begin() -> Self {
        Self { last: Instant::now(), taken: Vec::new() }
    }

    fn end(&mut self, name: &str) {
        let now = Instant::now();
        self.taken.push((name.to_owned(), (now - self.last).as_secs_f64() * 1e3));
        self.last = now;
    }
}
