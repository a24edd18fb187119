//! A lowered kernel: code, constants, storage sizes and source positions.

use std::ops::Range;
use std::sync::Arc;

use super::convergence::Convergences;
use super::inst::{ControlOp, File, Inst, Op, Slot};
use super::source_location::{Frame, Place, Sites, SourceFiles};
use crate::ptx::ast::Bounds;

/// The most local memory of a thread; ptxas refuses a module with more.
pub const MOST_LOCAL_BYTES: u32 = 512 << 10;

/// The source of a 32-bit constant slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Const32 {
    /// An immediate.
    Bits(u32),
    /// A launch parameter: byte offset, size (1, 2 or 4) and whether it is sign-extended.
    Param(u32, u8, bool),
    /// A special register that every lane of a block agrees on.
    Special(Special),
    /// `%laneid`: differs by lane but is the same for every warp.
    Lane,
    /// `%lanemask_eq|le|lt|ge|gt`.
    LaneMask(LaneMask),
}

/// `%lanemask_*` relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum LaneMask {
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
}

/// The source of a 64-bit constant slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Const64 {
    /// An immediate.
    Bits(u64),
    /// A launch parameter: byte offset, size (1, 2, 4 or 8) and whether it is sign-extended.
    Param(u32, u8, bool),
    /// A 32-bit special register, zero-extended (a 64-bit `mov` may read one).
    Special(Special),
}

/// Special registers that are uniform over a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Special {
    BlockDim(u8),
    BlockIndex(u8),
    GridDim(u8),
    WarpCount,
    SmId,
    SmCount,
    GridId,
    DynamicShared,
    TotalShared,
    /// The upper and the lower half of the address of the workspace of a cooperative launch, or 0.
    GridWorkspaceHigh,
    GridWorkspaceLow,
    Zero,
}

/// A per-warp register that is filled when the warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WarpInit {
    /// `%tid.x`, `.y`, `.z`.
    ThreadIndex(u8),
    /// `%warpid`.
    WarpIndex,
}

/// A device function.
#[derive(Debug, Default)]
pub struct Callee {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its first instruction.
    pub start: u32,
    /// The first 32-bit register and the bytes of each parameter.
    pub params: Vec<(Slot, u32)>,
    /// The same of each return parameter.
    pub returns: Vec<(Slot, u32)>,
    /// Whether a call of it saves something that its return restores.
    pub has_frame: bool,
    /// The registers that each activation has for itself: none if it is not recursive.
    pub registers: Vec<(File, Range<usize>)>,
    /// Bytes of stack of an activation, and the alignment of its local variables.
    pub stack_bytes: u32,
    /// Their alignment.
    pub stack_align: u32,
    /// The registers that hold addresses of local variables.
    pub frame_addresses: Vec<FrameAddress>,
}

/// A register that holds an address in the frame of its function.
#[derive(Debug, Clone, Copy)]
pub struct FrameAddress {
    /// Its file.
    pub file: File,
    /// The register.
    pub slot: Slot,
    /// Bytes from the start of the frame.
    pub offset: i64,
}

/// A call that copies its arguments and results as it runs.
#[derive(Debug)]
pub struct Call {
    /// The first 32-bit register of each argument.
    pub arguments: Vec<Slot>,
    /// The same of each result.
    pub results: Vec<Slot>,
    /// The numbers of the functions that it can reach.
    pub targets: Vec<u32>,
}

/// One kernel, ready to run.
#[derive(Debug, Default)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// The instructions of the kernel and of the device functions that it can reach.
    pub code: Vec<Inst>,
    /// For each instruction its PTX line and its place in the source, if any.
    pub positions: Vec<SourcePosition>,
    /// Branch tables of `brx.idx`.
    pub tables: Vec<Vec<u32>>,
    /// The meeting points of the lanes of its branches.
    pub convergences: Convergences,
    /// Argument moves of calls: from, to.
    pub copies: Vec<Vec<(Slot, Slot)>>,
    /// The device functions that it can reach.
    pub callees: Vec<Callee>,
    /// Calls through pointers and of functions with frames.
    pub calls: Vec<Call>,
    /// Why functions are not executed that only pointers lead to.
    pub refusals: Vec<String>,
    /// Whether threads have a stack that grows.
    pub uses_stack: bool,
    /// Fillings of the 32-bit constant slots.
    pub const32: Vec<Const32>,
    /// Fillings of the 64-bit constant slots.
    pub const64: Vec<Const64>,
    /// 32-bit registers that a warp starts with.
    pub warp_init: Vec<(usize, WarpInit)>,
    /// Registers that may be read before they are written: they begin as zero.
    pub unwritten: Vec<(File, usize)>,
    /// 32-bit registers a warp needs.
    pub registers32: usize,
    /// 64-bit registers a warp needs.
    pub registers64: usize,
    /// Predicates a warp needs.
    pub predicates: usize,
    /// Bytes of statically allocated shared memory.
    pub shared_bytes: u32,
    /// Offset of dynamic shared memory on hardware (`shared_bytes` rounded up to its declared
    /// alignment).
    pub dynamic_shared_offset: u32,
    /// Bytes from the start of shared memory on that the driver reserves, where the kernel asks for
    /// their offset.
    pub reserved_shared: u32,
    /// The ranges of the static shared arrays here, with gaps between them.
    pub shared_arrays: Vec<Range<u32>>,
    /// The end of the last of them.
    pub shared_extent: u32,
    /// Offset of dynamic shared memory here.
    pub dynamic_shared_start: u32,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Offset and size of each kernel parameter.
    pub params: Vec<(u32, u32)>,
    /// Bytes of all kernel parameters.
    pub param_bytes: u32,
    /// Launch bounds.
    pub bounds: Bounds,
    /// Whether blocks can see each other's work before the kernel ends, so that their order
    /// matters.
    pub blocks_interact: bool,
    /// Whether it has so many registers that some share slots.
    pub shares_slots: bool,
    /// The source files of the module.
    pub files: Arc<SourceFiles>,
    /// The places of the kernel's code in them.
    pub sites: Sites,
}

/// The source position of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourcePosition {
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// The number of the site that the `.loc` in force names.
    pub site: Option<u32>,
}

impl Program {
    /// Whether it allocates from the device heap or frees.
    pub fn uses_heap(&self) -> bool {
        let of_heap = |inst: &Inst| {
            matches!(inst.op, Op::Control(ControlOp::Malloc { .. } | ControlOp::Free { .. }))
        };
        self.code.iter().any(of_heap)
    }

    /// The start of a thread's stack, after its other local memory.
    pub fn stack_start(&self) -> u32 {
        self.local_bytes.next_multiple_of(16)
    }

    /// The number of the device function that an instruction belongs to; none: the kernel.
    pub fn callee_at(&self, pc: u32) -> Option<&Callee> {
        let begun = self.callees.iter().filter(|callee| callee.start <= pc);
        begun.max_by_key(|callee| callee.start)
    }

    /// The nearest place in the kernel's own file at or before an instruction. Some compilers write
    /// no `inlined_at`, so that the position of an inlined function does not show its caller.
    fn near(&self, pc: u32) -> Option<Frame> {
        let own = self.frames_from(0)?.file;
        (0..=pc).rev().find_map(|pc| self.frames(pc).into_iter().find(|frame| frame.file == own))
    }

    /// The outermost frame of the first instruction from `pc` on that has one.
    fn frames_from(&self, pc: u32) -> Option<Frame> {
        (pc..self.positions.len() as u32).find_map(|pc| self.frames(pc).pop())
    }

    /// The source frames of an instruction, innermost first.
    pub fn frames(&self, pc: u32) -> Vec<Frame> {
        let site = self.positions.get(pc as usize).and_then(|position| position.site);
        site.map(|site| self.sites.frames(site, &self.files)).unwrap_or_default()
    }

    /// The place of an instruction in the source, if the PTX has it. `callers` are the calls around
    /// it, innermost first.
    pub fn place(&self, pc: u32, callers: &[u32]) -> Option<Place> {
        let frames: Vec<Frame> =
            [pc].iter().chain(callers).flat_map(|&pc| self.frames(pc)).collect();
        Place::new(&frames, || self.near(callers.last().copied().unwrap_or(pc)))
    }

    /// The same in words, or the line of the PTX.
    pub fn place_in_words(&self, pc: u32) -> String {
        match (self.place(pc, &[]), self.positions.get(pc as usize)) {
            (Some(place), _) => place.to_string(),
            (None, Some(position)) => format!("at PTX line {}", position.ptx_line),
            (None, None) => String::new(),
        }
    }
}
