//! A lowered kernel: code, constants, storage sizes and source positions.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::convergence::Convergences;
use super::inst::{Inst, Slot};
use crate::ptx::ast::{Bounds, Loc};

/// What fills a 32-bit constant slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Const32 {
    /// An immediate.
    Bits(u32),
    /// A launch parameter: byte offset, size (1, 2 or 4) and whether it is sign-extended.
    Param(u32, u8, bool),
    /// A special register that every lane of a block agrees on.
    Special(Special),
    /// `%laneid` (the only one that differs by lane and yet is the same for every warp).
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

/// What fills a 64-bit constant slot.
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

/// One kernel, ready to run.
#[derive(Debug)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// The instructions of the kernel and of the device functions that it can reach.
    pub code: Vec<Inst>,
    /// For each instruction its PTX line and its `.loc`, if any.
    pub positions: Vec<SourcePosition>,
    /// Branch tables of `brx.idx`.
    pub tables: Vec<Vec<u32>>,
    /// Where the lanes of its branches meet.
    pub convergences: Convergences,
    /// Argument moves of calls: from, to.
    pub copies: Vec<Vec<(Slot, Slot)>>,
    /// Fillings of the 32-bit constant slots.
    pub const32: Vec<Const32>,
    /// Fillings of the 64-bit constant slots.
    pub const64: Vec<Const64>,
    /// 32-bit registers that a warp starts with.
    pub warp_init: Vec<(usize, WarpInit)>,
    /// 32-bit registers a warp needs.
    pub registers32: usize,
    /// 64-bit registers a warp needs.
    pub registers64: usize,
    /// Predicates a warp needs.
    pub predicates: usize,
    /// Bytes of statically allocated shared memory.
    pub shared_bytes: u32,
    /// Where dynamic shared memory begins on hardware (`shared_bytes` rounded up to the alignment
    /// it was declared with).
    pub dynamic_shared_offset: u32,
    /// Where the static shared arrays lie here, with gaps between them.
    pub shared_arrays: Vec<Range<u32>>,
    /// Where the last of them ends.
    pub shared_extent: u32,
    /// Where dynamic shared memory begins here.
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
    /// Source tables of the module.
    pub source: Arc<SourceTables>,
}

/// Where an instruction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourcePosition {
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// The `.loc` in force.
    pub loc: Option<Loc>,
}

/// File names and inlining of a module's `.loc`s.
#[derive(Debug, Default)]
pub struct SourceTables {
    /// `.file` numbers and paths.
    pub files: Vec<(u32, String)>,
    /// For a position that was itself inlined: where.
    pub inlined: std::collections::HashMap<crate::ptx::ast::Position, crate::ptx::ast::Position>,
}

/// One source frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Path as the compiler wrote it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Program {
    /// The nearest place in the kernel's own file at or before an instruction. Compilers write no
    /// `inlined_at` into PTX before 7.2, so that the position of an inlined function says nothing
    /// of who called it.
    pub fn near(&self, pc: u32) -> Option<Frame> {
        let own = self.frames_from(0)?.file;
        (0..=pc).rev().find_map(|pc| self.frames(pc).into_iter().find(|frame| frame.file == own))
    }

    /// The outermost frame of the first instruction from `pc` on that has one.
    fn frames_from(&self, pc: u32) -> Option<Frame> {
        (pc..self.positions.len() as u32).find_map(|pc| self.frames(pc).pop())
    }

    /// The source frames of an instruction, innermost first.
    pub fn frames(&self, pc: u32) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Some(loc) = self.positions.get(pc as usize).and_then(|position| position.loc) else {
            return frames;
        };
        let mut next = Some((loc.position, loc.inlined_at));
        while let Some((position, inlined_at)) = next {
            if let Some((_, file)) =
                self.source.files.iter().find(|(number, _)| *number == position.file)
                && position.line != 0
            {
                frames.push(Frame {
                    file: file.clone(),
                    line: position.line,
                    column: position.column,
                });
            }
            // A chain of inlining is short; the limit guards against a table that names itself.
            next = inlined_at.filter(|_| frames.len() < 64).map(|outer| {
                (
                    outer,
                    self.source.inlined.get(&outer).copied().filter(|further| *further != outer),
                )
            });
        }
        frames
    }
}
