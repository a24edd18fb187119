//! A trial: whether a profiling session can be opened at all, with the advice where it cannot.

use cudarc::driver::CudaContext;

use crate::driver::{self, DriverProblem};
use crate::host::ConfigProblem;
use crate::target::{PassStart, RangeMode, Replay, TargetError};
use crate::{Code, Failure, Host, HostApi, Session, SessionOptions, Target};

/// What is asked for: a counter that every chip has.
const METRIC: &str = "sm__cycles_elapsed.sum";

/// The step at which a trial ended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TrialProblem {
    /// The driver does not answer.
    #[error("{0}")]
    Driver(#[from] DriverProblem),
    /// It gives no context.
    #[error("the driver opens no context on device {ordinal}: {reason}")]
    Context {
        /// The device.
        ordinal: usize,
        /// The driver's words.
        reason: String,
    },
    /// Part of the device's set-up is an obstacle.
    #[error("{part}: {}; check: {}; remedy: {}", code.advice().cause, code.advice().check, code.advice().remedy)]
    Obstacle {
        /// Its name.
        part: String,
        /// The code that CUPTI would answer with.
        code: Code,
    },
    /// The session cannot be opened.
    #[error("{0}")]
    Target(#[from] TargetError),
    /// The catalogue cannot be opened.
    #[error("{0}")]
    Host(#[from] Failure),
    /// The counter of the trial cannot be collected.
    #[error("{0}")]
    Config(#[from] ConfigProblem),
}

/// Opens and closes a session on device `ordinal`; the chip's name.
///
/// # Errors
/// The obstacle.
pub fn open_a_session(api: HostApi, ordinal: usize) -> Result<String, TrialProblem> {
    // cudarc panics without a driver.
    driver::probe()?;
    let context = CudaContext::new(ordinal)
        .map_err(|error| TrialProblem::Context { ordinal, reason: format!("{error:?}") })?;
    let target = Target::initialize(api)?;
    let support = target.device_supported(&context)?;
    if let Some((part, _, code)) = support.obstacles().first() {
        return Err(TrialProblem::Obstacle { part: part.to_string(), code: *code });
    }
    let chip = target.chip_name(ordinal)?;
    // The first call of a run too: a locked machine refuses it first, and a shared profiler may
    // hang in it.
    let availability = target.counter_availability(&context)?;
    let config = Host::new(api, &chip, Some(&availability))?.config_image(&[METRIC])?;
    let options = SessionOptions {
        config,
        metrics: vec![METRIC.to_owned()],
        counter_data: None,
        max_ranges: 1,
        nesting_levels: 1,
        replay: Replay::Application,
        range: RangeMode::Auto,
        pass: PassStart::default(),
    };
    drop(Session::open(&target, &context, options)?);
    Ok(chip)
}
