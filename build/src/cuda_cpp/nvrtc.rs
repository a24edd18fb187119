//! The selected NVRTC: its library, its identity, and the CUDA headers that belong to it.
//!
//! Input: an explicit path, or the environment. Output: a [`Compiler`], or [`NotFound`] with every
//! place that was looked at and the one command that installs what is missing.

mod child;
mod product;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) use child::{Ended, Job, NoReply, Reply, Request, ask};
pub use child::{SUBCOMMAND, run_child};
use gpuprof_cupti::locate::{SearchAttempt, SearchLocation};
pub use product::{NVRTC, Search};

use super::cache::Cache;
use super::error::Error;
use super::program::Architecture;
use gpuprof_system::console::Notes;
use gpuprof_system::exit_status::describe_end_without_answer;
use gpuprof_system::interrupt::Interrupt;

/// An NVRTC that is there and answers.
#[derive(Debug, Clone)]
pub struct Compiler {
    library: PathBuf,
    place: SearchLocation,
    version: (u32, u32),
    /// `13.0.88`, and the number of its build.
    release: String,
    build: String,
    architectures: Vec<u32>,
    includes: Vec<PathBuf>,
    executable: PathBuf,
    interrupt: Interrupt,
    notes: Notes,
}

impl Compiler {
    /// Takes the first library of [`Search`] that answers. `executable` is the subcommand, which is
    /// started for every compile; `interrupt` ends a compile.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn find(
        search: &Search,
        executable: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self, NotFound> {
        let found = search.library.first(|library, place| {
            Self::identified(library, place, executable, interrupt)?.allowed(search)
        });
        found.map_err(|searched| NotFound { searched })
    }

    /// Compiles an empty file, to check that the library works and to identify its build.
    fn identified(
        library: &Path,
        place: &SearchLocation,
        executable: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self, String> {
        let job = Job { name: "empty.cu".into(), ..Job::default() };
        let request = Request { library: library.into(), job, trace: None };
        let shown = library.display();
        let reply = ask(executable, Path::new("/"), interrupt, &request).map_err(|e| match e {
            NoReply::Start(error) => format!("cannot start the process that asks it: {error}"),
            NoReply::Ended(status) => format!(
                "{shown}: the process that asked it {}",
                describe_end_without_answer(status)
            ),
            NoReply::Unusable(reason) => reason,
            NoReply::Interrupted(signal) => format!("interrupted by signal {signal}"),
        })?;
        let ptx = match reply.ended {
            Ended::Well { ptx, .. } => ptx,
            Ended::WithErrors => return Err(format!("{shown}: {}", reply.log.trim())),
            Ended::Refused(reason) => return Err(format!("{shown}: {reason}")),
        };
        let after = |mark: &str| {
            let rest = ptx.split_once(mark)?.1;
            rest.split(|c: char| c.is_whitespace() || c == ',').next()
        };
        let (major, minor) = reply.version;
        Ok(Self {
            library: library.canonicalize().unwrap_or_else(|_| library.into()),
            place: place.clone(),
            version: reply.version,
            release: after(", V").map_or_else(|| format!("{major}.{minor}"), Into::into),
            build: after("Compiler Build ID: ").unwrap_or_default().into(),
            architectures: reply.architectures,
            includes: includes_of(library),
            executable: executable.into(),
            interrupt: interrupt.clone(),
            notes: Notes::new(true),
        })
    }

    /// Itself, if the driver accepts its PTX or the user named it.
    fn allowed(self, search: &Search) -> Result<Self, String> {
        match search.newest {
            Some(newest) if self.version > newest && !self.place.is_named() => Err(format!(
                "{} is NVRTC {}, and the driver accepts PTX of CUDA {}.{} at most",
                self.library.display(),
                self.release,
                newest.0,
                newest.1
            )),
            _ => Ok(self),
        }
    }

    /// The same compiler, its child processes started from another executable.
    #[must_use]
    pub fn with_executable(&self, executable: &Path) -> Self {
        Self { executable: executable.into(), ..self.clone() }
    }

    /// The same compiler; `interrupt` ends its compiles.
    #[must_use]
    pub fn with_interrupt(&self, interrupt: &Interrupt) -> Self {
        Self { interrupt: interrupt.clone(), ..self.clone() }
    }

    /// The same compiler, which reports each compile on standard error unless `quiet`, to explain
    /// the wait. Cached results are not reported.
    #[must_use]
    pub fn announcing(&self, quiet: bool) -> Self {
        Self { notes: Notes::new(quiet), ..self.clone() }
    }

    /// Tells that `sources` are compiled for `architecture`.
    pub(super) fn announce(&self, sources: &str, architecture: Architecture) {
        self.notes.say(format_args!("compiling {sources} for {architecture} with {}", self.name()));
    }

    /// The library's file, with links resolved.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Which step of the search found it.
    #[must_use]
    pub fn place(&self) -> &SearchLocation {
        &self.place
    }

    /// Its version: `13.0.88`.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Who compiles: `NVRTC 13.0.88`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("NVRTC {}", self.release)
    }

    /// The CUDA version that it belongs to: major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The compute capabilities that it compiles for, as 90 for 9.0, in ascending order.
    #[must_use]
    pub fn architectures(&self) -> &[u32] {
        &self.architectures
    }

    /// The identity of this build of the compiler.
    pub(super) fn identity(&self) -> String {
        format!("{} {} {:?}", self.release, self.build, self.architectures)
    }

    /// Whether it holds the CUDA headers itself.
    #[must_use]
    pub fn has_bundled_headers(&self) -> bool {
        self.version >= (13, 3)
    }

    /// The request to end its compiles.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// The folders of CUDA's headers: those of its toolkit; its own, unpacked into the cache; or
    /// those of the wheels next to it. Empty if there are none.
    ///
    /// # Errors
    /// The cache cannot be written, or it ends while it unpacks.
    pub(super) fn cuda_headers(&self, cache: &Cache) -> Result<Vec<PathBuf>, Error> {
        let complete = self.includes.iter().any(|it| it.join("nv/target").is_file());
        if complete && self.place != SearchLocation::Python || !self.has_bundled_headers() {
            return Ok(self.includes.clone());
        }
        let failed = |path: &Path, error: &std::io::Error| Error::Cache {
            path: path.into(),
            reason: error.to_string(),
        };
        fs::create_dir_all(cache.folder()).map_err(|e| failed(cache.folder(), &e))?;
        let folder = cache.folder().canonicalize().map_err(|e| failed(cache.folder(), &e))?;
        let folder = folder.join(format!("headers-{}", self.release));
        let folders = vec![folder.clone(), folder.join("cccl")];
        // Written last.
        if folder.join(".nvrtc_headers_version").is_file() {
            return Ok(folders);
        }
        let options = vec![format!("--use-bundled-headers={}", folder.display())];
        let job = Job { name: "empty.cu".into(), options, ..Job::default() };
        let reply = self.run(Path::new("/"), job).map_err(|error| match error {
            NoReply::Start(error) => Error::Start(error.to_string()),
            NoReply::Interrupted(signal) => Error::Interrupted(signal),
            NoReply::Unusable(reason) => Error::Cache { path: folder.clone(), reason },
            NoReply::Ended(status) => {
                Error::Cache { path: folder.clone(), reason: describe_end_without_answer(status) }
            }
        })?;
        match reply.ended {
            Ended::Well { .. } => Ok(folders),
            Ended::WithErrors | Ended::Refused(_) => {
                let reason = format!("{} does not unpack its headers: {}", self.name(), reply.log);
                Err(Error::Cache { path: folder, reason })
            }
        }
    }

    /// Compiles `job` in a child process that works in `folder`.
    ///
    /// # Errors
    /// [`NoReply`].
    pub(super) fn run(&self, folder: &Path, job: Job) -> Result<Reply, NoReply> {
        let request = Request { library: self.library.clone(), job, trace: None };
        ask(&self.executable, folder, &self.interrupt, &request)
    }
}

/// The command that installs it.
pub const INSTALL: &str = "python3 -m pip install nvidia-cuda-nvrtc";

/// The header that every set of CUDA headers has.
const MARK: &str = "cuda_fp16.h";

/// The header folders of the toolkit or the wheels that the library is part of.
fn includes_of(library: &Path) -> Vec<PathBuf> {
    let file = library.canonicalize().unwrap_or_else(|_| library.into());
    let Some(folder) = file.parent() else { return Vec::new() };
    let above = |count: usize| folder.ancestors().nth(count).unwrap_or(folder).to_path_buf();
    // Of a toolkit, a toolkit's target, a wheel of CUDA 13 and a distribution.
    let main = [above(1).join("include"), above(3).join("include")];
    let main = main.into_iter().find(|it| it.join(MARK).is_file());
    // Each wheel of CUDA 12 has its own folder.
    let wheels = ["cuda_runtime", "cuda_cccl", "cuda_nvcc", "cuda_crt"];
    let wheels = wheels.map(|name| above(2).join(name).join("include"));
    let wheels = wheels.iter().any(|it| it.join(MARK).is_file()).then_some(wheels);
    let found = main.into_iter().chain(wheels.into_iter().flatten());
    let with_cccl = found.flat_map(|it| {
        let cccl = it.join("cccl");
        [it, cccl]
    });
    with_cccl.filter(|it| fs::metadata(it).is_ok_and(|it| it.is_dir())).collect()
}

/// No NVRTC was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// The searched places, in order.
    pub searched: Vec<SearchAttempt<String>>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no NVRTC was found, and CUDA C++ needs it; searched:")?;
        for SearchAttempt { place, reason } in &self.searched {
            match reason {
                Some(reason) => write!(f, "\n  {place}: {reason}")?,
                None => write!(f, "\n  {place}: no libnvrtc.so there")?,
            }
        }
        let named = self.searched.iter().any(|searched| searched.place.is_named());
        if named {
            f.write_str("\n  nowhere else was searched, because a setting names this path")?;
        }
        write!(
            f,
            "\n  install it with `{INSTALL}`, which needs neither a GPU nor a toolkit, or name its \
             file or folder with GPUPROF_NVRTC"
        )
    }
}
