//! The table of `docs/claims.md` on `.cu` files of published crates:
//!
//!     docs/scripts/cuda-files.sh NVRTC-FOLDER [PATTERN]
//!
//! Every file of a list is compiled unchanged, by NVRTC or, if that finds errors and `GPUPROF_NVCC`
//! names one, by nvcc; each of its kernels is loaded alone on the emulated driver.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use gpuprof_build::cuda_cpp::{
    Architecture, Cache, Compiled, Compiler, Compilers, NVRTC, Program, SUBCOMMAND, Search, nvcc,
    run_child,
};
use gpuprof_build::toolkit;
use gpuprof_cupti::locate;
use gpuprof_emulator::device::Device;
use gpuprof_model::declared::CudaCompiler;
use gpuprof_system::interrupt::Interrupt;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [_, subcommand, request, reply] = arguments.as_slice()
        && subcommand == SUBCOMMAND
    {
        return Ok(run_child(request.as_ref(), reply.as_ref())?);
    }
    let [nvrtc, cache, list, sources, includes] = arguments.as_slice() else {
        return Err(
            "give the folders of NVRTC and cache, the list, the sources, the includes".into()
        );
    };
    let includes = Includes::read(includes.as_ref())?;
    let explicit = Some(nvrtc.into());
    let library = locate::Search { explicit, ..locate::Search::nowhere(&NVRTC) };
    let search = Search { library, newest: None };
    let interrupt = Interrupt::default();
    let nvrtc = Compiler::find(&search, &env::current_exe()?, &interrupt)?;
    let name = nvrtc.name();
    let named = toolkit::Search {
        variable: env::var_os("GPUPROF_NVCC").map(Into::into),
        ..toolkit::Search::default()
    };
    let search = nvcc::Search { program: named, ..nvcc::Search::default() };
    let compilers = Compilers::new(Ok(nvrtc), search, &interrupt, true);
    let list = fs::read_to_string(list)?;
    let files = Mutex::new(list.lines());
    let counts = Mutex::new(Counts::default());
    let next = || files.lock().ok()?.next();
    let work = || -> Result<(), String> {
        while let Some(file) = next() {
            let start = Instant::now();
            let program =
                program(Path::new(sources), file, &includes).map_err(|e| e.to_string())?;
            let compiled = compilers.compile(&program, &Cache::new(cache));
            let seconds = start.elapsed().as_secs_f64();
            let (said, counted) = match &compiled {
                Ok(compiled) => Counts::count(compiled),
                Err(error) => Counts::refused(&error.to_string()),
            };
            println!("{file}: {said}, {seconds:.1} s");
            counts.lock().map_err(|e| e.to_string())?.add(counted);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|it| it.join().map_err(|_| "a worker panicked")?)
    })?;
    println!("\n{name}: {:#?}", counts.lock().map_err(|e| e.to_string())?);
    Ok(())
}

/// The folders that are searched for headers, by crate.
struct Includes(BTreeMap<String, Vec<String>>);

impl Includes {
    /// Reads lines of a crate with its version and its folders.
    fn read(file: &Path) -> Result<Self, Box<dyn Error>> {
        let mut folders = BTreeMap::new();
        for line in fs::read_to_string(file)?.lines() {
            let mut words = line.split_whitespace().map(str::to_owned);
            let package = words.next().ok_or("a line is CRATE-VERSION FOLDER…")?;
            folders.insert(package, words.collect());
        }
        Ok(Self(folders))
    }

    /// The settings of a crate; without a line for it, every folder in it with headers. `$CUTLASS`
    /// is the folder in the variable, if it is set.
    fn list_folders(&self, package: &str, root: &Path) -> std::io::Result<BTreeSet<PathBuf>> {
        let mut folders = BTreeSet::new();
        match self.0.get(package) {
            Some(listed) => folders.extend(listed.iter().filter_map(|it| match it.as_str() {
                "$CUTLASS" => env::var_os("CUTLASS").map(PathBuf::from),
                folder => Some(root.join(folder)),
            })),
            None => headers_below(root, &mut folders)?,
        }
        Ok(folders)
    }
}

/// A file of a crate.
fn program(sources: &Path, file: &str, includes: &Includes) -> Result<Program, Box<dyn Error>> {
    let (package, path) = file.split_once('/').ok_or("a line is CRATE-VERSION/PATH")?;
    let package_root = sources.join(package);
    let folders = includes.list_folders(package, &package_root)?;
    let own = package_root.join(path).parent().map(Path::to_path_buf);
    let all = own.into_iter().chain(folders);
    let relative =
        |it: PathBuf| it.strip_prefix(&package_root).map(Path::to_path_buf).unwrap_or(it);
    Ok(Program {
        sources: vec![path.into()],
        includes: all.map(relative).collect(),
        defines: Vec::new(),
        options: Vec::new(),
        compiler: CudaCompiler::Auto,
        architecture: Architecture { compute: 90 },
        kernels: Vec::new(),
        package_root,
    })
}

fn headers_below(folder: &Path, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            headers_below(&path, found)?;
        } else if path
            .extension()
            .is_some_and(|it| ["h", "cuh", "hpp", "cu"].iter().any(|x| it == *x))
        {
            found.insert(folder.into());
        }
    }
    Ok(())
}

/// The outcomes of files and kernels.
#[derive(Debug, Default)]
struct Counts {
    files: usize,
    compiled: usize,
    by_nvcc: usize,
    with_stand_ins: usize,
    loaded_whole: usize,
    kernels: usize,
    loaded: usize,
    refusals: BTreeMap<String, usize>,
    errors: BTreeMap<String, usize>,
}

impl Counts {
    /// Those of one file, and what to say of it.
    fn count(compiled: &Compiled) -> (String, Self) {
        let named = |start| compiled.warnings.iter().any(|it| it.message.contains(start));
        let by_nvcc = named(": nvcc ");
        let mut one = Self { files: 1, compiled: 1, ..Self::default() };
        one.by_nvcc = usize::from(by_nvcc);
        let stand_ins = !by_nvcc && compiled.warnings.iter().any(|it| it.number.is_none());
        one.with_stand_ins = usize::from(stand_ins);
        let load = |ptx: &str| Device::default().load(ptx).map(|_| ());
        one.loaded_whole = usize::from(load(&compiled.ptx).is_ok());
        for name in compiled.entries.keys() {
            match load(&compiled.alone(name).unwrap_or_default()) {
                Ok(()) => one.loaded += 1,
                Err(error) => {
                    let text = error.to_string();
                    let reason = text.rsplit_once(": ").map_or(text.as_str(), |(_, it)| it);
                    *one.refusals.entry(reason.to_owned()).or_default() += 1;
                }
            }
        }
        one.kernels = compiled.entries.len();
        let how = match (by_nvcc, stand_ins) {
            (true, _) => "compiled by nvcc",
            (_, true) => "compiled with stand-ins",
            _ => "compiled",
        };
        (format!("{how}, {} of {} kernels load", one.loaded, one.kernels), one)
    }

    /// A file that does not compile, with the first line of `error`.
    fn refused(error: &str) -> (String, Self) {
        let first = error.lines().next().unwrap_or_default().to_owned();
        let errors = BTreeMap::from([(first.clone(), 1)]);
        (first, Self { files: 1, errors, ..Self::default() })
    }

    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.compiled += other.compiled;
        self.by_nvcc += other.by_nvcc;
        self.with_stand_ins += other.with_stand_ins;
        self.loaded_whole += other.loaded_whole;
        self.kernels += other.kernels;
        self.loaded += other.loaded;
        for (reason, count) in other.refusals {
            *self.refusals.entry(reason).or_default() += count;
        }
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
    }
}
