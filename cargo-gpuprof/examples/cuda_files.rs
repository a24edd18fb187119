//! The table of `docs/measurements.md` on `.cu` files of published crates:
//!
//!     docs/scripts/cuda-files.sh NVRTC-FOLDER [PATTERN]
//!
//! Every file of a list is compiled as it is, and each of its kernels loaded alone on the emulated
//! driver.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cargo_gpuprof::cuda_cpp::{
    Architecture, Cache, Compiled, Compiler, Program, SUBCOMMAND, Search, compile, run_child,
};
use cargo_gpuprof::execute::Interrupt;
use gpuprof_emulator::device::Device;
use gpuprof_model::declared::CudaCompiler;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [_, subcommand, request, reply] = arguments.as_slice()
        && subcommand == SUBCOMMAND
    {
        return Ok(run_child(request.as_ref(), reply.as_ref())?);
    }
    let [nvrtc, cache, list, sources] = arguments.as_slice() else {
        return Err("give the folder of NVRTC, of the cache, the list and the sources".into());
    };
    let search = Search { explicit: Some(nvrtc.into()), ..Search::default() };
    let compiler = Compiler::find(&search, &env::current_exe()?, &Interrupt::default())?;
    let mut counts = Counts::default();
    for file in fs::read_to_string(list)?.lines() {
        let start = Instant::now();
        let compiled = compile(&program(Path::new(sources), file)?, &compiler, &Cache::new(cache));
        let seconds = start.elapsed().as_secs_f64();
        let said = match &compiled {
            Ok(compiled) => counts.add(compiled),
            Err(error) => counts.refuse(&error.to_string()),
        };
        println!("{file}: {said}, {seconds:.1} s");
    }
    println!("\n{}: {counts:#?}", compiler.name());
    Ok(())
}

/// A file of a crate, with every folder of the crate that holds headers.
fn program(sources: &Path, file: &str) -> Result<Program, Box<dyn Error>> {
    let (package, path) = file.split_once('/').ok_or("a line is CRATE-VERSION/PATH")?;
    let package_root = sources.join(package);
    let mut folders = BTreeSet::new();
    headers_below(&package_root, &mut folders)?;
    let own = package_root.join(path).parent().map(Path::to_path_buf);
    let all = own.into_iter().chain(folders);
    let includes = all.map(|it| it.strip_prefix(&package_root).map(Path::to_path_buf));
    Ok(Program {
        sources: vec![path.into()],
        includes: includes.collect::<Result<_, _>>()?,
        defines: Vec::new(),
        options: Vec::new(),
        compiler: CudaCompiler::Nvrtc,
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

/// What became of files and kernels.
#[derive(Debug, Default)]
struct Counts {
    files: usize,
    compiled: usize,
    with_stand_ins: usize,
    loaded_whole: usize,
    kernels: usize,
    loaded: usize,
    refusals: BTreeMap<String, usize>,
    errors: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, compiled: &Compiled) -> String {
        self.files += 1;
        self.compiled += 1;
        let stand_ins = compiled.warnings.iter().any(|it| it.number.is_none());
        self.with_stand_ins += usize::from(stand_ins);
        let load = |ptx: &str| Device::default().load(ptx).map(|_| ());
        self.loaded_whole += usize::from(load(&compiled.ptx).is_ok());
        let mut loaded = 0;
        for name in compiled.entries.keys() {
            match load(&compiled.alone(name).unwrap_or_default()) {
                Ok(()) => loaded += 1,
                Err(error) => {
                    let text = error.to_string();
                    let reason = text.rsplit_once(": ").map_or(text.as_str(), |(_, it)| it);
                    *self.refusals.entry(reason.to_owned()).or_default() += 1;
                }
            }
        }
        self.kernels += compiled.entries.len();
        self.loaded += loaded;
        let how = if stand_ins { "compiled with stand-ins" } else { "compiled" };
        format!("{how}, {loaded} of {} kernels load", compiled.entries.len())
    }

    fn refuse(&mut self, error: &str) -> String {
        self.files += 1;
        let first = error.lines().next().unwrap_or_default().to_owned();
        *self.errors.entry(first.clone()).or_default() += 1;
        first
    }
}
