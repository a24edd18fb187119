//! Accesses of loops that ptxas changes: it moves one out that finds the same bytes in each round,
//! and unrolls loops. Then it joins shared accesses of successive rounds, and lanes that leave in
//! different rounds run the rest of them in other groups than the PTX says.

use super::straight::{Access, Change, plain_access, publishes};
use super::values::{Values, narrow, wide};
use crate::lower::blocks::{Block, Flow};
use crate::lower::inst::{ArithOp, FloatOp, Op, Register, Setp, Space};
use crate::lower::program::Program;

/// Bytes of the widest access.
const WIDEST: i64 = 16;

/// The plain accesses of loops that ptxas may change, by instruction.
pub fn changes(
    program: &Program,
    (blocks, flow): (&[Block], &Flow),
    values: &Values<'_>,
) -> Vec<(usize, Change)> {
    let mut found = Vec::new();
    for inside in (0..blocks.len()).filter_map(|head| loop_of(blocks, flow, head)) {
        found.extend(changes_within(program, &inside, values));
        if is_one_block(program, &inside) && lanes_count_apart(program, &inside, values) {
            found.extend(inside.iter().map(|&pc| (pc, Change::Unrolled)));
        }
    }
    found
}

/// The instructions of the loop that begins with a block: they reach an edge back to it without
/// passing it. An edge leads back if it leads to the same or an earlier place.
fn loop_of(blocks: &[Block], flow: &Flow, head: usize) -> Option<Vec<usize>> {
    let back = flow.predecessors[head].iter().copied().filter(|&from| from >= head);
    let mut open: Vec<usize> = back.collect();
    if open.is_empty() {
        return None;
    }
    let mut inside = vec![false; blocks.len()];
    inside[head] = true;
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut inside[block], true) {
            open.extend(&flow.predecessors[block]);
        }
    }
    let blocks = blocks.iter().zip(inside).filter(|(_, inside)| *inside);
    Some(blocks.flat_map(|(block, _)| block.start..block.end).collect())
}

/// Whether a loop runs straight through. ptxas unrolls such loops if they count by a constant.
fn is_one_block(program: &Program, inside: &[usize]) -> bool {
    let branches = inside.iter().filter(|&&pc| matches!(program.code[pc].op, Op::Branch { .. }));
    branches.count() == 1
}

/// Whether a loop counts by a constant up to a limit, and its lanes may do so in different numbers
/// of rounds.
fn lanes_count_apart(program: &Program, inside: &[usize], values: &Values<'_>) -> bool {
    let is_inside = |pc: usize| inside.binary_search(&pc).is_ok();
    let step = |value: Register| values.step(value, &is_inside);
    let counts = |counter: Register, limit: Register| {
        step(counter).is_some_and(|step| step != 0)
            && step(limit) == Some(0)
            && !(values.is_uniform(counter) && values.is_uniform(limit))
    };
    inside.iter().any(|&pc| {
        let compared = match program.code[pc].op {
            Op::Arith(ArithOp::SetpS32 { a, b, .. } | ArithOp::SetpU32 { a, b, .. }) => {
                [a, b].map(narrow)
            }
            Op::Float(FloatOp::Setp(Setp { ty, a, b, .. })) if ty.is_wide() => [a, b].map(wide),
            Op::Float(FloatOp::Setp(Setp { a, b, .. })) => [a, b].map(narrow),
            _ => return false,
        };
        let [a, b] = compared;
        counts(a, b) || counts(b, a)
    })
}

fn changes_within(
    program: &Program,
    inside: &[usize],
    values: &Values<'_>,
) -> Vec<(usize, Change)> {
    let is_inside = |pc: usize| inside.binary_search(&pc).is_ok();
    let publishes = inside.iter().any(|&pc| publishes(&program.code[pc].op));
    let accesses: Vec<Access> =
        inside.iter().filter_map(|&pc| plain_access(&program.code[pc], pc, values)).collect();
    let overwritten = |access: &Access| {
        accesses
            .iter()
            .any(|other| other.store && other.pc != access.pc && other.may_overlap(access))
    };
    let mut found = Vec::new();
    for access in &accesses {
        let step = access.place.base.map_or(Some(0), |base| values.step(base, &is_inside));
        let joins = step.is_some_and(|step| {
            step != 0
                && access.space == Space::Shared
                && step.abs() + access.element_bytes <= WIDEST
        });
        if joins {
            found.push((access.pc, Change::Joined));
        }
        if step == Some(0) && !access.store && !publishes && !overwritten(access) {
            found.push((access.pc, Change::Hoisted));
        }
    }
    found
}
