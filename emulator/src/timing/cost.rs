//! The cost of an instruction: issue slots, a pipe, and the time until its result.
//!
//! PTX is not machine code: moves and conversions of addresses cost nothing once registers are
//! assigned, and a division is a sequence. The costs are those of the instructions that ptxas makes
//! of them for compute capability 9.0. Latencies of sequences are those of chains on an H100
//! (docs/scripts/estimate/h100-constants/clocks.txt); their slots and pipes follow from the clocks
//! of 32 warps there. Other chips have other [`Units`].

use super::rates::Units;
use crate::lower::inst::{
    ArithOp, Binary, ControlOp, Conversion, Count, ExchangeOp, Float1, Float2, FloatOp, Inst,
    IntegerOp, Mma, MmaInput, Op, Scalar, Ternary, TransferOp, Unary,
};

/// The units of a quarter of a multiprocessor that instructions occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// Multiplications and additions, of 32-bit floats and of integers with multiplication.
    Fma,
    /// Integers, logic, comparisons.
    Alu,
    /// Double precision.
    Double,
    /// Special functions and conversions.
    Special,
    /// Accesses of memory and exchanges between lanes.
    Memory,
    /// Matrix products.
    Tensor,
}

impl Pipe {
    /// Their number.
    pub const COUNT: usize = 6;
}

/// The cost of an instruction of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Issue slots.
    pub issues: u16,
    /// The pipe that it occupies most.
    pub pipe: Pipe,
    /// Clocks for which that pipe of a quarter takes no other instruction.
    pub busy: u16,
    /// Clocks from its issue to that of an instruction that needs its result; for memory, those
    /// beyond the latency of the memory.
    pub latency: u16,
}

const fn cost(issues: u16, pipe: Pipe, busy: u16, latency: u16) -> Cost {
    Cost { issues, pipe, busy, latency }
}

/// Nothing is left of it in machine code.
const FREE: Cost = cost(0, Pipe::Alu, 0, 0);
const ALU: Cost = cost(1, Pipe::Alu, 2, 4);
const FMA: Cost = cost(1, Pipe::Fma, 1, 4);
/// Its clocks are those of [`Units::half_busy`].
const HALF: Cost = cost(1, Pipe::Fma, 0, 4);
const IMAD: Cost = cost(1, Pipe::Fma, 2, 4);
const DOUBLE: Cost = cost(1, Pipe::Double, 2, 8);
const SPECIAL: Cost = cost(1, Pipe::Special, 8, 23);

/// Several dependent instructions of one kind.
const fn times(count: u16, of: Cost) -> Cost {
    cost(count * of.issues, of.pipe, count * of.busy, count * of.latency)
}

/// Two independent instructions of one kind, such as those of two halves of a register pair.
const fn pair(of: Cost) -> Cost {
    cost(2 * of.issues, of.pipe, 2 * of.busy, of.latency + of.busy)
}

/// The cost of an instruction on these `units`. Accesses of memory have only their issue here.
pub fn of(inst: &Inst, units: &Units) -> Cost {
    let cost = match &inst.op {
        Op::Arith(op) => arith(op),
        Op::Integer(op) => integer(op),
        Op::Float(op) => float(op),
        // Registers are assigned, so that most of these need no instruction.
        Op::Move(_) | Op::Nop => FREE,
        Op::Load { .. } | Op::Store { .. } | Op::Atomic(_) | Op::Mbarrier(_) => {
            cost(1, Pipe::Memory, 2, 0)
        }
        Op::AtomicVector(_) | Op::Fragment(_) => cost(2, Pipe::Memory, 4, 0),
        Op::Transfer(op) => transfer(op),
        Op::Mma(op) => product(op, units),
        Op::Exchange(op) => exchange(op),
        Op::Barrier(_) | Op::Branch { .. } => cost(1, Pipe::Alu, 1, 0),
        Op::Control(op) => control(op),
        Op::Fence { beyond_block } => {
            cost(1, Pipe::Memory, 2, if *beyond_block { 670 } else { 10 })
        }
        Op::Sleep => cost(1, Pipe::Alu, 1, 100),
    };
    with_units(cost, units)
}

/// A `cost` on an H100, on these `units`.
fn with_units(cost: Cost, units: &Units) -> Cost {
    match cost {
        FMA => Cost { busy: units.float_busy, ..cost },
        HALF => Cost { busy: units.half_busy, ..cost },
        Cost { pipe: Pipe::Double, .. } => {
            let busy = cost.busy * units.double_busy / DOUBLE.busy;
            Cost { busy, latency: cost.latency.max(busy), ..cost }
        }
        Cost { .. } => cost,
    }
}

fn arith(op: &ArithOp) -> Cost {
    match op {
        ArithOp::Mov32 { .. }
        | ArithOp::Mov64 { .. }
        | ArithOp::MovPred { .. }
        | ArithOp::PredNot { .. }
        | ArithOp::Window { .. } => FREE,
        ArithOp::PredLogic { .. }
        | ArithOp::Select32 { .. }
        | ArithOp::Shift32 { .. }
        | ArithOp::SetpS32 { .. }
        | ArithOp::SetpU32 { .. }
        | ArithOp::SetpF32 { .. } => ALU,
        ArithOp::Convert { how, .. } => conversion(how),
        ArithOp::Unary32 { op, .. } => unary(*op),
        ArithOp::Binary32 { op, .. } => binary(*op),
        ArithOp::Binary64 { op, .. } => binary64(*op),
        ArithOp::Ternary32 { op, .. } => ternary(*op),
        ArithOp::MulWide { .. } => cost(1, Pipe::Fma, 4, 4),
        ArithOp::F32Add { .. }
        | ArithOp::F32Sub { .. }
        | ArithOp::F32Mul { .. }
        | ArithOp::F32Fma { .. }
        | ArithOp::Fma32 { .. } => FMA,
        ArithOp::F64Add { .. }
        | ArithOp::F64Sub { .. }
        | ArithOp::F64Mul { .. }
        | ArithOp::F64Fma { .. } => DOUBLE,
        ArithOp::Float2_32 { op, .. } => float2(*op),
    }
}

fn conversion(how: &Conversion) -> Cost {
    let is_integer =
        |ty: Scalar| !matches!(ty, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64);
    match (how.from, how.to) {
        (Scalar::F64, _) | (_, Scalar::F64) => cost(1, Pipe::Special, 8, 30),
        (from, to) if is_integer(from) && is_integer(to) => {
            // Only a change of bits is an instruction.
            if how.wide_source || !how.wide_destination { FREE } else { ALU }
        }
        (from, _) if is_integer(from) => cost(1, Pipe::Alu, 2, 6),
        (_, to) if is_integer(to) => SPECIAL,
        _ => FMA,
    }
}

fn unary(op: Unary) -> Cost {
    match op {
        // Sources of other instructions can be negated.
        Unary::Neg | Unary::FloatNeg | Unary::FloatAbs | Unary::Zext32 | Unary::Not => FREE,
        Unary::Brev => SPECIAL,
        Unary::Abs
        | Unary::Abs16
        | Unary::Cnot
        | Unary::Sext8
        | Unary::Sext16
        | Unary::Sext32
        | Unary::Zext8
        | Unary::Zext16 => ALU,
    }
}

fn binary(op: Binary) -> Cost {
    match op {
        Binary::Add
        | Binary::Sub
        | Binary::MinU
        | Binary::MinS
        | Binary::MaxU
        | Binary::MaxS
        | Binary::And
        | Binary::Or
        | Binary::Xor => ALU,
        Binary::MulLo => IMAD,
        Binary::MulHiU | Binary::MulHiS => cost(1, Pipe::Fma, 4, 5),
        Binary::AddSat | Binary::SubSat => times(4, ALU),
        Binary::DivU | Binary::DivS => cost(20, Pipe::Special, 28, 126),
        Binary::RemU | Binary::RemS => cost(22, Pipe::Special, 28, 130),
    }
}

fn binary64(op: Binary) -> Cost {
    match op {
        Binary::Add | Binary::Sub | Binary::And | Binary::Or | Binary::Xor => pair(ALU),
        Binary::MulLo => cost(4, Pipe::Fma, 10, 14),
        Binary::MulHiU | Binary::MulHiS => cost(8, Pipe::Fma, 24, 30),
        Binary::MinU | Binary::MinS | Binary::MaxU | Binary::MaxS => cost(4, Pipe::Alu, 8, 14),
        Binary::AddSat | Binary::SubSat => cost(6, Pipe::Alu, 12, 20),
        Binary::DivU | Binary::DivS => cost(75, Pipe::Fma, 100, 300),
        Binary::RemU | Binary::RemS => cost(80, Pipe::Fma, 110, 310),
    }
}

fn ternary(op: Ternary) -> Cost {
    match op {
        Ternary::MadLo => IMAD,
        Ternary::MadHiU | Ternary::MadHiS => cost(1, Pipe::Fma, 4, 5),
        Ternary::SadU | Ternary::SadS | Ternary::BfeU | Ternary::BfeS => times(2, ALU),
        Ternary::Prmt(_)
        | Ternary::ShfLeftWrap
        | Ternary::ShfLeftClamp
        | Ternary::ShfRightWrap
        | Ternary::ShfRightClamp
        | Ternary::Lop3(_) => ALU,
        Ternary::Dp4aUU
        | Ternary::Dp4aSS
        | Ternary::Dp4aUS
        | Ternary::Dp4aSU
        | Ternary::Dp2a { .. } => IMAD,
    }
}

fn integer(op: &IntegerOp) -> Cost {
    match op {
        IntegerOp::Count32 { op: Count::Popc, .. } => cost(1, Pipe::Special, 8, 19),
        IntegerOp::Count32 { .. } => cost(2, Pipe::Special, 8, 19),
        IntegerOp::Count64 { .. } => cost(4, Pipe::Special, 16, 40),
        IntegerOp::Binary16 { op, .. } => binary(*op),
        IntegerOp::Unary64 { .. } | IntegerOp::Select64 { .. } => pair(ALU),
        IntegerOp::Shift64 { .. } => cost(3, Pipe::Alu, 6, 8),
        IntegerOp::MadLo64 { .. } => cost(4, Pipe::Fma, 10, 14),
        IntegerOp::MadHi64 { .. } => cost(8, Pipe::Fma, 24, 30),
        IntegerOp::MadWide { .. } => cost(1, Pipe::Fma, 4, 4),
        IntegerOp::MulWide16 { .. } | IntegerOp::MadWide16 { .. } => IMAD,
        IntegerOp::Shift16 { .. } | IntegerOp::LogicTest(_) => ALU,
        IntegerOp::Carry(carry) => {
            if carry.wide {
                pair(ALU)
            } else {
                ALU
            }
        }
        IntegerOp::MadCarry(mad) => {
            if mad.wide {
                cost(8, Pipe::Fma, 24, 30)
            } else {
                IMAD
            }
        }
        IntegerOp::Bfi32 { .. } | IntegerOp::Word { .. } => times(3, ALU),
        IntegerOp::Bfi64 { .. }
        | IntegerOp::Bfe64 { .. }
        | IntegerOp::Sad64 { .. }
        | IntegerOp::SelectBySign64 { .. } => cost(6, Pipe::Alu, 12, 18),
    }
}

fn float(op: &FloatOp) -> Cost {
    match op {
        FloatOp::Float1_32 { op, mode, .. } => float1(*op, mode.ftz),
        FloatOp::Float1_64 { op, .. } => match op {
            Float1::Neg | Float1::Abs => FREE,
            _ => cost(14, Pipe::Double, 22, 78),
        },
        FloatOp::Float2_64 { op, .. } => match op {
            Float2::Div | Float2::DivApprox => cost(14, Pipe::Double, 22, 112),
            _ => DOUBLE,
        },
        FloatOp::Fma64 { .. } => DOUBLE,
        FloatOp::Setp(setp) if setp.ty == Scalar::F64 => DOUBLE,
        FloatOp::Setp(setp) if setp.ty.is_wide() => pair(ALU),
        FloatOp::Setp(_) | FloatOp::TestFloat { .. } => ALU,
        FloatOp::Set(_) => times(2, ALU),
        FloatOp::ComparePairs(_) | FloatOp::Half { .. } => HALF,
        FloatOp::PackHalves { .. } => FMA,
        FloatOp::BytesOfFloats { .. }
        | FloatOp::BytesOfHalves { .. }
        | FloatOp::HalvesOfBytes { .. } => SPECIAL,
    }
}

/// Without flush-to-zero, approximations scale small numbers, which would be subnormal.
fn float1(op: Float1, flushes: bool) -> Cost {
    let scaled = if flushes { SPECIAL } else { cost(4, Pipe::Special, 8, 31) };
    match op {
        Float1::Neg | Float1::Abs => FREE,
        Float1::Sqrt | Float1::Rcp => cost(9, Pipe::Special, 8, 43),
        Float1::Rsqrt | Float1::Ex2 | Float1::Lg2 => scaled,
        Float1::RcpSeed | Float1::RsqrtSeed | Float1::Tanh => SPECIAL,
        Float1::Sin | Float1::Cos => cost(2, Pipe::Special, 8, 27),
    }
}

fn float2(op: Float2) -> Cost {
    match op {
        Float2::Add | Float2::Sub | Float2::Mul => FMA,
        Float2::Div => cost(10, Pipe::Special, 16, 46),
        Float2::DivApprox => cost(3, Pipe::Special, 8, 31),
        Float2::Min
        | Float2::Max
        | Float2::MinNan
        | Float2::MaxNan
        | Float2::MinSize { .. }
        | Float2::MaxSize { .. }
        | Float2::CopySign => ALU,
    }
}

fn transfer(op: &TransferOp) -> Cost {
    match op {
        TransferOp::Copy(_) => cost(1, Pipe::Memory, 7, 0),
        TransferOp::Commit | TransferOp::Wait { .. } | TransferOp::WaitAll => {
            cost(1, Pipe::Alu, 1, 5)
        }
        TransferOp::Arrive { .. } => cost(1, Pipe::Memory, 2, 0),
        TransferOp::Matrix(_) => cost(1, Pipe::Memory, 4, 0),
        TransferOp::Transpose { .. } => cost(2, Pipe::Memory, 4, 30),
    }
}

fn product(op: &Mma, units: &Units) -> Cost {
    let shape = op.shape;
    let products = u32::from(shape.m) * u32::from(shape.n) * u32::from(shape.k);
    let rate = match op.input {
        MmaInput::Half(_) => units.tensor.half,
        MmaInput::Tf32 => units.tensor.tf32,
        MmaInput::Double => units.tensor.double,
        MmaInput::Byte { .. } | MmaInput::Integer { .. } => units.tensor.byte,
        MmaInput::And | MmaInput::Xor => units.tensor.bit,
    };
    let busy = products.div_ceil(rate).max(1) as u16;
    cost(1, Pipe::Tensor, busy, 16 + 2 * busy)
}

fn exchange(op: &ExchangeOp) -> Cost {
    match op {
        ExchangeOp::Shuffle { .. } => cost(1, Pipe::Memory, 4, 26),
        ExchangeOp::Vote { .. } | ExchangeOp::Elect { .. } => cost(1, Pipe::Alu, 2, 12),
        ExchangeOp::Match { wide, .. } => cost(16, Pipe::Alu, 32, if *wide { 200 } else { 100 }),
        ExchangeOp::Redux { .. } => cost(2, Pipe::Special, 16, 40),
        ExchangeOp::WarpSync { .. } => cost(1, Pipe::Alu, 1, 4),
    }
}

fn control(op: &ControlOp) -> Cost {
    match op {
        ControlOp::BranchIndexed { .. } => cost(4, Pipe::Alu, 6, 30),
        // The function was probably inlined.
        ControlOp::Call { .. } | ControlOp::Return => FREE,
        ControlOp::CallWithFrame { .. } | ControlOp::CallIndirect { .. } => {
            cost(6, Pipe::Alu, 8, 40)
        }
        ControlOp::Clock { .. } => cost(1, Pipe::Alu, 2, 12),
        ControlOp::Print { .. } => cost(50, Pipe::Alu, 100, 1000),
        // Measured by nobody: a call with some atomics.
        ControlOp::Malloc { .. } | ControlOp::Free { .. } => cost(50, Pipe::Alu, 100, 1000),
        ControlOp::Refused { .. }
        | ControlOp::Alloca { .. }
        | ControlOp::StackSave { .. }
        | ControlOp::StackRestore { .. }
        | ControlOp::Exit
        | ControlOp::Trap
        | ControlOp::Breakpoint
        | ControlOp::Assert { .. } => cost(1, Pipe::Alu, 1, 4),
    }
}
