//! The cost of an instruction: issue slots, a pipe, and the time until its result.
//!
//! PTX is not machine code: moves and conversions of addresses cost nothing once registers are
//! assigned, and a division is a sequence. The costs are those of the instructions that ptxas makes
//! of them for compute capability 9.0. Latencies of sequences are those of chains on an H100
//! (docs/scripts/estimate/h100-constants/clocks.txt); their slots and pipes follow from the clocks
//! of 32 warps there. Other chips have other [`Units`].

use super::pipes::{Cost, Pipe, cost};
use super::rates::Units;
use crate::lower::inst::{
    ArithOp, Binary, ControlOp, Conversion, Count, ExchangeOp, Float1, Float2, FloatOp, Inst,
    IntegerOp, Mma, MmaInput, Op, Scalar, Ternary, TransferOp, Unary,
};

/// Nothing is left of it in machine code.
pub const FREE: Cost = cost(0, 0);
pub const ALU: Cost = cost(1, 4).alu(1);
pub const ADD: Cost = cost(1, 4).adds(1);
const FMA: Cost = cost(1, 4).floats(1);
pub const IMAD: Cost = cost(1, 4).heavy(2);
/// A product of 64 bits, or its upper half, with an addition.
pub const WIDE: Cost = cost(1, 5).heavy(4);
const DOUBLE: Cost = cost(1, 8).double(1);
const SPECIAL: Cost = cost(1, 23).special(1);
/// Two independent instructions, for the halves of a register pair.
pub const PAIR: Cost = cost(2, 6).alu(2);
/// A product of 64-bit numbers, and its upper half.
const PRODUCT: Cost = cost(4, 14).heavy(8).adds(1);
const HIGH_PRODUCT: Cost = cost(7, 30).heavy(16).alu(1).adds(2);
/// A rotation of 64 bits by `or`.
pub const ROTATION: Cost = cost(3, 8).alu(3);
const PAIR_OF_ADDS: Cost = cost(2, 6).adds(2);

/// The cost of an instruction on these `units`. Accesses of memory have only their issue here.
pub fn instruction_cost(inst: &Inst, units: &Units) -> Cost {
    let cost = match &inst.op {
        Op::Arith(op) => arith(op),
        Op::Integer(op) => integer(op),
        Op::Float(op) => float(op),
        // Registers are assigned, so that most of these need no instruction.
        Op::Move(_) | Op::Nop => FREE,
        Op::Load { .. } | Op::Store { .. } | Op::Atomic(_) | Op::Mbarrier(_) => {
            cost(1, 0).memory(2)
        }
        Op::AtomicVector(_) | Op::Fragment(_) => cost(2, 0).memory(4),
        Op::Transfer(op) => transfer(op),
        Op::Mma(op) => product(op, units),
        Op::Exchange(op) => exchange(op),
        Op::Barrier(_) | Op::Branch { .. } => cost(1, 0),
        Op::Control(op) => control(op),
        Op::Fence { beyond_block } => cost(1, if *beyond_block { 670 } else { 10 }).memory(2),
        Op::Sleep => cost(1, 100),
    };
    with_units(cost, inst, units)
}

/// A `cost` on an H100, on these `units`.
fn with_units(mut cost: Cost, inst: &Inst, units: &Units) -> Cost {
    let is_half = matches!(inst.op, Op::Float(FloatOp::ComparePairs(_) | FloatOp::Half { .. }));
    if if is_half { units.half_busy } else { units.float_busy } > 1 {
        cost.busy[Pipe::Heavy as usize] += cost.floats;
        cost.floats = 0;
    }
    // On an H100, each takes two clocks.
    let double = cost.busy[Pipe::Double as usize] * units.double_busy / 2;
    cost.busy[Pipe::Double as usize] = double;
    cost.latency = cost.latency.max(double);
    cost
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
        ArithOp::MulWide { .. } => WIDE,
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
        (Scalar::F64, _) | (_, Scalar::F64) => cost(1, 30).special(1),
        (from, to) if is_integer(from) && is_integer(to) => {
            // Only a change of bits is an instruction.
            if how.wide_source || !how.wide_destination { FREE } else { ALU }
        }
        (from, _) if is_integer(from) => cost(1, 6).alu(1),
        (_, to) if is_integer(to) => SPECIAL,
        (Scalar::F32, _) => ALU,
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
        Binary::Add | Binary::Sub => ADD,
        Binary::MinU
        | Binary::MinS
        | Binary::MaxU
        | Binary::MaxS
        | Binary::And
        | Binary::Or
        | Binary::Xor => ALU,
        Binary::MulLo => IMAD,
        Binary::MulHiU | Binary::MulHiS => WIDE,
        Binary::AddSat | Binary::SubSat => cost(4, 16).alu(4),
        Binary::DivU | Binary::DivS => cost(18, 126).special(3).alu(6).adds(4).heavy(12),
        Binary::RemU | Binary::RemS => cost(19, 130).special(3).alu(6).adds(4).heavy(14),
    }
}

fn binary64(op: Binary) -> Cost {
    match op {
        Binary::Add | Binary::Sub => PAIR_OF_ADDS,
        Binary::And | Binary::Or | Binary::Xor => PAIR,
        Binary::MulLo => PRODUCT,
        Binary::MulHiU => HIGH_PRODUCT,
        Binary::MulHiS => cost(16, 40).alu(8).heavy(24),
        Binary::MinU | Binary::MinS | Binary::MaxU | Binary::MaxS => cost(4, 14).alu(4),
        Binary::AddSat | Binary::SubSat => cost(6, 20).alu(6),
        Binary::DivU | Binary::DivS => cost(75, 300).heavy(90).alu(40),
        Binary::RemU | Binary::RemS => cost(80, 310).heavy(95).alu(44),
    }
}

fn ternary(op: Ternary) -> Cost {
    match op {
        Ternary::MadLo => IMAD,
        Ternary::MadHiU | Ternary::MadHiS => WIDE,
        Ternary::SadU | Ternary::SadS => ALU,
        Ternary::BfeU | Ternary::BfeS => cost(2, 8).alu(2),
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
        IntegerOp::Count { wide: false, op: Count::Popc, .. } => cost(1, 19).special(1),
        IntegerOp::Count { wide: false, .. } => cost(2, 23).special(1).adds(1),
        IntegerOp::Count { .. } => cost(4, 40).special(2).adds(2),
        IntegerOp::Binary16 { op, .. } => binary(*op),
        IntegerOp::Unary64 { .. } | IntegerOp::Select64 { .. } | IntegerOp::Shift64 { .. } => PAIR,
        IntegerOp::MadLo64 { .. } => PRODUCT,
        IntegerOp::MadHi64 { .. } => HIGH_PRODUCT,
        IntegerOp::MadWide { .. } => WIDE,
        IntegerOp::MulWide16 { .. } | IntegerOp::MadWide16 { .. } => IMAD,
        IntegerOp::Shift16 { .. } | IntegerOp::LogicTest(_) => ALU,
        IntegerOp::Carry(carry) => {
            if carry.wide {
                PAIR_OF_ADDS
            } else {
                ADD
            }
        }
        IntegerOp::MadCarry(mad) => match (mad.wide, mad.high) {
            (false, false) => cost(2, 8).heavy(2).adds(1),
            (false, true) => cost(2, 9).heavy(4).adds(1),
            (true, false) => cost(6, 18).heavy(8).adds(3),
            (true, true) => cost(8, 34).heavy(16).alu(2).adds(2),
        },
        IntegerOp::Bfi { wide: false, .. } | IntegerOp::Word { .. } => cost(2, 8).alu(2),
        IntegerOp::Bfi { .. }
        | IntegerOp::Bfe64 { .. }
        | IntegerOp::Sad64 { .. }
        | IntegerOp::SelectBySign64 { .. } => cost(6, 18).alu(6),
    }
}

fn float(op: &FloatOp) -> Cost {
    match op {
        FloatOp::Float1 { wide: false, op, mode, .. } => float1(*op, mode.ftz),
        FloatOp::Float1 { op, .. } => match op {
            Float1::Neg | Float1::Abs => FREE,
            _ => cost(16, 78).double(8).special(1).alu(5),
        },
        FloatOp::Float2_64 { op, .. } => match op {
            Float2::Div | Float2::DivApprox => cost(20, 112).double(9).special(1).alu(8),
            _ => DOUBLE,
        },
        FloatOp::Fma64 { .. } => DOUBLE,
        FloatOp::Setp(setp) if setp.ty == Scalar::F64 => DOUBLE,
        FloatOp::Setp(setp) if setp.ty.is_wide() => PAIR,
        FloatOp::Setp(_) | FloatOp::TestFloat { .. } => ALU,
        FloatOp::SetTo(_) => cost(2, 8).alu(2),
        FloatOp::ComparePairs(_) | FloatOp::Half { .. } => FMA,
        FloatOp::PackHalves { .. } => ALU,
        FloatOp::BytesOfFloats { .. }
        | FloatOp::BytesOfHalves { .. }
        | FloatOp::HalvesOfBytes { .. } => SPECIAL,
    }
}

/// Without flush-to-zero, approximations scale small numbers, which would be subnormal.
fn float1(op: Float1, flushes: bool) -> Cost {
    let scaled = if flushes { SPECIAL } else { cost(4, 31).special(1).alu(1).floats(2) };
    match op {
        Float1::Neg | Float1::Abs => FREE,
        Float1::Sqrt | Float1::Rcp => cost(10, 43).special(1).floats(4).alu(2),
        Float1::Rsqrt | Float1::Ex2 | Float1::Lg2 => scaled,
        Float1::RcpSeed | Float1::RsqrtSeed | Float1::Tanh => SPECIAL,
        Float1::Sin | Float1::Cos => cost(2, 27).special(1).floats(1),
    }
}

fn float2(op: Float2) -> Cost {
    match op {
        Float2::Add | Float2::Sub | Float2::Mul => FMA,
        Float2::Div => cost(11, 46).special(1).floats(6).alu(2),
        Float2::DivApprox => cost(5, 31).special(1).floats(3).alu(1),
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
        TransferOp::Copy(_) => cost(1, 0).memory(7),
        TransferOp::Commit | TransferOp::Wait { .. } | TransferOp::WaitAll => cost(1, 5),
        TransferOp::Arrive { .. } => cost(1, 0).memory(2),
        TransferOp::Matrix(_) => cost(1, 0).memory(4),
        TransferOp::Transpose { .. } => cost(2, 30).memory(4),
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
    let busy = products.div_ceil(rate).max(1);
    cost(1, 16 + 2 * busy).with(Pipe::Tensor, busy)
}

fn exchange(op: &ExchangeOp) -> Cost {
    match op {
        ExchangeOp::Shuffle { .. } => cost(1, 26).memory(4),
        ExchangeOp::Vote { .. } | ExchangeOp::Elect { .. } => cost(1, 12).alu(1),
        ExchangeOp::Match { wide, .. } => cost(16, if *wide { 200 } else { 100 }).alu(16),
        ExchangeOp::Redux { .. } => cost(2, 40).special(2),
        ExchangeOp::WarpSync { .. } => cost(1, 4),
    }
}

fn control(op: &ControlOp) -> Cost {
    match op {
        ControlOp::BranchIndexed { .. } => cost(4, 30).alu(3),
        // The function was probably inlined.
        ControlOp::Call { .. } | ControlOp::Return => FREE,
        ControlOp::CallWithFrame { .. } | ControlOp::CallIndirect { .. } => cost(6, 40).alu(4),
        ControlOp::Clock { .. } => cost(1, 12).alu(1),
        ControlOp::Print { .. } => cost(50, 1000).alu(50),
        // Not measured: a call with some atomics.
        ControlOp::Malloc { .. } | ControlOp::Free { .. } => cost(50, 1000).alu(50),
        ControlOp::Refused { .. }
        | ControlOp::Alloca { .. }
        | ControlOp::StackSave { .. }
        | ControlOp::StackRestore { .. }
        | ControlOp::Exit
        | ControlOp::Trap
        | ControlOp::Breakpoint
        | ControlOp::Assert { .. } => cost(1, 4),
    }
}
