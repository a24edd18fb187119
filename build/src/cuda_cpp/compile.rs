//! One program, from its sources to the PTX of its instances.
//!
//! Input: a program, a compiler and a cache. Output: the kept result for the same contents, or a
//! new one: all instances together, then without the instances that do not compile, and with
//! stand-ins for the host's side if the sources need them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::source_files;

use super::cache::{Cache, Read};
use super::compiled::{Compiled, Hash};
use super::device_compiler::{Attempt, DeviceCompiler, NAME};
use super::diagnostic::{self, Diagnostic, Note, Severity};
use super::error::Error;
use super::kernel_names::{SourceKernel, kernel_names};
use super::newer_architecture;
use super::nvrtc::{Compiler, Ended, NoReply, Reply};
use super::program::{Architecture, FilePosition, Program};
use super::ptx;
use super::roots::Roots;
use super::shims::{self, Shims};
use super::signature::{self, Fault};
use gpuprof_system::exit_status::describe_end_without_answer;

/// Changes when the same program would be compiled into something else.
const FORMAT: u32 = 5;

/// What is kept of a compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CachedCompile {
    ptx: String,
    /// By the instance's number.
    entries: Vec<Entry>,
    warnings: Vec<Diagnostic>,
}

/// The result for an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    /// Its name in the PTX.
    Name(String),
    /// What is wrong with it.
    Faults(Vec<Fault>),
}

/// Compiles `program` with NVRTC, or takes it from `cache` where nothing that it depends on has
/// changed.
///
/// # Errors
/// [`Error`]: nothing of it compiles. What is wrong with one instance alone is in
/// [`Compiled::entries`].
pub fn compile(program: &Program, compiler: &Compiler, cache: &Cache) -> Result<Compiled, Error> {
    compile_by(program, DeviceCompiler::Nvrtc(compiler), cache)
}

/// The cached compile of `program`.
///
/// # Errors
/// Files that cannot be read, a cache that cannot be locked.
pub(super) fn kept(
    program: &Program,
    compiler: DeviceCompiler<'_>,
    cache: &Cache,
) -> Result<Option<Compiled>, Error> {
    let work = Work::new(program, compiler, cache)?;
    let found = cache.hold(work.key(), compiler.interrupt())?.find::<CachedCompile>(&work.roots);
    Ok(found.map(|(kept, read)| work.compiled(kept, &read)))
}

/// As [`compile`], by either compiler.
///
/// # Errors
/// As [`compile`].
pub(super) fn compile_by(
    program: &Program,
    compiler: DeviceCompiler<'_>,
    cache: &Cache,
) -> Result<Compiled, Error> {
    let work = Work::new(program, compiler, cache)?;
    let held = cache.hold(work.key(), compiler.interrupt())?;
    if let Some((kept, read)) = held.find::<CachedCompile>(&work.roots) {
        return Ok(work.compiled(kept, &read));
    }
    compiler.announce(&program.named(), program.architecture);
    let CompiledInstances { kept, headers, shims } = work.make()?;
    let read = work.read(headers);
    held.keep(&read, &kept)?;
    let mut compiled = work.compiled(kept, &read);
    // It is of interest when the file is compiled, and not at every run.
    compiled.warnings.extend((shims == Shims::Host).then(|| work.host_note()));
    Ok(compiled)
}

/// A program with all that its compile needs.
struct Work<'a> {
    program: &'a Program,
    compiler: DeviceCompiler<'a>,
    roots: Roots,
}

/// How an attempt ended.
enum Outcome {
    Made(CompileOutput),
    Failed(Vec<Diagnostic>),
}

/// The result of an attempt.
struct CompileOutput {
    ptx: String,
    names: Vec<String>,
    warnings: Vec<Diagnostic>,
    headers: Option<Vec<PathBuf>>,
}

/// The instances that can be compiled.
struct CompiledInstances {
    kept: CachedCompile,
    /// The headers that were read, if the compiler names them.
    headers: Option<Vec<PathBuf>>,
    /// The stand-ins for other headers.
    shims: Shims,
}

impl<'a> Work<'a> {
    fn new(
        program: &'a Program,
        compiler: DeviceCompiler<'a>,
        cache: &Cache,
    ) -> Result<Self, Error> {
        let package = &program.package_root;
        let root = package.canonicalize().map_err(|error| unreadable(package, &error))?;
        for source in &program.sources {
            let path = root.join(source);
            fs::File::open(&path).map_err(|error| unreadable(&path, &error))?;
        }
        let wanted = program.architecture.compute;
        if !compiler.architectures().contains(&wanted) {
            let known = compiler.architectures().iter().map(ToString::to_string);
            return Err(Error::Refused {
                compiler: compiler.name(),
                reason: format!(
                    "it does not compile for compute capability {}.{}; it knows {}",
                    wanted / 10,
                    wanted % 10,
                    known.collect::<Vec<_>>().join(", ")
                ),
            });
        }
        let cuda = compiler.cuda_headers(cache)?;
        let roots = Roots::new(&root, &program.includes, &cuda);
        Ok(Self { program, compiler, roots })
    }

    /// All inputs of the compiler, except for the contents of files and their locations.
    fn key(&self) -> Hash {
        let program = self.program;
        let instances = program.kernels.iter().map(|it| {
            let types = it.parameters.iter().map(|it| (&it.cpp, it.layout));
            (&it.expression, types.collect::<Vec<_>>())
        });
        let key = (
            (FORMAT, env!("CARGO_PKG_VERSION"), self.compiler.identity(), Shims::Host.headers()),
            (&program.sources, &program.includes, &program.defines, &program.options),
            (program.architecture, instances.collect::<Vec<_>>()),
        );
        Hash::digest(&serde_json::to_vec(&key).expect("keys are plain data"))
    }

    fn run(&self, attempt: &Attempt) -> Result<Outcome, Error> {
        let reply = self.compiler.run(self.program, &self.roots, attempt);
        let Reply { log, ended, headers, .. } = reply.map_err(|error| self.no_reply(error))?;
        let read = diagnostic::log(&log);
        let messages = read.diagnostics.into_iter().map(|it| self.placed(it)).collect::<Vec<_>>();
        let log = messages.iter().map(|it| it.message.clone()).chain(read.rest);
        let log = log.collect::<Vec<_>>().join("; ");
        let refused = |reason: &str| Error::Refused {
            compiler: self.compiler.name(),
            reason: if log.is_empty() { reason.to_owned() } else { log.clone() },
        };
        match ended {
            Ended::Well { ptx, names } => {
                let of_package = |it: &Diagnostic| self.is_of_the_package(it);
                let warnings = messages.into_iter().filter(of_package).collect();
                Ok(Outcome::Made(CompileOutput { ptx, names, warnings, headers }))
            }
            Ended::WithErrors => {
                let errors = messages.into_iter().filter(|it| it.severity == Severity::Error);
                let errors: Vec<Diagnostic> = errors.collect();
                match errors.is_empty() {
                    true => Err(refused("it found errors and named none")),
                    false => Ok(Outcome::Failed(errors)),
                }
            }
            Ended::Refused(reason) => Err(refused(&reason)),
        }
    }

    /// Compiles every instance that can be compiled.
    fn make(&self) -> Result<CompiledInstances, Error> {
        let all = 0..self.program.kernels.len();
        let mut attempt = Attempt { wanted: all.clone().collect(), shims: Shims::Standard };
        let mut faults: BTreeMap<usize, Vec<Fault>> = BTreeMap::new();
        let made = loop {
            let errors = match self.run(&attempt)? {
                Outcome::Made(made) => break made,
                Outcome::Failed(errors) => errors,
            };
            let (found, rest) = self.sorted(&errors);
            // Errors that no instance led to are errors of the sources.
            let of_sources = rest.iter().any(|error| !error.notes.iter().any(Note::is_step));
            let found = match (of_sources || found.is_empty(), attempt.shims) {
                (false, _) => found,
                // Only an attempt with stand-ins shows whether the host's side was the cause.
                (true, Shims::Standard) if self.compiler.takes_shims() && shims::help(&rest) => {
                    attempt.shims = Shims::Host;
                    continue;
                }
                (true, _) if of_sources => {
                    let newer = self.newer(&attempt, &rest);
                    return Err(Error::Source(self.explained(rest, newer)));
                }
                (true, _) => self.searched(&attempt, &rest)?,
            };
            let found = self.remedied(&attempt, found);
            attempt.wanted.retain(|number| !found.contains_key(number));
            faults.extend(found);
        };
        let kept = self.kept(&made, &attempt, faults);
        Ok(CompiledInstances { kept, headers: made.headers, shims: attempt.shims })
    }

    /// Messages by the instance that they are about, and those about the sources.
    fn sorted(&self, errors: &[Diagnostic]) -> (BTreeMap<usize, Vec<Fault>>, Vec<Diagnostic>) {
        let mut found: BTreeMap<usize, Vec<Fault>> = BTreeMap::new();
        let mut rest = Vec::new();
        for error in errors {
            match signature::fault(error, &self.program.kernels) {
                Some((number, fault)) => found.entry(number).or_default().push(fault),
                None => rest.push(error.clone()),
            }
        }
        found.values_mut().for_each(signature::best);
        (found, rest)
    }

    /// The instances of an attempt that do not compile, if no message identifies them: halves are
    /// compiled, and halves of these.
    ///
    /// # Errors
    /// The sources do not compile without any instance either.
    fn searched(
        &self,
        attempt: &Attempt,
        rest: &[Diagnostic],
    ) -> Result<BTreeMap<usize, Vec<Fault>>, Error> {
        let none = Attempt { wanted: Vec::new(), ..attempt.clone() };
        if let Outcome::Failed(errors) = self.run(&none)? {
            let newer = self.newer(&none, &errors);
            return Err(Error::Source(self.explained(errors, newer)));
        }
        let bodies = |errors: &[Diagnostic]| errors.iter().cloned().map(Fault::Body).collect();
        let mut found = BTreeMap::new();
        let mut groups = vec![attempt.wanted.clone()];
        while let Some(group) = groups.pop() {
            let part = Attempt { wanted: group.clone(), ..attempt.clone() };
            let Outcome::Failed(errors) = self.run(&part)? else { continue };
            match group.as_slice() {
                [] => {}
                [one] => {
                    let fault = self.sorted(&errors).0.remove(one);
                    found.insert(*one, fault.unwrap_or_else(|| bodies(&errors)));
                }
                more => {
                    let (left, right) = more.split_at(more.len() / 2);
                    groups.extend([right.to_vec(), left.to_vec()]);
                }
            }
        }
        if found.is_empty() {
            // Each compiles alone, and not all of them together.
            found.extend(attempt.wanted.iter().map(|&number| (number, bodies(rest))));
        }
        Ok(found)
    }

    fn kept(
        &self,
        made: &CompileOutput,
        attempt: &Attempt,
        mut faults: BTreeMap<usize, Vec<Fault>>,
    ) -> CachedCompile {
        let names: BTreeMap<usize, &String> =
            attempt.wanted.iter().copied().zip(&made.names).collect();
        let wanted: BTreeSet<&str> = made.names.iter().map(String::as_str).collect();
        let cut = match self.program.kernels.is_empty() {
            true => made.ptx.clone(),
            false => ptx::cut(&made.ptx, &wanted),
        };
        let listed = |path: &str| self.roots.listed(Path::new(path)).display().to_string();
        let entries = (0..self.program.kernels.len()).map(|number| match names.get(&number) {
            Some(name) => Entry::Name((*name).clone()),
            None => Entry::Faults(faults.remove(&number).unwrap_or_default()),
        });
        CachedCompile {
            ptx: source_files::with_files(&cut, listed),
            entries: entries.collect(),
            warnings: made.warnings.clone(),
        }
    }

    fn host_note(&self) -> Diagnostic {
        let sources = self.program.named();
        Diagnostic {
            severity: Severity::Note,
            number: None,
            message: format!(
                "{sources}: {} compiled the kernels alone, with stand-ins for the host's headers",
                self.compiler.name()
            ),
            span: None,
            notes: Vec::new(),
        }
    }

    /// A message with paths relative to the package.
    fn placed(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let spans = diagnostic.notes.iter_mut().filter_map(|note| note.span.as_mut());
        for span in spans.chain(&mut diagnostic.span) {
            if !is_ours(&span.place.file) {
                span.place.file = self.roots.display_path(&span.place.file);
            }
        }
        diagnostic
    }

    /// CUDA's own headers warn too.
    fn is_of_the_package(&self, diagnostic: &Diagnostic) -> bool {
        let file = diagnostic.span.as_ref().map(|span| span.place.file.as_path());
        file.is_some_and(|it| !is_ours(it) && is_of_the_package(it))
    }

    /// The next architecture for which `attempt` compiles, if its `errors` may depend on that.
    fn newer(&self, attempt: &Attempt, errors: &[Diagnostic]) -> Option<Architecture> {
        if !newer_architecture::may_help(errors)
            || self.program.options.iter().any(|it| it.contains("-arch"))
        {
            return None;
        }
        let compiles = |compute: u32| {
            let architecture = Architecture { compute };
            let program = Program { architecture, ..self.program.clone() };
            let roots = self.roots.clone();
            let work = Work { program: &program, compiler: self.compiler, roots };
            matches!(work.run(attempt), Ok(Outcome::Made(_))).then_some(architecture)
        };
        let wanted = self.program.architecture.compute;
        let later = self.compiler.architectures().iter().filter(|it| **it > wanted);
        let later: Vec<u32> = later.copied().collect();
        // If the latest does not help, none is likely to.
        compiles(*later.last()?)?;
        later.into_iter().find_map(compiles)
    }

    /// What was `found` in instances, with the architecture that would help.
    fn remedied(
        &self,
        attempt: &Attempt,
        mut found: BTreeMap<usize, Vec<Fault>>,
    ) -> BTreeMap<usize, Vec<Fault>> {
        for (number, faults) in &mut found {
            let bodies = faults.iter_mut().filter_map(|fault| match fault {
                Fault::Body(diagnostic) => Some(diagnostic),
                _ => None,
            });
            let mut bodies: Vec<&mut Diagnostic> = bodies.collect();
            let diagnostics: Vec<Diagnostic> = bodies.iter().map(|body| (**body).clone()).collect();
            let alone = Attempt { wanted: vec![*number], ..attempt.clone() };
            let newer = self.newer(&alone, &diagnostics);
            if let (Some(newer), Some(last)) = (newer, bodies.last_mut()) {
                last.notes.push(newer_architecture::note(newer));
            }
        }
        found
    }

    /// Errors of the sources, with the remedy if one is known: the architecture `newer`.
    fn explained(&self, errors: Vec<Diagnostic>, newer: Option<Architecture>) -> Vec<Diagnostic> {
        let mut errors = errors;
        if let (Some(newer), Some(last)) = (newer, errors.last_mut()) {
            last.notes.push(newer_architecture::note(newer));
        }
        for error in &mut errors {
            let note = self.remedy(error);
            error.notes.extend(note.map(|message| Note { message, span: None }));
        }
        errors
    }

    fn remedy(&self, error: &Diagnostic) -> Option<String> {
        let header = error.missing_header()?;
        let folders = self.program.includes.iter().map(|it| format!(", {}", it.display()));
        let folders: String = folders.collect();
        let searched = format!("searched: the source's own folder{folders} and CUDA's headers");
        if let Some(packages) = package_of(header) {
            return Some(format!(
                "{header} is CUDA's; install its headers with `python3 -m pip install --upgrade \
                 {packages}`; {searched}"
            ));
        }
        Some(format!("name the folder of {header} with `include`; {searched}"))
    }

    fn no_reply(&self, error: NoReply) -> Error {
        let compiler = || self.compiler.name();
        let (file, variable) = self.compiler.file();
        match error {
            NoReply::Start(error) => Error::Start(error.to_string()),
            NoReply::Interrupted(signal) => Error::Interrupted(signal),
            NoReply::Unusable(reason) => Error::Refused { compiler: compiler(), reason },
            NoReply::Ended(status) => Error::Crashed {
                compiler: compiler(),
                path: file.into(),
                what: self.program.named(),
                how: format!(
                    "{}; try another version with {variable}",
                    describe_end_without_answer(status)
                ),
            },
        }
    }

    /// The files that a compile with these `headers` depends on. NVRTC before 13.0 does not list
    /// headers: then it is every file in the searched folders of the package.
    fn read(&self, headers: Option<Vec<PathBuf>>) -> Read {
        let sources = self.program.sources.iter().cloned();
        let folders = || files_below(&self.roots.of_the_package(&self.program.sources));
        let listed = headers.unwrap_or_else(folders);
        let all = listed.into_iter().chain(sources).map(|path| self.roots.named(&path));
        let all: BTreeSet<_> = all.collect();
        let (mut files, mut absent) = (Vec::new(), BTreeSet::new());
        for named in all {
            let path = self.roots.file(&named);
            // Headers in memory are in the list too.
            let Ok(bytes) = fs::read(&path) else { continue };
            absent.extend(self.roots.shadowing(&named));
            files.push((named, Hash::digest(&bytes)));
        }
        absent.retain(|named| !self.roots.file(named).exists());
        Read { files, absent: absent.into_iter().collect() }
    }

    fn compiled(&self, kept: CachedCompile, read: &Read) -> Compiled {
        let mut entries: BTreeMap<String, Result<String, Vec<Diagnostic>>> = BTreeMap::new();
        for (instance, entry) in self.program.kernels.iter().zip(kept.entries) {
            let entry = match entry {
                Entry::Name(name) => Ok(name),
                Entry::Faults(faults) => {
                    let line = |place: &FilePosition| self.line(place);
                    let diagnostic =
                        |it: &Fault| it.diagnostic(instance, line, || self.kernel_names(read));
                    Err(faults.iter().map(diagnostic).collect())
                }
            };
            match entries.get(&instance.expression) {
                // Of two declarations of one instance, the wrong one is reported.
                Some(Err(_)) => {}
                _ => {
                    entries.insert(instance.expression.clone(), entry);
                }
            }
        }
        if self.program.kernels.is_empty() {
            let names = ptx::entries(&kept.ptx).into_iter();
            entries.extend(names.map(|name| (name.clone(), Ok(name))));
        }
        let headers = read
            .files
            .iter()
            .map(|(named, hash)| (self.roots.display_path(&self.roots.file(named)), *hash));
        Compiled {
            ptx: kept.ptx,
            entries,
            warnings: kept.warnings,
            compiler: self.compiler.name(),
            headers: headers.collect(),
        }
    }

    /// The kernels of the sources and of the package's headers that were `read`, for a message
    /// about another one.
    fn kernel_names(&self, read: &Read) -> Vec<SourceKernel> {
        let files = read.files.iter().map(|(named, _)| self.roots.file(named));
        let own = files.filter(|file| is_of_the_package(&self.roots.display_path(file)));
        let texts = own.filter_map(|file| fs::read_to_string(file).ok());
        texts.flat_map(|text| kernel_names(&text)).collect()
    }

    /// A line of a file of the package, for a message about it.
    fn line(&self, place: &FilePosition) -> Option<String> {
        let text = fs::read_to_string(self.roots.package().join(&place.file)).ok()?;
        text.lines().nth(place.line.checked_sub(1)? as usize).map(Into::into)
    }
}

/// The packages that hold a header of CUDA's, by its name; none of another one's, which may begin
/// like one: `cuda_utils.cuh`.
fn package_of(header: &str) -> Option<&'static str> {
    let libraries = [
        ("curand", "nvidia-curand"),
        ("cublas", "nvidia-cublas"),
        ("cufft", "nvidia-cufft"),
        ("cusparse", "nvidia-cusparse"),
        ("cusolver", "nvidia-cusolver"),
    ];
    let of_library = libraries.iter().find(|(name, _)| header.starts_with(name));
    let folders = ["cuda/", "cub/", "thrust/", "nv/", "cooperative_groups/", "crt/"];
    let is_core = folders.iter().any(|folder| header.starts_with(folder))
        || header.rsplit_once('.').is_some_and(|(stem, _)| CORE_HEADERS.contains(&stem));
    match of_library {
        Some((_, package)) => Some(package),
        None => is_core
            .then_some("nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt"),
    }
}

/// CUDA's own headers that lie in no folder, without their endings.
const CORE_HEADERS: [&str; 26] = [
    "cooperative_groups",
    "cuComplex",
    "cuda",
    "cudaTypedefs",
    "cuda_awbarrier",
    "cuda_awbarrier_primitives",
    "cuda_bf16",
    "cuda_device_runtime_api",
    "cuda_fp16",
    "cuda_fp4",
    "cuda_fp6",
    "cuda_fp8",
    "cuda_occupancy",
    "cuda_pipeline",
    "cuda_pipeline_primitives",
    "cuda_profiler_api",
    "cuda_runtime",
    "cuda_runtime_api",
    "cuda_surface_types",
    "cuda_texture_types",
    "device_launch_parameters",
    "math_constants",
    "mma",
    "sm_61_intrinsics",
    "vector_functions",
    "vector_types",
];

/// Whether a file, as messages show it, is one of the package's.
fn is_of_the_package(shown: &Path) -> bool {
    !shown.is_absolute() && !shown.starts_with("cuda")
}

/// Whether a message is about a text that we generated.
fn is_ours(file: &Path) -> bool {
    let text = file.to_string_lossy();
    file.starts_with("gpuprof")
        || text == NAME
        || text == signature::FILE
        || text == signature::NAMES
        || text.starts_with("__nv_")
}

fn files_below(folders: &[PathBuf]) -> Vec<PathBuf> {
    let (mut files, mut next) = (Vec::new(), folders.to_vec());
    while let Some(folder) = next.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => next.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Read { path: path.into(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_headers_named_like_cudas_suggest_no_package() {
        let own = ["cuda_utils.cuh", "cuda_helpers.h", "cub_utils.cuh", "mma_tiles.h", "x/cuda.h"];
        assert_eq!(own.map(package_of), [None; 5]);
        let core = ["cuda_fp16.h", "cub/cub.cuh", "cuda/std/cmath", "mma.h"].map(package_of);
        assert!(core.iter().all(|it| it.is_some_and(|it| it.contains("nvidia-cuda-cccl"))));
        assert_eq!(package_of("curand_kernel.h"), Some("nvidia-curand"));
    }
}
