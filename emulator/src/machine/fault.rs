//! Faults, which stop a kernel.
//!
//! A [`Fault`] holds the state of the machine: an instruction, a lane, an address. [`FaultReport`]
//! is its text for people.

use super::hazard::{By, Hazard};
use super::memory::Memory;
use crate::lower::program::Program;
use crate::lower::source_location::{Frame, Place};
use std::any::Any;
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
    /// A store to memory that the kernel may only read.
    ReadOnly,
    /// A barrier that some warps can never reach.
    BarrierDeadlock,
    /// `trap`.
    Trap,
    /// A failed device-side `assert`.
    Assert,
    /// Two threads access shared or global memory, and nothing orders them.
    Race,
    /// A read of unwritten shared memory.
    Uninitialised,
    /// A call or an allocation for which the stack of a thread has no room.
    StackOverflow,
    /// A function that the emulator does not execute.
    Unsupported,
    /// An instruction used in a way that PTX leaves undefined.
    Undefined,
    /// A defect of the emulator.
    Internal,
}

impl FaultKind {
    /// Its name in reports.
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
            Self::StackOverflow => "stack_overflow",
            Self::Unsupported => "unsupported",
            Self::Undefined => "undefined",
            Self::Internal => "internal",
        }
    }
}

/// The result of a step of execution.
pub type Outcome = Result<(), Box<Fault>>;

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
    /// What is wrong with an access that the memory allows.
    pub hazard: Option<Hazard>,
    /// A sentence's worth of detail, for kinds that no access explains.
    pub detail: String,
    /// The file and line that the kernel itself named.
    pub place: Option<(String, u32)>,
}

/// The text of a panic of the emulator.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("the emulator failed: {text}; please report this")
}

impl Fault {
    /// A fault of which no more is known.
    pub fn new(kind: FaultKind, detail: String) -> Self {
        let (pc, callers, lane) = (None, Vec::new(), None);
        let (access, hazard, place) = (None, None, None);
        Self { kind, pc, callers, lane, access, hazard, detail, place }
    }

    /// A panic of the emulator in a block.
    pub fn from_panic(panic: &(dyn Any + Send)) -> Self {
        Self::new(FaultKind::Internal, panic_message(panic))
    }
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
    /// The driver's report.
    pub class: FaultKind,
}

/// A thread's index in a block of these dimensions.
pub(super) fn thread_of(linear: u32, dim: [u32; 3]) -> [u32; 3] {
    [linear % dim[0], linear / dim[0] % dim[1], linear / (dim[0] * dim[1])]
}

/// An index in words.
pub(super) fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

impl FaultReport {
    /// Words a fault of `program` in `block`, which has the dimensions `dim`.
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
        let place = place(fault, program, &frames);
        match (&place, ptx_line) {
            (Some(place), _) => message += &format!(" {place}"),
            (None, Some(line)) => message += &format!(" at PTX line {line}"),
            (None, None) => {}
        }
        message += &call_chain(program, fault, place.as_ref());
        message += &format!(", block {}", triple(block));
        if let Some(thread) = thread {
            message += &format!(", thread {}", triple(thread));
        }
        message += ": ";
        message += &match &fault.access {
            Some(access) => match fault.hazard {
                Some(hazard) => {
                    let thread = |by: By| triple(thread_of(by.thread(), dim));
                    let here = (fault.lane, place.as_ref());
                    let text = describe_hazard(access, hazard, program, here, thread);
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

/// Where a fault happened: at the line that the kernel itself named, or at that of its instruction.
fn place(fault: &Fault, program: &Program, frames: &[Frame]) -> Option<Place> {
    let named = fault.place.as_ref().filter(|(file, _)| !program.files.is_library(file));
    let Some((file, line)) = named else {
        let place = program.place(fault.pc?, &fault.callers)?;
        // The place in a library says nothing about its trap.
        let inner = place.inner.filter(|_| fault.kind != FaultKind::Trap);
        return Some(Place { inner, ..place });
    };
    // With its column and its callers, if the PTX tells them.
    let at = frames.iter().position(|frame| (&frame.file, frame.line) == (file, *line));
    let known = at.and_then(|at| Place::new(&frames[at..], || None));
    let frame = || Frame { file: file.clone(), line: *line, column: 0, is_library: false };
    known.or_else(|| Place::new(&[frame()], || None))
}

/// The most callers that a message names.
const NAMED_CALLERS: usize = 3;

/// The function of a fault, in a kernel in which that depends on data, and where it was called.
fn call_chain(program: &Program, fault: &Fault, place: Option<&Place>) -> String {
    let callee = fault.pc.and_then(|pc| program.callee_at(pc));
    let callee = callee.filter(|_| !program.calls.is_empty());
    let mut chain = callee.map(|callee| format!(", in '{}'", callee.name)).unwrap_or_default();
    let callers: Vec<String> = match place {
        Some(place) => place.callers.iter().map(|frame| format!("at {frame}")).collect(),
        None if callee.is_none() => Vec::new(),
        None => fault.callers.iter().map(|&pc| program.place_in_words(pc)).collect(),
    };
    for (at, caller) in callers.iter().enumerate().take(NAMED_CALLERS) {
        chain += &if at == 0 { format!(", called {caller}") } else { format!(" and {caller}") };
    }
    if callers.len() > NAMED_CALLERS {
        chain += " and further callers";
    }
    chain
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

/// What is wrong with an access to shared or global memory by `lane`, which is `here`, and what to
/// do. `thread` names one.
fn describe_hazard(
    access: &Access,
    hazard: Hazard,
    program: &Program,
    (lane, here): (Option<(u32, u32)>, Option<&Place>),
    thread: impl Fn(By) -> String,
) -> String {
    let Access { verb, space, address, size, .. } = *access;
    let what = format!("{verb} {size} bytes of {space} memory at {address:#x}");
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
        Hazard::Unwritten { .. } => format!(
            "{what}, which no thread of the block has written: on a GPU its value is undefined. Write \
             it first, with a barrier before others read it"
        ),
        Hazard::Race { other, wrote, block } => {
            let same_warp = lane.is_some_and(|(warp, _)| warp == other.thread() / 32);
            let is_own = lane.is_some_and(|(warp, lane)| warp * 32 + lane == other.thread());
            let did = if wrote { "wrote" } else { "read" };
            // Of accesses of several threads one is kept, which may be that of the thread itself.
            let who = match block {
                Some(block) => format!("thread {} of block {} {did}", thread(other), triple(block)),
                None if same_warp && other.of_several_warps() => {
                    format!("threads of several warps {did}, one of them")
                }
                None if is_own => format!("several threads of its warp {did}, one of them"),
                None => format!("thread {} {did}", thread(other)),
            };
            let there = other.pc().map_or_else(String::new, |pc| program.place_in_words(pc));
            let remedy = match block {
                Some(_) => BETWEEN_BLOCKS,
                None if same_warp && !other.of_several_warps() => IN_WARP,
                None => IN_BLOCK,
            };
            // One line that reads and writes is an update: no barrier helps there.
            let place = other.pc().and_then(|pc| program.place(pc, &[]));
            let is_update = here.zip(place).is_some_and(|(here, there)| here.is_in_line_of(&there));
            let update = if is_update { UPDATE } else { "" };
            format!("{what}, which {}: a race; {remedy}{update}", [who, there].join(" ").trim_end())
        }
    }
}

/// Help that orders two accesses of a warp.
const IN_WARP: &str = "a barrier must order the two, since the lanes of a warp need not run \
    together: of the warp, where only its lanes share the memory (bar.warp.sync; in Rust \
    warp::sync(), in CUDA C++ __syncwarp()), or of the block (bar.sync; in Rust block::sync(), \
    in CUDA C++ __syncthreads())";
/// Help that orders two accesses of a block.
const IN_BLOCK: &str =
    "a barrier (bar.sync; in Rust block::sync(), in CUDA C++ __syncthreads()) must order the two";
/// Help that orders two accesses of different blocks.
const BETWEEN_BLOCKS: &str = "blocks run in any order and together, and nothing orders the two. \
    Let another launch do one of them, or write to a buffer that no block reads. Ordering them in \
    one launch requires a fence (fence.acq_rel.gpu; in Rust atomic::fence, in CUDA C++ \
    __threadfence()) and then an atomic or volatile flag, for which the other block waits";
/// Help if both are an update.
const UPDATE: &str = ". If the threads update one place, as `sum += 1` does, an atomic operation \
    must do it (atom; in Rust `fetch_add`, in CUDA C++ atomicAdd)";
