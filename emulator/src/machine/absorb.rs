//! Results that do not depend on an undefined source.
//!
//! Input: an operation on registers, and the lanes in which one of its sources is undefined.
//! Output: the lanes in which its result is. A selection is as defined as the operand it selects;
//! `and`, `or`, products and `lop3` may be decided by their other sources.

use super::context::Context;
use super::integer::{binary32, binary64, ternary32};
use crate::lower::inst::{
    ArithOp, Binary, Combine, File, FloatOp, IntegerOp, Op, Setp, Slot, Ternary,
};

/// The lanes among `lanes` with an undefined result.
pub fn undefined(cx: &Context<'_>, op: &Op, lanes: u32) -> u32 {
    match *op {
        Op::Arith(ArithOp::Select32 { a, b, p, .. }) => select(cx, File::R32, [a, b], p, lanes),
        Op::Integer(IntegerOp::Select64 { a, b, p, .. }) => select(cx, File::R64, [a, b], p, lanes),
        Op::Arith(ArithOp::PredLogic { op, not, a, b, .. }) => {
            let side = |slot, not| (cx.lanes.pred_or_not(slot, not), missing(cx, File::Pred, slot));
            let sides = [side(a, not[0]), side(b, not[1])];
            logic(op, sides) & lanes
        }
        Op::Float(FloatOp::Setp(Setp { ty, a, b, combine, c, negate, .. })) => {
            let file = File::by_width(ty.is_wide());
            let compared = missing(cx, file, a) | missing(cx, file, b);
            let other = (cx.lanes.pred_or_not(c, negate), missing(cx, File::Pred, c));
            // Both results: of the comparison, and of its opposite.
            let (d, q) = ((0, compared), (u32::MAX, compared));
            (logic(combine, [d, other]) | logic(combine, [q, other])) & lanes
        }
        Op::Arith(ArithOp::Binary32 { op, a, b, .. }) if absorbs(op) => filter(lanes, |lane| {
            let sources = [a, b].map(|slot| source32(cx, slot, lane));
            differs(&sources, |[a, b]| binary32(op, a, b))
        }),
        Op::Arith(ArithOp::Binary64 { op, a, b, .. }) if absorbs(op) => filter(lanes, |lane| {
            let source = |slot| Source {
                value: cx.lanes.get64(slot)[lane],
                missing: missing(cx, File::R64, slot) & (1 << lane) != 0,
                ones: u64::MAX,
            };
            differs(&[source(a), source(b)], |[a, b]| binary64(op, a, b))
        }),
        Op::Arith(ArithOp::Ternary32 { op: op @ Ternary::Lop3(_), a, b, c, .. }) => {
            filter(lanes, |lane| {
                let sources = [a, b, c].map(|slot| source32(cx, slot, lane));
                differs(&sources, |[a, b, c]| ternary32(op, a, b, c))
            })
        }
        _ => lanes,
    }
}

fn filter(lanes: u32, is_undefined: impl Fn(usize) -> bool) -> u32 {
    let lane = |lane: &usize| lanes & (1 << lane) != 0 && is_undefined(*lane);
    (0..32).filter(lane).fold(0, |lanes, lane| lanes | 1 << lane)
}

fn missing(cx: &Context<'_>, file: File, slot: Slot) -> u32 {
    cx.warp.definedness.get(file, slot).lanes
}

/// Whether zeros and ones in place of an undefined source show all possible results. They do for
/// operations on single bits, and for those that a zero decides.
fn absorbs(op: Binary) -> bool {
    matches!(op, Binary::And | Binary::Or | Binary::Xor | Binary::MulLo)
}

/// A source in one lane.
#[derive(Clone, Copy)]
struct Source<W> {
    value: W,
    missing: bool,
    ones: W,
}

fn source32(cx: &Context<'_>, slot: Slot, lane: usize) -> Source<u32> {
    let value = cx.lanes.get32(slot)[lane];
    Source { value, missing: missing(cx, File::R32, slot) & (1 << lane) != 0, ones: u32::MAX }
}

/// Whether `f` depends on its undefined sources.
fn differs<W: Copy + PartialEq + Default, const N: usize>(
    sources: &[Source<W>; N],
    f: impl Fn([W; N]) -> W,
) -> bool {
    let results = (0..1 << N).map(|choice: u32| {
        f(std::array::from_fn(|at| match sources[at] {
            Source { value, missing: false, .. } => value,
            Source { ones, .. } if choice & (1 << at) != 0 => ones,
            Source { .. } => W::default(),
        }))
    });
    let mut results = results;
    let first = results.next();
    results.any(|result| Some(result) != first)
}

fn select(cx: &Context<'_>, file: File, [a, b]: [Slot; 2], p: Slot, lanes: u32) -> u32 {
    let (first, second) = (missing(cx, file, a), missing(cx, file, b));
    let (choice, unsure) = (cx.lanes.pred(p), missing(cx, File::Pred, p));
    let (x, y) = (cx.lanes.any(a, file == File::R64), cx.lanes.any(b, file == File::R64));
    let differ = filter(lanes, |lane| x[lane] != y[lane]);
    let chosen = (choice & first) | (!choice & second);
    lanes & ((!unsure & chosen) | (unsure & (differ | first | second)))
}

/// Undefined lanes of two predicates combined, each with its value and its own undefined lanes.
fn logic(op: Combine, [(a, no_a), (b, no_b)]: [(u32, u32); 2]) -> u32 {
    let decided = match op {
        Combine::And => (!a & !no_a) | (!b & !no_b),
        Combine::Or => (a & !no_a) | (b & !no_b),
        Combine::Xor => 0,
    };
    (no_a | no_b) & !decided
}
