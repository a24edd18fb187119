//! What stops a kernel.
//!
//! A [`Fault`] is what the machine saw: an instruction, a lane, an address. [`FaultReport`] is what
//! a person reads.

use super::hazard::{By, Hazard};
use super::memory::Memory;
use crate::lower::program::{Frame, Program};
use std::ops::Range;

/// The kinds of fault, by the words that reports use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Outside every allocation.
    OutOfBounds,
    /// Not a multiple of the access size.
    Misaligned,
    /// Inside an allocation that was freed.
    UseAfterFree,
    /// In the first 64 KiB.
    Null,
    /// A store to what the kernel may only read.
    ReadOnly,
    /// A barrier that some warps can never reach.
    BarrierDeadlock,
    /// `trap`.
    Trap,
    /// A failed device-side `assert`.
    Assert,
    /// Two threads of a block access shared memory, and nothing orders them.
    Race,
    /// A read of shared memory that nobody wrote.
    Uninitialised,
    /// An instruction used in a way that PTX leaves undefined.
    Undefined,
}

impl FaultKind {
    /// The word that stands for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out_of_bounds",
            Self::Misaligned => "misaligned",
            Self::UseAfterFree => "use_after_free",
            Self::Null => "null",
            Self::ReadOnly => "read_only",
            Self::BarrierDeadlock => "barrier_deadlock",
            Self::Trap => "trap",
            Self::Assert => "assert",
            Self::Race => "race",
            Self::Uninitialised => "uninitialised",
            Self::Undefined => "undefined",
        }
    }
}

/// A fault as the machine saw it.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// The instruction, if one instruction is to blame.
    pub pc: Option<u32>,
    /// The calls that it happened inside of, innermost first.
    pub callers: Vec<u32>,
    /// The warp and lane of the lowest thread.
    pub lane: Option<(u32, u32)>,
    /// Address and size of an access, with the space it was in.
    pub access: Option<Access>,
    /// What is wrong with an access to shared memory that lies inside of it.
    pub hazard: Option<Hazard>,
    /// A sentence's worth of detail, for kinds that no access explains.
    pub detail: String,
    /// The file and line that the kernel itself named.
    pub place: Option<(String, u32)>,
}

/// A faulting access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// `reads`, `writes` or `updates`.
    pub verb: &'static str,
    /// `global`, `shared`, `local` or `parameter`.
    pub space: &'static str,
    /// The address, within its space unless that is global.
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// Bytes that the space has, unless it is global.
    pub limit: Option<u64>,
}

/// A fault as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// The word for its kind.
    pub kind: &'static str,
    /// One sentence that says what happened, and where.
    pub message: String,
    /// The kernel.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index of the lowest faulting thread.
    pub thread: Option<[u32; 3]>,
    /// Address of the access.
    pub address: Option<u64>,
    /// Bytes of the access.
    pub size: Option<u32>,
    /// Source frames, innermost first.
    pub frames: Vec<Frame>,
    /// Line in the PTX text.
    pub ptx_line: Option<u32>,
    /// What the driver reports.
    pub class: FaultKind,
}

fn is_library(file: &str) -> bool {
    file.contains("/lib/rustlib/src/rust/library/") || file.starts_with("/rustc/")
}

/// A frame of Rust's library without the folder that the library was built in.
fn within_library(frame: &Frame) -> Frame {
    let file = frame.file.rsplit_once("/library/").map_or(&*frame.file, |(_, file)| file);
    Frame { file: file.to_owned(), ..*frame }
}

/// Where an instruction stands in the source, in words: `at …`, or `near …` in a library.
fn place(program: &Program, pc: Option<u32>, callers: &[u32]) -> Option<String> {
    let frames: Vec<Frame> = pc.iter().chain(callers).flat_map(|&pc| program.frames(pc)).collect();
    // A panic happens inside Rust's library; what its reader wrote is further out.
    let own = frames.iter().find(|frame| !is_library(&frame.file));
    let outermost = callers.last().copied().or(pc);
    let near = outermost.and_then(|pc| program.near(pc));
    let frame = own.or(frames.first())?;
    Some(match near.filter(|near| near.file != frame.file) {
        Some(near) if own.is_none() => format!("near {near} (in {})", within_library(frame)),
        Some(near) => format!("at {frame}, near {near}"),
        None => format!("at {frame}"),
    })
}

/// Where one instruction stands: `at …` in the source, or in the PTX where that names none.
pub(super) fn place_in_words(program: &Program, pc: u32) -> String {
    let ptx_line = || program.positions.get(pc as usize).map(|at| at.ptx_line);
    place(program, Some(pc), &[])
        .or_else(|| ptx_line().map(|line| format!("at PTX line {line}")))
        .unwrap_or_default()
}

/// A place without its column: `at src/lib.rs:24` of `at src/lib.rs:24:9`.
fn line_of(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(line, _)| line)
}

fn thread_of(linear: u32, dim: [u32; 3]) -> [u32; 3] {
    [linear % dim[0], linear / dim[0] % dim[1], linear / (dim[0] * dim[1])]
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

impl FaultReport {
    /// Words a fault of `program` in `block`, whose dimensions are `dim`.
    pub fn new(
        fault: &Fault,
        program: &Program,
        block: [u32; 3],
        dim: [u32; 3],
        memory: &Memory,
    ) -> Self {
        let frames: Vec<Frame> =
            fault.pc.iter().chain(&fault.callers).flat_map(|&pc| program.frames(pc)).collect();
        let ptx_line = fault.pc.map(|pc| program.positions[pc as usize].ptx_line);
        let thread = fault.lane.map(|(warp, lane)| thread_of(warp * 32 + lane, dim));
        let mut message = format!("kernel '{}'", program.name);
        let named = fault.place.as_ref().filter(|(file, _)| !is_library(file));
        let named = named.map(|(file, line)| {
            // With its column, if the PTX tells that.
            let same = |frame: &&Frame| frame.file == *file && frame.line == *line;
            frames
                .iter()
                .find(same)
                .map_or_else(|| format!("at {file}:{line}"), |frame| format!("at {frame}"))
        });
        match (named.or_else(|| place(program, fault.pc, &fault.callers)), ptx_line) {
            (Some(place), _) => message += &format!(" {place}"),
            (None, Some(line)) => message += &format!(" at PTX line {line}"),
            (None, None) => {}
        }
        message += &format!(", block {}", triple(block));
        if let Some(thread) = thread {
            message += &format!(", thread {}", triple(thread));
        }
        message += ": ";
        message += &match &fault.access {
            Some(access) => match fault.hazard {
                Some(hazard) => {
                    let thread = |by: By| triple(thread_of(by.thread(), dim));
                    let place = place(program, fault.pc, &fault.callers);
                    let line = place.as_deref().map(line_of);
                    let text = describe_hazard(access, hazard, program, (fault.lane, line), thread);
                    if fault.detail.is_empty() { text } else { format!("{text}; {}", fault.detail) }
                }
                None => describe(fault.kind, access, memory),
            },
            None => fault.detail.clone(),
        };
        Self {
            kind: fault.kind.word(),
            message,
            kernel: program.name.clone(),
            block,
            thread,
            address: fault.access.map(|access| access.address),
            size: fault.access.map(|access| access.size),
            frames,
            ptx_line,
            class: fault.kind,
        }
    }
}

fn describe(kind: FaultKind, access: &Access, memory: &Memory) -> String {
    let Access { verb, space, address, size, limit } = *access;
    let what = format!("{verb} {size} bytes of {space} memory at {address:#x}");
    match (kind, limit) {
        (FaultKind::Misaligned, _) => format!("{what}, which is not a multiple of {size}"),
        (FaultKind::Null, _) => format!("{what}, a null pointer"),
        (FaultKind::ReadOnly, _) => format!("{what}, {}", memory.locate_read_only(address)),
        (_, Some(0)) if space == "shared" => format!(
            "{what}, but the launch gives the kernel none: ask for it with `shared = BYTES`, or where \
             you launch"
        ),
        (_, Some(limit)) => format!("{what}, but the {space} memory here has {limit} bytes"),
        (_, None) => format!("{what}, {}", memory.locate(address)),
    }
}

/// What is wrong with an access to shared memory by `lane`, at `line` of its source, and what to
/// do. `thread` names one.
fn describe_hazard(
    access: &Access,
    hazard: Hazard,
    program: &Program,
    (lane, line): (Option<(u32, u32)>, Option<&str>),
    thread: impl Fn(By) -> String,
) -> String {
    let Access { verb, address, size, .. } = *access;
    let what = format!("{verb} {size} bytes of shared memory at {address:#x}");
    match hazard {
        Hazard::Outside => {
            let below = |array: &&Range<u32>| u64::from(array.start) <= address;
            let place = match program.shared_arrays.iter().rfind(below) {
                Some(array) => {
                    let past = match address.saturating_sub(u64::from(array.end)) {
                        0 => "just".to_owned(),
                        bytes => format!("{bytes} bytes"),
                    };
                    format!("{past} past the end of a shared array of {} bytes", array.len())
                }
                None => "before the first shared array".to_owned(),
            };
            format!("{what}, {place}: check the index against the array's length")
        }
        Hazard::Unwritten => format!(
            "{what}, which no thread of the block has written: on a GPU it holds anything. Write it \
             first, with a barrier before others read it"
        ),
        Hazard::Race { other, wrote } => {
            let same_warp = lane.is_some_and(|(warp, _)| warp == other.thread() / 32);
            let who = match same_warp && other.of_several_warps() {
                true => "a thread of another warp".to_owned(),
                false => format!("thread {}", thread(other)),
            };
            let did = if wrote { "wrote" } else { "read" };
            let there = place_in_words(program, other.pc());
            let remedy = if same_warp && !other.of_several_warps() {
                "a barrier must order the two, since the lanes of a warp need not run together: \
                 of the warp, where only its lanes share the memory (bar.warp.sync; in Rust \
                 warp::sync(), in CUDA C++ __syncwarp()), or of the block (bar.sync; in Rust \
                 block::sync(), in CUDA C++ __syncthreads())"
            } else {
                "a barrier (bar.sync; in Rust block::sync(), in CUDA C++ __syncthreads()) must order \
                 the two"
            };
            // One line that reads and writes is an update: no barrier helps there.
            let update = match line.is_some_and(|line| line == line_of(&there)) {
                true => {
                    ". If the threads update one place, as `sum += 1` does, an atomic operation \
                         must do it (atom; in Rust `fetch_add`, in CUDA C++ atomicAdd)"
                }
                false => "",
            };
            format!("{what}, which {who} {did} {there}: a race; {remedy}{update}")
        }
    }
}
