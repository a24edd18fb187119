//! One profiling session: one context, one config image, one counter data image, one or more
//! passes.
//!
//! The order that CUPTI requires, and that the state checks: open (Enable, the image's size and
//! initialisation if there is none yet, SetConfig) → start → push, launch, pop → stop → decode →
//! into the counter data (Disable). Several passes in one process repeat start to stop and decode
//! once, or once per pass.
//!
//! A pass in a separate process continues the others by their counter data and by [`PassStart`],
//! the result of the last [`Session::stop`].

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::cupti::sys;
use cudarc::driver::CudaContext;

use super::{Target, TargetError};
use crate::abi::Call;
use crate::host::{Names, c_string};
use crate::image::Kind;
use crate::{Code, Failure};

/// Who repeats the work for the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// CUPTI's mode of that name: the application, as a whole.
    Application,
    /// The user of the session, by calling start to stop again. Passes in separate processes work
    /// in this mode (tested).
    User,
    /// CUPTI, by saving memory and launching each kernel again. With [`RangeMode::Auto`].
    Kernel,
}

/// The extent of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeMode {
    /// What happens between push and pop, under the name pushed.
    User,
    /// Each kernel launch, under its number from 0.
    Auto,
}

/// The start of a pass: the result of the last [`Session::stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassStart {
    /// The pass.
    pub index: usize,
    /// The nesting level.
    pub nesting_level: u16,
}

impl Default for PassStart {
    fn default() -> Self {
        Self { index: 0, nesting_level: 1 }
    }
}

/// The options of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// From [`crate::Host::config_image`].
    pub config: Vec<u8>,
    /// The metrics of the config image; they size the counter data image of the first pass.
    pub metrics: Vec<String>,
    /// The counter data of the passes so far; none for the first.
    pub counter_data: Option<Vec<u8>>,
    /// At least how many ranges one pass has.
    pub max_ranges: usize,
    /// How deep ranges lie in each other: 1 for ranges side by side, and with [`RangeMode::Auto`].
    pub nesting_levels: u16,
    /// Who repeats.
    pub replay: Replay,
    /// The extent of a range.
    pub range: RangeMode,
    /// The start of this pass.
    pub pass: PassStart,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassEnd {
    /// The start of the next pass.
    pub next: PassStart,
    /// Whether this was the last pass.
    pub all_passes_submitted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Configured,
    Started { depth: usize },
    Stopped,
}

/// An open session. Dropping one ends it in whatever state it is.
pub struct Session {
    target: Target,
    context: Arc<CudaContext>,
    object: NonNull<sys::CUpti_RangeProfiler_Object>,
    // CUPTI keeps pointers into both until the session is disabled; neither is touched in between.
    config: Vec<u8>,
    counter_data: Vec<u8>,
    range: RangeMode,
    state: State,
    enabled: bool,
}

impl Session {
    /// Opens a session on `context`. One at a time in a context.
    ///
    /// # Errors
    /// Here CUPTI says that counters cannot be had: [`Code::InsufficientPrivileges`],
    /// [`Code::HardwareBusy`] and similar.
    pub fn open(
        target: &Target,
        context: &Arc<CudaContext>,
        options: SessionOptions,
    ) -> Result<Self, TargetError> {
        super::own(context)?;
        let functions = target.functions();
        let mut enable = Call::<sys::CUpti_RangeProfiler_Enable_Params>::new();
        enable.fields().ctx = context.cu_ctx();
        // SAFETY: CUPTI is initialised, and the context is live and of its driver.
        unsafe { functions.enable.call(&mut enable) }?;
        // SAFETY: a pointer that CUPTI wrote.
        let object = NonNull::new(unsafe { (*enable.out()).pRangeProfilerObject })
            .ok_or_else(|| functions.enable.failed(Code::Unknown))?;
        // From here on, leaving disables.
        let mut session = Self {
            target: target.clone(),
            context: Arc::clone(context),
            object,
            config: Vec::new(),
            counter_data: Vec::new(),
            range: options.range,
            state: State::Configured,
            enabled: true,
        };
        session.configure(&options)?;
        Ok(session)
    }

    fn configure(&mut self, options: &SessionOptions) -> Result<(), TargetError> {
        let unseal = |kind: Kind, sealed: &[u8]| {
            kind.unseal(sealed, &self.target.functions().set_config)
                .map(std::borrow::Cow::into_owned)
        };
        let config = unseal(Kind::Config, &options.config)?;
        let counter_data = options.counter_data.as_deref();
        let counter_data = match counter_data.map(|it| unseal(Kind::CounterData, it)).transpose()? {
            Some(image) => image,
            None => self.new_counter_data(&options.metrics, options.max_ranges)?,
        };
        self.config = config;
        self.counter_data = counter_data;
        Ok(self.set_config(options)?)
    }

    fn new_counter_data(
        &mut self,
        metrics: &[String],
        max_ranges: usize,
    ) -> Result<Vec<u8>, Failure> {
        let functions = self.target.functions();
        let mut names = Names::new(metrics);
        let mut size = Call::<sys::CUpti_RangeProfiler_GetCounterDataSize_Params>::new();
        let fields = size.fields();
        fields.pRangeProfilerObject = self.object.as_ptr();
        fields.pMetricNames = names.as_mut_ptr();
        fields.numMetrics = names.len();
        fields.maxNumOfRanges = max_ranges;
        fields.maxNumRangeTreeNodes = u32::try_from(max_ranges).unwrap_or(u32::MAX);
        // SAFETY: a live object; the names live until it returns.
        unsafe { functions.counter_data_size.call(&mut size) }?;
        // SAFETY: an integer that CUPTI wrote.
        let mut image = vec![0; unsafe { (*size.out()).counterDataSize }];
        let mut call = Call::<sys::CUpti_RangeProfiler_CounterDataImage_Initialize_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        call.fields().counterDataSize = image.len();
        call.fields().pCounterData = image.as_mut_ptr();
        // SAFETY: a live object; the buffer has the size that CUPTI asked for.
        unsafe { functions.counter_data_initialize.call(&mut call) }?;
        Ok(image)
    }

    fn set_config(&mut self, options: &SessionOptions) -> Result<(), Failure> {
        let SessionOptions { max_ranges, nesting_levels, replay, pass, .. } = *options;
        let mut call = Call::<sys::CUpti_RangeProfiler_SetConfig_Params>::new();
        let fields = call.fields();
        fields.pRangeProfilerObject = self.object.as_ptr();
        fields.configSize = self.config.len();
        fields.pConfig = self.config.as_ptr();
        fields.counterDataImageSize = self.counter_data.len();
        fields.pCounterDataImage = self.counter_data.as_mut_ptr();
        fields.range = match self.range {
            RangeMode::Auto => sys::CUpti_ProfilerRange::CUPTI_AutoRange,
            RangeMode::User => sys::CUpti_ProfilerRange::CUPTI_UserRange,
        };
        fields.replayMode = match replay {
            Replay::Application => sys::CUpti_ProfilerReplayMode::CUPTI_ApplicationReplay,
            Replay::Kernel => sys::CUpti_ProfilerReplayMode::CUPTI_KernelReplay,
            Replay::User => sys::CUpti_ProfilerReplayMode::CUPTI_UserReplay,
        };
        fields.maxRangesPerPass = max_ranges;
        fields.numNestingLevels = nesting_levels;
        fields.minNestingLevel = 1;
        fields.passIndex = pass.index;
        fields.targetNestingLevel = pass.nesting_level;
        // SAFETY: a live object; both images are the session's own, untouched until it is disabled.
        unsafe { self.target.functions().set_config.call(&mut call) }
    }

    /// Begins a pass. The first in a process costs 0.2 s.
    ///
    /// # Errors
    /// [`TargetError::OutOfOrder`] inside a pass, or CUPTI's error.
    pub fn start(&mut self) -> Result<(), TargetError> {
        if let State::Started { .. } = self.state {
            return Err(TargetError::OutOfOrder { call: "start", needs: "not started" });
        }
        self.bind()?;
        let mut call = Call::<sys::CUpti_RangeProfiler_Start_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        // SAFETY: a live, configured object.
        unsafe { self.target.functions().start.call(&mut call) }?;
        self.state = State::Started { depth: 0 };
        Ok(())
    }

    /// Begins the range `name`. Synchronise the stream first, so that work launched earlier is not
    /// counted.
    ///
    /// # Errors
    /// [`TargetError::OutOfOrder`] outside of a pass or with [`RangeMode::Auto`], or CUPTI's error.
    pub fn push(&mut self, name: &str) -> Result<(), TargetError> {
        let (State::Started { depth }, RangeMode::User) = (self.state, self.range) else {
            return Err(TargetError::OutOfOrder {
                call: "push",
                needs: "started, with user ranges",
            });
        };
        self.bind()?;
        let name = c_string(name);
        let mut call = Call::<sys::CUpti_RangeProfiler_PushRange_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        call.fields().pRangeName = name.as_ptr();
        // SAFETY: a live, started object; the name lives until it returns.
        unsafe { self.target.functions().push_range.call(&mut call) }?;
        self.state = State::Started { depth: depth + 1 };
        Ok(())
    }

    /// Ends the innermost range. Synchronise the stream first, so that the work is in it.
    ///
    /// # Errors
    /// [`TargetError::OutOfOrder`] without an open range, or CUPTI's error.
    pub fn pop(&mut self) -> Result<(), TargetError> {
        let State::Started { depth: depth @ 1.. } = self.state else {
            return Err(TargetError::OutOfOrder { call: "pop", needs: "inside a range" });
        };
        self.bind()?;
        let mut call = Call::<sys::CUpti_RangeProfiler_PopRange_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        // SAFETY: a live, started object with an open range.
        unsafe { self.target.functions().pop_range.call(&mut call) }?;
        self.state = State::Started { depth: depth - 1 };
        Ok(())
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// [`TargetError::OutOfOrder`] outside of a pass or inside a range, or CUPTI's error.
    pub fn stop(&mut self) -> Result<PassEnd, TargetError> {
        let State::Started { depth: 0 } = self.state else {
            return Err(TargetError::OutOfOrder {
                call: "stop",
                needs: "started, outside of any range",
            });
        };
        self.bind()?;
        let mut call = Call::<sys::CUpti_RangeProfiler_Stop_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        // SAFETY: a live, started object.
        unsafe { self.target.functions().stop.call(&mut call) }?;
        self.state = State::Stopped;
        // SAFETY: integers that CUPTI wrote.
        let (index, level, all) = unsafe {
            let out = call.out();
            ((*out).passIndex, (*out).targetNestingLevel, (*out).isAllPassSubmitted)
        };
        // The level is a size_t here and a uint16_t in SetConfig.
        let nesting_level = u16::try_from(level).unwrap_or(u16::MAX);
        Ok(PassEnd { next: PassStart { index, nesting_level }, all_passes_submitted: all != 0 })
    }

    /// Moves the hardware's counts into the counter data.
    ///
    /// # Errors
    /// [`TargetError::RangesDropped`]; [`TargetError::OutOfOrder`] before a pass has ended; or
    /// CUPTI's error.
    pub fn decode(&mut self) -> Result<(), TargetError> {
        if self.state != State::Stopped {
            return Err(TargetError::OutOfOrder { call: "decode", needs: "stopped" });
        }
        self.bind()?;
        let mut call = Call::<sys::CUpti_RangeProfiler_DecodeData_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        // SAFETY: a live, stopped object; the counter data that it writes is the session's own.
        unsafe { self.target.functions().decode.call(&mut call) }?;
        // SAFETY: an integer that CUPTI wrote.
        match unsafe { (*call.out()).numOfRangeDropped } {
            0 => Ok(()),
            dropped => Err(TargetError::RangesDropped { dropped }),
        }
    }

    /// Closes the session and gives the counter data: for [`crate::Host::evaluate`] after the last
    /// pass, for the next session before.
    ///
    /// # Errors
    /// CUPTI's error.
    pub fn into_counter_data(mut self) -> Result<Vec<u8>, TargetError> {
        self.bind()?;
        self.disable()?;
        Ok(Kind::CounterData.seal(&self.counter_data))
    }

    fn disable(&mut self) -> Result<(), Failure> {
        if !std::mem::take(&mut self.enabled) {
            return Ok(());
        }
        let mut call = Call::<sys::CUpti_RangeProfiler_Disable_Params>::new();
        call.fields().pRangeProfilerObject = self.object.as_ptr();
        // SAFETY: a live object, and this is its last use.
        let disabled = unsafe { self.target.functions().disable.call(&mut call) };
        if disabled.is_err() {
            // CUPTI may still hold its pointers into the images, so they stay.
            std::mem::forget(std::mem::take(&mut self.config));
            std::mem::forget(std::mem::take(&mut self.counter_data));
        }
        disabled
    }

    fn bind(&self) -> Result<(), TargetError> {
        self.context.bind_to_thread().map_err(TargetError::Context)
    }
}

impl Drop for Session {
    /// Ends open ranges and the pass, and disables. Failures are ignored: the caller already has
    /// the relevant one.
    fn drop(&mut self) {
        if !self.enabled {
            return;
        }
        while let State::Started { depth: 1.. } = self.state {
            if self.pop().is_err() {
                break;
            }
        }
        if let State::Started { depth: 0 } = self.state {
            let _ = self.stop();
        }
        // A context that can no longer be bound is broken; CUPTI is informed anyway.
        let _ = self.bind();
        let _ = self.disable();
    }
}
