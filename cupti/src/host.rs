//! CUPTI's host API: everything about metrics that needs no GPU.
//!
//! Input: a chip's name and, if it came from a device, its counter availability image. Goes out:
//! the catalogue of the chip's metrics, the validation of names, config images, pass counts, and
//! values read from counter data.
//!
//! A host object keeps every metric that was added to it, and a refused addition spoils it. So the
//! [`Host`] itself is only asked, never added to: each config image is built on an object of its
//! own (a millisecond).

mod breakdown;
mod catalogue;
mod config;
mod counter_data;
mod groups;
mod kind;
mod problem;
mod strings;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Mutex;

use cudarc::cupti::sys;

pub use breakdown::{Breakdown, BreakdownError};
pub use catalogue::{MetricProblem, Properties};
pub use counter_data::EvaluateError;
pub use groups::Group;
pub use kind::MetricKind;
pub use problem::ConfigProblem;
pub(crate) use strings::{Names, c_string, string, strings};

use crate::abi::{Call, Functions};
use crate::image::Kind;
use crate::library::Library;
use crate::locate::{self, Location};
use crate::{Failure, LoadError};

/// A loaded CUPTI. A handle: copies are the same library.
#[derive(Clone, Copy)]
pub struct HostApi {
    pub(crate) functions: &'static Functions,
    pub(crate) path: &'static Path,
    pub(crate) library: Library,
}

impl HostApi {
    /// Makes a CUPTI that was found ready for use. One process uses one CUPTI; loading the same
    /// again is free.
    ///
    /// # Errors
    /// [`LoadError::TooOld`] before 12.6; [`LoadError::NeedsDriver`] for a version that crashes or
    /// fails where no driver answers, before anything of it is called;
    /// [`LoadError::MissingSymbol`]; [`LoadError::AnotherLoaded`].
    ///
    /// # Panics
    /// If another thread panicked in here.
    pub fn load(location: &Location) -> Result<Self, LoadError> {
        static LOADED: Mutex<Option<HostApi>> = Mutex::new(None);
        if let Some(refusal) = location.refusal() {
            return Err(refusal);
        }
        let mut loaded = LOADED.lock().expect("nothing panics while it is held");
        if let Some(api) = *loaded {
            return if api.path == location.path() {
                Ok(api)
            } else {
                let (wanted, loaded) = (location.path().into(), api.path.into());
                Err(LoadError::AnotherLoaded { wanted, loaded })
            };
        }
        let functions = Functions::resolve(location.library)
            .map_err(|symbol| LoadError::MissingSymbol { path: location.path().into(), symbol })?;
        let api = Self {
            functions: Box::leak(Box::new(functions)),
            path: Box::leak(location.path().to_owned().into_boxed_path()),
            library: location.library,
        };
        *loaded = Some(api);
        Ok(api)
    }

    /// The error that it lacks this function.
    pub(crate) fn missing(self, symbol: &'static str) -> LoadError {
        LoadError::MissingSymbol { path: self.path.into(), symbol }
    }

    /// Opens `libnvperf_target.so` next to CUPTI, for a CUPTI that looks for it by its bare name
    /// when it begins to collect. None of 12.6 to 13.5 names it in its strings, so this is not done
    /// unasked: it costs 50 ms. Whether there was one.
    pub fn open_nvperf_target(&self) -> bool {
        Library::open_globally(&locate::sibling_path(self.path, "libnvperf_target.so")).is_ok()
    }

    /// The chips that this CUPTI knows, such as `GH100`.
    ///
    /// # Errors
    /// Whatever CUPTI answers.
    pub fn chips(&self) -> Result<Vec<String>, Failure> {
        let mut call = Call::<sys::CUpti_Profiler_Host_GetSupportedChips_Params>::new();
        // SAFETY: a host function; CUPTI owns the list.
        unsafe { self.functions.host_chips.call(&mut call) }?;
        // SAFETY: on success the pointer is to `numChips` strings that live as long as the library.
        Ok(unsafe { strings((*call.out()).ppChipNames, (*call.out()).numChips) })
    }
}

/// The collector of the counters, which decides the metrics that a chip has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profiler {
    /// The range profiler.
    Ranges,
    /// PM sampling.
    Samples,
}

/// The metrics of one chip.
pub struct Host {
    api: HostApi,
    object: Object,
    chip: CString,
    profiler: Profiler,
    availability: Option<Vec<u8>>,
    kinds: OnceCell<BTreeMap<String, MetricKind>>,
}

impl Host {
    /// Opens the catalogue of `chip`. `availability` is the image that
    /// [`crate::Target::counter_availability`] gave: with it, counters that the device does not
    /// offer (a MIG slice, a virtual GPU) are left out.
    ///
    /// # Errors
    /// [`crate::Code::InvalidParameter`] or [`crate::Code::InvalidChipName`] for a chip that this
    /// CUPTI does not know.
    pub fn new(api: HostApi, chip: &str, availability: Option<&[u8]>) -> Result<Self, Failure> {
        let availability = availability
            .map(|image| Kind::Availability.unseal(image, &api.functions.host_initialize))
            .transpose()?
            .map(std::borrow::Cow::into_owned);
        Self::open(api, chip, Profiler::Ranges, availability)
    }

    /// The catalogue of `chip` for `profiler`, with an image that is not sealed.
    pub(crate) fn open(
        api: HostApi,
        chip: &str,
        profiler: Profiler,
        availability: Option<Vec<u8>>,
    ) -> Result<Self, Failure> {
        let chip = c_string(chip);
        let object = Object::new(api, &chip, profiler, availability.as_deref())?;
        Ok(Self { api, object, chip, profiler, availability, kinds: OnceCell::new() })
    }

    /// The chip.
    #[must_use]
    pub fn chip(&self) -> &str {
        self.chip.to_str().unwrap_or_default()
    }

    /// A separate object, to add metrics to.
    fn scratch(&self) -> Result<Object, Failure> {
        Object::new(self.api, &self.chip, self.profiler, self.availability.as_deref())
    }
}

/// A host object of CUPTI.
struct Object {
    api: HostApi,
    pointer: NonNull<sys::CUpti_Profiler_Host_Object>,
}

impl Object {
    fn new(
        api: HostApi,
        chip: &CStr,
        profiler: Profiler,
        availability: Option<&[u8]>,
    ) -> Result<Self, Failure> {
        let mut call = Call::<sys::CUpti_Profiler_Host_Initialize_Params>::new();
        let fields = call.fields();
        fields.profilerType = match profiler {
            Profiler::Ranges => sys::CUpti_ProfilerType::CUPTI_PROFILER_TYPE_RANGE_PROFILER,
            Profiler::Samples => sys::CUpti_ProfilerType::CUPTI_PROFILER_TYPE_PM_SAMPLING,
        };
        fields.pChipName = chip.as_ptr();
        fields.pCounterAvailabilityImage = availability.map_or(ptr::null(), <[u8]>::as_ptr);
        let function = &api.functions.host_initialize;
        // SAFETY: a host function; name and image live until it returns.
        unsafe { function.call(&mut call) }?;
        // SAFETY: a pointer that CUPTI wrote.
        let pointer = NonNull::new(unsafe { (*call.out()).pHostObject });
        let pointer = pointer.ok_or(function.failed(crate::Code::Unknown))?;
        Ok(Self { api, pointer })
    }

    fn as_ptr(&self) -> *mut sys::CUpti_Profiler_Host_Object {
        self.pointer.as_ptr()
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let mut call = Call::<sys::CUpti_Profiler_Host_Deinitialize_Params>::new();
        call.fields().pHostObject = self.as_ptr();
        // SAFETY: the object is live, and this is its last use. A failure leaks it, which is
        // acceptable.
        let _ = unsafe { self.api.functions.host_deinitialize.call(&mut call) };
    }
}
