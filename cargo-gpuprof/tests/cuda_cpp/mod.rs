//! CUDA C++ through the pinned NVRTC, onto the emulated driver.
//!
//! NVRTC is proprietary and never in the repository; it comes from PyPI, into the target folder. A
//! test that cannot get it fails.

mod cached;
mod declared;
mod host_code;
mod interrupted;
mod kernels;
mod messages;
mod nvcc;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use gpuprof_build::cuda_cpp::{
    self, Architecture, Cache, Compiled, Compiler, Declared, Diagnostic, Error, FilePosition,
    Instance, NVRTC, Program, Search,
};
use gpuprof_cupti::locate;
use gpuprof_model::declared::CudaCompiler;
use gpuprof_system::interrupt::Interrupt;

use crate::cupti::unpacked;

/// Holds CUDA's headers, and writes PTX 9.3, which the emulated driver takes.
const WHEEL: &str = "nvidia-cuda-nvrtc==13.3.33";

/// The subcommand, which compiles in child processes.
const BINARY: &str = env!("CARGO_BIN_EXE_cargo-gpuprof");

static COMPILER: LazyLock<Compiler> = LazyLock::new(|| {
    let explicit = Some(unpacked(WHEEL).join("nvidia/cu13/lib"));
    let library = locate::Search { explicit, ..locate::Search::nowhere(&NVRTC) };
    let search = Search { library, newest: None };
    Compiler::find(&search, Path::new(BINARY), &Interrupt::default()).unwrap()
});

/// CUDA's headers, unpacked once: that takes longer than a compile.
static HEADERS: LazyLock<PathBuf> = LazyLock::new(|| {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-cpp");
    Package::new(&[]).compile_into(&Cache::new(&cache)).unwrap();
    cache.join(HEADERS_NAME)
});

/// The name of their folder in a cache.
const HEADERS_NAME: &str = "headers-13.3.33";

/// A package with sources and a separate cache.
struct Package {
    folder: tempfile::TempDir,
    program: Program,
}

impl Package {
    /// A package of these files; the `.cu` files are the program.
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = files.iter().map(|(name, _)| *name).filter(|it| it.ends_with(".cu"));
        let program = Program {
            package_root: folder.path().join("package"),
            sources: sources.map(PathBuf::from).collect(),
            includes: Vec::new(),
            defines: Vec::new(),
            options: Vec::new(),
            compiler: CudaCompiler::Auto,
            architecture: Architecture { compute: 90 },
            kernels: Vec::new(),
        };
        let package = Self { folder, program };
        fs::create_dir_all(&package.program.package_root).unwrap();
        for (name, text) in files {
            package.write(name, text);
        }
        package
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.program.package_root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Declares an instance in line 10 of src/lib.rs, its parameters in the lines below.
    fn kernel(mut self, expression: &str, parameters: &[(&str, &str)]) -> Self {
        let parameters = parameters.iter().zip(11..).map(|((cpp, rust), line)| Declared {
            cpp: (*cpp).into(),
            rust: (*rust).into(),
            declared_at: place(line),
            layout: None,
        });
        self.program.kernels.push(Instance {
            expression: expression.into(),
            parameters: parameters.collect(),
            declared_at: place(10),
            named_at: place(10),
        });
        self
    }

    /// A cache that holds the headers and nothing else.
    fn cache(&self) -> Cache {
        let folder = self.folder.path().join("cache");
        if !folder.exists() {
            fs::create_dir(&folder).unwrap();
            symlink(&*HEADERS, folder.join(HEADERS_NAME)).unwrap();
        }
        Cache::new(folder)
    }

    fn compile_into(&self, cache: &Cache) -> Result<Compiled, Error> {
        cuda_cpp::compile(&self.program, &COMPILER, cache)
    }

    fn compile(&self) -> Result<Compiled, Error> {
        self.compile_into(&self.cache())
    }

    fn compiled(&self) -> Compiled {
        let compiled = self.compile().unwrap_or_else(|error| panic!("{error}"));
        for (expression, entry) in &compiled.entries {
            assert!(entry.is_ok(), "{expression}: {}", render(entry.as_ref().unwrap_err()));
        }
        compiled
    }

    /// What is said of an instance that does not compile.
    fn said_of(&self, expression: &str) -> String {
        let compiled = self.compile().unwrap_or_else(|error| panic!("{error}"));
        match &compiled.entries[expression] {
            Ok(name) => panic!("it compiled as {name}"),
            Err(said) => render(said),
        }
    }
}

fn place(line: u32) -> FilePosition {
    FilePosition { file: "src/lib.rs".into(), line, column: Some(5) }
}

fn render(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}
