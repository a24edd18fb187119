//! Accesses of loops that ptxas changes: it moves one out that finds the same bytes in each round,
//! and, once it has unrolled a loop, joins shared accesses of successive rounds.

use super::flow::Flow;
use super::straight::{Access, Change, plain_access, publishes};
use super::values::Values;
use crate::lower::inst::Space;
use crate::lower::program::Program;

/// Bytes of the widest access.
const WIDEST: i64 = 16;

/// The plain accesses of loops that ptxas may change, by instruction.
pub fn changes(program: &Program, flow: &Flow, values: &Values<'_>) -> Vec<(usize, Change)> {
    flow.loops().iter().flat_map(|inside| changes_within(program, inside, values)).collect()
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
