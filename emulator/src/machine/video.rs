//! Scalar and SIMD video instructions on one value, as PTX defines them.
//!
//! Operands are extended to wide integers, so that no intermediate result overflows.

use super::bits::{low_bits, range};
use super::comparison::compare_ordered;
use crate::lower::inst::{Lane, PairOp, SimdVideo, Video, VideoFinish, VideoOp};

/// A scalar video instruction.
pub fn scalar(how: Video, a: u32, b: u32, c: u32) -> u32 {
    let (x, y) = (extract(how.a, a), extract(how.b, b));
    if let VideoOp::Mad { plus_one, negate_product, negate_c, shift } = how.op {
        let product = if negate_product { -(x * y) } else { x * y };
        let c = i128::from(low_bits(c, 32, how.signed));
        let c = if negate_c { -c } else { c };
        let result = (product + c + i128::from(plus_one)) >> shift;
        return clamped(result, how.saturate.then_some((32, how.signed))) as u32;
    }
    let width = match how.finish {
        VideoFinish::Merge(lane) => u32::from(lane.bits),
        VideoFinish::Plain | VideoFinish::With(_) => 32,
    };
    let result = clamped(value(how.op, x, y), how.saturate.then_some((width, how.signed)));
    match how.finish {
        VideoFinish::Plain => result as u32,
        VideoFinish::With(op) => {
            let c = i128::from(low_bits(c, 32, how.signed));
            (match op {
                PairOp::Add => result + c,
                PairOp::Min => result.min(c),
                PairOp::Max => result.max(c),
            }) as u32
        }
        VideoFinish::Merge(Lane { shift, bits, .. }) => {
            let field = (u32::MAX >> (32 - bits)) << shift;
            (c & !field) | ((result as u32) << shift & field)
        }
    }
}

/// A SIMD video instruction.
pub fn simd(how: SimdVideo, a: u32, b: u32, c: u32) -> u32 {
    let (lanes, bits) = if how.bytes { (4, 8) } else { (2, 16) };
    let both = u64::from(b) << 32 | u64::from(a);
    let operand = |choices: u16, lane: u32, signed: bool| {
        let choice = u32::from(choices >> (4 * lane) & 7);
        i128::from(low_bits((both >> (bits * choice)) as u32, bits, signed))
    };
    let field = u32::MAX >> (32 - bits);
    let mut result = if how.accumulate { c } else { 0 };
    for lane in 0..lanes {
        let wanted = how.mask >> lane & 1 == 1;
        let (x, y) = (operand(how.a, lane, how.a_signed), operand(how.b, lane, how.b_signed));
        let one = clamped(value(how.op, x, y), how.saturate.then_some((bits, how.signed)));
        match (how.accumulate, wanted) {
            (true, true) => result = result.wrapping_add(one as u32),
            (true, false) => {}
            (false, true) => result |= (one as u32 & field) << (bits * lane),
            (false, false) => result |= c & field << (bits * lane),
        }
    }
    result
}

fn extract(lane: Lane, value: u32) -> i128 {
    low_bits(value >> lane.shift, u32::from(lane.bits), lane.signed).into()
}

fn value(op: VideoOp, x: i128, y: i128) -> i128 {
    let amount = |clamp: bool| if clamp { y.min(32) } else { y & 31 };
    match op {
        VideoOp::Add => x + y,
        VideoOp::Sub => x - y,
        VideoOp::AbsDiff => (x - y).abs(),
        VideoOp::Average => (x + y + i128::from(x + y >= 0)) >> 1,
        VideoOp::Min => x.min(y),
        VideoOp::Max => x.max(y),
        VideoOp::ShiftLeft { clamp } => x << amount(clamp),
        VideoOp::ShiftRight { clamp } => x >> amount(clamp),
        VideoOp::Set(cmp) => i128::from(compare_ordered(cmp, x, y)),
        VideoOp::Mad { .. } => x * y,
    }
}

/// The nearest integer of the range, if there is one to saturate to.
fn clamped(result: i128, saturate: Option<(u32, bool)>) -> i128 {
    let Some((bits, signed)) = saturate else { return result };
    let (least, most) = range(bits, signed);
    result.clamp(least.into(), most.into())
}
