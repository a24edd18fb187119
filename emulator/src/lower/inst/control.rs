//! Control transfers, barriers and clocks.

use super::slot::{File, Role, Slot, Visitor, show, show_run};

/// The effect of a thread's arrival at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum BarrierKind {
    Sync,
    Arrive,
    RedPopc,
    RedAnd,
    RedOr,
}

/// A barrier: with a thread count or for the whole block, and with or without a reduction. All
/// threads of a warp execute an aligned one together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct Barrier {
    pub kind: BarrierKind,
    pub aligned: bool,
    pub id: Slot,
    pub threads: Option<Slot>,
    pub d: Slot,
    pub p: Slot,
    pub negate: bool,
}

/// Block-wide values that only the running warp knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// `%clock`, `%clock_lo`: low 32 bits.
    Low,
    /// `%clock_hi`: high 32 bits.
    High,
    /// `%clock64`, `%globaltimer`.
    Full,
}

impl Barrier {
    /// Shows every register.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        use File::{Pred, R32};
        let file = if self.kind == BarrierKind::RedPopc { R32 } else { Pred };
        if let Some(threads) = self.threads {
            show(see, [(R32, threads)], []);
        }
        show(see, [(R32, self.id), (Pred, self.p)], [(file, self.d)]);
    }
}

/// Control transfers other than plain branches, and other operations that need the warp's position.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum ControlOp {
    BranchIndexed {
        index: Slot,
        table: u32,
        convergence: u32,
    },
    /// `copies` names a table of argument words to move into the callee's parameters first.
    Call {
        target: u32,
        copies: u32,
    },
    /// A call of a function with a frame, or of which the results are copied: the number of the
    /// function, and that of the call.
    CallWithFrame {
        callee: u32,
        call: u32,
    },
    /// A call of the functions at the addresses that the lanes have.
    CallIndirect {
        address: Slot,
        call: u32,
    },
    /// The body of a function that is not executed: `why` is the number of the reason.
    Refused {
        why: u32,
    },
    /// `alloca`: `size` bytes of stack memory at a multiple of `align`.
    Alloca {
        wide: bool,
        d: Slot,
        size: Slot,
        align: u32,
    },
    StackSave {
        wide: bool,
        d: Slot,
    },
    StackRestore {
        wide: bool,
        a: Slot,
    },
    Return,
    Exit,
    Trap,
    /// `brkpt`
    Breakpoint,
    /// `call __assertfail`: `arguments` names a table of the words of its message, file and line.
    Assert {
        arguments: u32,
    },
    /// `call vprintf`: `arguments` names a table of the words of its format and of the address of
    /// its arguments; `d` is how many there were.
    Print {
        arguments: u32,
        d: Slot,
    },
    /// `call malloc`: `arguments` names a table of the words of the size, and of the alignment if
    /// there is one; `d` is the first word of the address.
    Malloc {
        arguments: u32,
        d: Slot,
    },
    /// `call free`: `arguments` names a table of the words of the address.
    Free {
        arguments: u32,
    },
    Clock {
        what: Clock,
        d: Slot,
    },
}

impl ControlOp {
    /// The table of the words that a call of a function of the driver takes.
    pub fn words_of_driver_call(self) -> Option<u32> {
        match self {
            Self::Assert { arguments }
            | Self::Print { arguments, .. }
            | Self::Malloc { arguments, .. }
            | Self::Free { arguments } => Some(arguments),
            _ => None,
        }
    }

    /// Shows every register.
    pub fn slots(&self, see: &mut Visitor<'_>) {
        match *self {
            Self::BranchIndexed { index, .. } => show(see, [(File::R32, index)], []),
            Self::Clock { what, d } => {
                show(see, [], [(File::by_width(what == Clock::Full), d)]);
            }
            Self::Print { d, .. } => show(see, [], [(File::R32, d)]),
            Self::Malloc { d, .. } => show_run(see, Role::Write, d, 2),
            Self::CallIndirect { address, .. } => show(see, [(File::R64, address)], []),
            Self::Alloca { wide, d, size, .. } => {
                let file = File::by_width(wide);
                show(see, [(file, size)], [(file, d)]);
            }
            Self::StackSave { wide, d } => show(see, [], [(File::by_width(wide), d)]),
            Self::StackRestore { wide, a } => show(see, [(File::by_width(wide), a)], []),
            Self::Call { .. }
            | Self::CallWithFrame { .. }
            | Self::Refused { .. }
            | Self::Return
            | Self::Exit
            | Self::Trap
            | Self::Breakpoint
            | Self::Assert { .. }
            | Self::Free { .. } => {}
        }
    }
}
