//! The place of code in the source: files, call sites of inlined functions, and words for both.
//!
//! Input: `.file` and `.loc` lines. Output: the frames of an instruction, innermost first, and the
//! one of them that the user wrote.

use crate::ptx::ast::{Loc, Position};
use std::collections::HashMap;
use std::fmt;

/// A chain of inlined functions is shorter than this.
const MOST_FRAMES: usize = 64;

/// A build gives this folder to files that belong to a library and not to the user.
const LIBRARY: &str = "/library/";

/// CUDA's headers with device code, other than those of certain chips.
const HEADERS: [&str; 15] = [
    "cooperative_groups",
    "cuda_awbarrier",
    "cuda_awbarrier_helpers",
    "cuda_awbarrier_primitives",
    "cuda_bf16",
    "cuda_fp16",
    "cuda_fp4",
    "cuda_fp6",
    "cuda_fp8",
    "cuda_pipeline",
    "cuda_pipeline_helpers",
    "cuda_pipeline_primitives",
    "device_atomic_functions",
    "device_functions",
    "vector_functions",
];

/// One source frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Path as the compiler wrote it; of a library's file, its path in the library.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if the compiler does not say.
    pub column: u32,
    /// Whether it is code of a compiler, of a toolkit or of another library.
    pub is_library: bool,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column == 0 { Ok(()) } else { write!(f, ":{}", self.column) }
    }
}

/// The files of a module's `.loc`s.
#[derive(Debug, Default)]
pub struct SourceFiles {
    /// By their `.file` numbers.
    files: HashMap<u32, SourceFile>,
}

#[derive(Debug)]
struct SourceFile {
    path: String,
    is_library: bool,
}

impl SourceFiles {
    /// The files with these numbers and paths.
    pub fn new(files: &[(u32, &str)]) -> Self {
        let file = |path: &str| {
            // Compilers put `./` before a path that begins at the folder they ran in.
            let path = path.strip_prefix("./").unwrap_or(path);
            let is_library = is_library(path);
            let path = if is_library { within_library(path) } else { path };
            SourceFile { path: path.to_owned(), is_library }
        };
        Self { files: files.iter().map(|(number, path)| (*number, file(path))).collect() }
    }

    /// Whether the file, which the kernel names itself, belongs to a library.
    pub fn is_library(&self, path: &str) -> bool {
        is_library(path) || self.files.values().any(|file| file.is_library && file.path == path)
    }

    /// The frame at a position; none for code that the compiler made.
    pub fn frame(&self, position: Position) -> Option<Frame> {
        let Position { file, line, column } = position;
        let file = self.files.get(&file).filter(|_| line != 0)?;
        Some(Frame { file: file.path.clone(), line, column, is_library: file.is_library })
    }
}

/// Whether a path is that of a library: Rust's, CUDA's, clang's or the system's headers, or a file
/// that the build moved to [`LIBRARY`].
fn is_library(path: &str) -> bool {
    path.starts_with(LIBRARY)
        || path.starts_with("/rustc/")
        || path.starts_with("/usr/include/")
        || path.contains("/lib/rustlib/src/rust/library/")
        || path.contains("/lib/clang/")
        || is_toolkit(path)
        || is_header_of_cuda(path)
}

/// Whether a path is that of a header in a CUDA toolkit: `/usr/local/cuda-13.0/include/…`,
/// `/opt/conda/targets/x86_64-linux/include/…`, `…/site-packages/nvidia/cu13/include/…`.
fn is_toolkit(path: &str) -> bool {
    let Some((folders, _)) = path.split_once("/include/") else { return false };
    let is_version = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mut folders = folders.split('/').skip(1);
    path.starts_with('/')
        && folders.any(|folder| {
            ["cuda", "nvidia", "targets"].contains(&folder)
                || folder.strip_prefix("cuda-").is_some_and(is_version)
                || folder.strip_prefix("cu").is_some_and(is_version)
        })
}

/// Whether a path ends like that of a CUDA header with device code. The folder may be any: NVRTC
/// unpacks its headers where the program wants them.
fn is_header_of_cuda(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_under = |inner: &str| format!("{folder}/").contains(inner);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_versioned = |stem: &str| {
        let rest = stem.strip_prefix("sm_").and_then(|stem| stem.split_once('_'));
        rest.is_some_and(|(_, rest)| ["intrinsics", "atomic_functions"].contains(&rest))
    };
    ["/cccl/cuda/", "/cccl/cub/", "/cccl/thrust/", "/cooperative_groups/details/"]
        .into_iter()
        .any(is_under)
        || (["h", "hpp"].contains(&extension) && (HEADERS.contains(&stem) || is_versioned(stem)))
}

/// A library's path without the folder in which the library was built.
fn within_library(path: &str) -> &str {
    path.rsplit_once("/library/").map_or(path, |(_, path)| path)
}

/// The places of the instructions of one kernel: each `.loc` with the call sites it was inlined at.
#[derive(Debug, Default)]
pub struct Sites {
    sites: Vec<Site>,
    numbers: HashMap<Site, u32>,
    /// The last site of each position in the function that is being read.
    last: HashMap<Position, u32>,
}

/// A position, and the number of the site at which its function was inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Site {
    position: Position,
    inlined_at: Option<u32>,
}

impl Sites {
    /// The `.loc`s that follow are those of another function.
    pub fn enter_function(&mut self) {
        self.last.clear();
    }

    /// The number of a `.loc`'s site. If it was inlined, the call site is the last `.loc` before it
    /// that has this position, which may be inlined itself.
    pub fn number(&mut self, loc: &Loc) -> u32 {
        let inlined_at = loc.inlined_at.map(|position| {
            let known = self.last.get(&position).copied();
            known.unwrap_or_else(|| self.intern(Site { position, inlined_at: None }))
        });
        let number = self.intern(Site { position: loc.position, inlined_at });
        self.last.insert(loc.position, number);
        number
    }

    fn intern(&mut self, site: Site) -> u32 {
        let Self { sites, numbers, .. } = self;
        *numbers.entry(site).or_insert_with(|| {
            sites.push(site);
            sites.len() as u32 - 1
        })
    }

    /// The frames of a site, innermost first.
    pub fn frames(&self, number: u32, files: &SourceFiles) -> Vec<Frame> {
        let at = |number: u32| self.sites.get(number as usize);
        let chain = std::iter::successors(at(number), |site| at(site.inlined_at?));
        chain.take(MOST_FRAMES).filter_map(|site| files.frame(site.position)).collect()
    }
}

/// Where an instruction stands, for people: the user's line first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The innermost frame that the user wrote; if there is none, the innermost one.
    pub frame: Frame,
    /// Whether the frame is that of an earlier instruction.
    pub is_near: bool,
    /// The library's frame that the user's code called.
    pub inner: Option<Frame>,
    /// The call sites of the user's functions around `frame`, innermost first.
    pub callers: Vec<Frame>,
}

impl Place {
    /// The place of an instruction with these frames, innermost first. `near` finds a place of the
    /// user's before it, which is used if no frame is the user's.
    pub fn new(frames: &[Frame], near: impl FnOnce() -> Option<Frame>) -> Option<Self> {
        let inner = || frames.first().filter(|frame| frame.is_library).cloned();
        let mut users = frames.iter().filter(|frame| !frame.is_library).cloned();
        if let Some(frame) = users.next() {
            return Some(Self { frame, is_near: false, inner: inner(), callers: users.collect() });
        }
        match near().filter(|near| !near.is_library) {
            Some(frame) => Some(Self { frame, is_near: true, inner: inner(), callers: Vec::new() }),
            None => {
                let frame = frames.first()?.clone();
                Some(Self { frame, is_near: false, inner: None, callers: Vec::new() })
            }
        }
    }

    /// Whether two places are in one line.
    pub fn is_in_line_of(&self, other: &Self) -> bool {
        (&self.frame.file, self.frame.line) == (&other.frame.file, other.frame.line)
    }
}

impl fmt::Display for Place {
    /// `at src/lib.rs:8:13`, with the library's line after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.is_near { "near" } else { "at" }, self.frame)?;
        match &self.inner {
            Some(inner) => write!(f, " (in {inner})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_files_are_distinguished_from_user_files() {
        let library = [
            "/rustc/59807616e1fa/library/core/src/slice/mod.rs",
            "/root/.rustup/toolchains/s/lib/rustlib/src/rust/library/core/src/ptr/mod.rs",
            "/library/gpuprof-0.1.0/src/device/shared.rs",
            "/usr/local/cuda/bin/../targets/x86_64-linux/include/cuda_fp16.hpp",
            "/usr/local/cuda-13.0/include/cooperative_groups.h",
            "/v/lib/python3.11/site-packages/nvidia/cu13/include/cuda_bf16.hpp",
            "/opt/conda/targets/x86_64-linux/include/cuda_fp16.hpp",
            "/usr/include/cuda_fp16.hpp",
            "/usr/lib/llvm-19/lib/clang/19/include/__clang_cuda_intrinsics.h",
            "/tmp/headers/cuda_pipeline_helpers.h",
            "/tmp/headers/sm_32_intrinsics.hpp",
            "/tmp/headers/cooperative_groups/details/sync.h",
            "/tmp/headers/cccl/cuda/std/__atomic/types/base.h",
            "cuda_fp16.hpp",
        ];
        let users = [
            "src/lib.rs",
            "library/src/lib.rs",
            "helper-0.1.0/src/lib.rs",
            "cuda/include/mine.cuh",
            "/home/me/cuda-experiments/include/mine.cuh",
            "/home/me/culling/include/mine.cuh",
            "/home/me/cuda/kernel.cu",
            "/home/me/cccl/mine.cuh",
            "/home/me/cuda_fp16.cu",
            "/home/me/sm_90_kernels.h",
            "cuda_helpers.h",
        ];
        for path in library {
            assert!(is_library(path), "{path}");
        }
        for path in users {
            assert!(!is_library(path), "{path}");
        }
        let files = SourceFiles::new(&[(1, library[2]), (2, "./src/lib.rs")]);
        let frame = |file| files.frame(Position { file, line: 7, column: 0 }).unwrap();
        assert_eq!(frame(1).to_string(), "gpuprof-0.1.0/src/device/shared.rs:7");
        assert_eq!((frame(2).to_string(), frame(2).is_library), ("src/lib.rs:7".into(), false));
        assert!(files.is_library("gpuprof-0.1.0/src/device/shared.rs"));
        assert!(!files.is_library("src/lib.rs"));
    }

    #[test]
    fn a_location_has_the_nearest_preceding_call_site() {
        let files = SourceFiles::new(&[(1, "a.cu")]);
        let position = |line| Position { file: 1, line, column: 5 };
        let loc = |line, outer: Option<u32>| Loc {
            position: position(line),
            inlined_at: outer.map(position),
        };
        let mut sites = Sites::default();
        let mut lines = |line, outer| {
            let number = sites.number(&loc(line, outer));
            sites.frames(number, &files).iter().map(|frame| frame.line).collect::<Vec<_>>()
        };
        assert_eq!(lines(9, None), [9]);
        assert_eq!(lines(5, Some(9)), [5, 9]);
        assert_eq!(lines(2, Some(5)), [2, 5, 9]);
        assert_eq!(lines(5, Some(13)), [5, 13]);
        assert_eq!(lines(2, Some(5)), [2, 5, 13]);
        sites.enter_function();
        let number = sites.number(&loc(2, Some(5)));
        assert_eq!(sites.frames(number, &files).len(), 2, "of another function");
    }
}
