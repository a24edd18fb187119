//! Finding CUPTI.
//!
//! Input: an explicit path, or the environment. Output: a [`Location`] with an open library and its
//! version, or [`NotFound`] with every place of the search. The order: the explicit path;
//! `$GPUPROF_CUPTI`; the toolkits of `$CUDA_HOME` and `$CUDA_PATH`; `/usr/local/cuda*`;
//! `$LD_LIBRARY_PATH`; the linker's own search; the site-packages of the active Python.
//!
//! A library that was not named and cannot be used here (too old, or useless without a driver) does
//! not end the search: an old toolkit would hide the CUPTI that its owner installed next to it.
//!
//! Opening `libnvperf_host.so` by path before CUPTI is called makes CUPTI's own search for the bare
//! name find it, so `LD_LIBRARY_PATH` is not needed. It is opened for a CUPTI that can be used
//! only: the first one of that name serves all.

mod files;
mod loader_cache;
mod python;
mod search;

use std::fmt;
use std::path::{Path, PathBuf};

pub use files::toolkits_in;
pub use python::site_packages;
pub use search::{CUPTI, Product, Search, SearchAttempt, SearchLocation, named_toolkits, path_of};

use crate::LoadError;
use crate::driver;
use crate::library::Library;
use crate::version::{MARKERS, Version};

/// A CUPTI that is there, open, and of a known version.
#[derive(Clone, Debug)]
pub struct Location {
    path: PathBuf,
    version: Version,
    place: SearchLocation,
    pub(crate) library: Library,
}

impl Location {
    /// The library's file, with links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Which step of the search found it.
    #[must_use]
    pub fn place(&self) -> &SearchLocation {
        &self.place
    }

    /// Opens the library `path`: a file, or a bare name for the linker.
    ///
    /// # Errors
    /// [`LoadError::Open`], [`LoadError::NvperfMissing`], or [`LoadError::MissingSymbol`] where it
    /// is not CUPTI.
    fn open(path: &Path, place: SearchLocation) -> Result<Self, LoadError> {
        let library =
            Library::open(path).map_err(|reason| LoadError::Open { path: path.into(), reason })?;
        let file = library.file_of("cuptiGetVersion").ok_or_else(|| LoadError::MissingSymbol {
            path: path.into(),
            symbol: "cuptiGetVersion",
        })?;
        let version = version_of(&library, &file)?;
        Ok(Self { path: file, version, place, library })
    }

    /// Why it cannot be used here, without calling anything of it.
    pub(crate) fn refusal(&self) -> Option<LoadError> {
        let (path, version) = (self.path.clone(), self.version);
        if !version.is_new_enough() {
            return Some(LoadError::TooOld { path, version });
        }
        if version.works_without_driver() {
            return None;
        }
        let driver = driver::probe_nvidia().err()?;
        Some(LoadError::NeedsDriver { path, version, driver })
    }
}

/// A function that every CUPTI with the Range Profiler API has.
const FIRST_OF_RANGES: &str = "cuptiRangeProfilerEnable";

/// Opens `libnvperf_host.so` next to CUPTI, so that CUPTI's search for the bare name finds it.
/// Costs 50 ms (32 MB are relocated).
fn open_nvperf(cupti: &Path) -> Result<(), LoadError> {
    Library::open_globally(&sibling_path(cupti, "libnvperf_host.so"))
        .map(|_| ())
        .map_err(|reason| LoadError::NvperfMissing { path: cupti.into(), reason })
}

/// A file in the folder of CUPTI's file.
pub(crate) fn sibling_path(cupti: &Path, name: &str) -> PathBuf {
    cupti.canonicalize().unwrap_or_else(|_| cupti.into()).with_file_name(name)
}

/// The version; a usable library has its nvperf open afterwards.
fn version_of(library: &Library, file: &Path) -> Result<Version, LoadError> {
    let bound = MARKERS.iter().find(|(symbol, _)| library.has(symbol)).map(|(_, version)| *version);
    // From 13.2 on, even this call needs NVIDIA's driver (see `version`).
    if let Some(bound) = bound
        && driver::probe_nvidia().is_err()
    {
        return Ok(bound);
    }
    // Those before the Range Profiler API answer without it (seen with 12.1).
    if library.has(FIRST_OF_RANGES) {
        open_nvperf(file)?;
    }
    // SAFETY: `CUptiResult cuptiGetVersion(uint32_t *version)` in every CUPTI.
    let get = unsafe { library.symbol::<unsafe extern "C" fn(*mut u32) -> u32>("cuptiGetVersion") }
        .map_err(|symbol| LoadError::MissingSymbol { path: file.into(), symbol })?;
    let mut api = 0;
    // SAFETY: it writes one u32; nvperf is loaded where the version may ask for it, and a driver
    // answers where the version asks for one.
    if unsafe { get(&raw mut api) } == 0 {
        return Ok(Version::from_api(api));
    }
    Ok(bound.unwrap_or(Version::OLDEST))
}

/// Finds CUPTI in the environment of this process, or takes `explicit`: the library or its folder.
///
/// # Errors
/// [`NotFound`] with all places that were looked at.
pub fn locate(explicit: Option<&Path>) -> Result<Location, NotFound> {
    locate_by(&Search::from_environment(&CUPTI, explicit))
}

/// Finds CUPTI by `search`; the first usable library wins. If a path was named, by argument or by
/// `$GPUPROF_CUPTI`, only that is tried, and it is accepted if it is CUPTI at all: loading it
/// reports why it is unusable.
///
/// # Errors
/// [`NotFound`] with all places of the search.
pub fn locate_by(search: &Search) -> Result<Location, NotFound> {
    let found = search.first(|candidate, place| {
        let location = Location::open(candidate, place.clone())?;
        match location.refusal().filter(|_| !place.is_named()) {
            None => Ok(location),
            Some(refused) => {
                // SAFETY: this is the only user of the location, and at most its version was
                // queried.
                unsafe { location.library.close() };
                Err(refused)
            }
        }
    });
    found.map_err(|searched| NotFound { searched })
}

/// No CUPTI was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// Everything that was looked at, in order.
    pub searched: Vec<SearchAttempt<LoadError>>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no usable CUPTI was found; searched:")?;
        for SearchAttempt { place, reason } in &self.searched {
            match reason {
                Some(reason) => write!(f, "\n  {place}: {reason}")?,
                None => write!(f, "\n  {place}: no libcupti.so there")?,
            }
        }
        if self.searched.iter().any(|searched| searched.place.is_named()) {
            return f.write_str(
                "\n  nowhere else was searched: correct --cupti-path or GPUPROF_CUPTI, or leave \
                 both out to search the usual places; `pip install nvidia-cuda-cupti` installs one \
                 (13.0.85 also works without a GPU)",
            );
        }
        f.write_str(
            "\n  install it with `pip install nvidia-cuda-cupti` (13.0.85 also works without a GPU), or name it with \
             GPUPROF_CUPTI",
        )
    }
}
