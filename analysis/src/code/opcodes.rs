//! The opcodes of two revisions of a kernel.
//!
//! Input: the code of both. Output: the opcodes of which there are more or fewer than before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::code::{CountedCode, Counter, OpcodeChange, OpcodeMix};

/// Instructions by opcode.
type Mix<'c> = BTreeMap<&'c str, u64>;

/// The opcodes of the PTX of which warps executed more or fewer.
pub(super) fn of_ptx(old: &CountedCode, new: &CountedCode) -> Vec<OpcodeChange> {
    changed(&executed(old), &executed(new))
}

/// The opcodes of the machine code.
pub(super) fn of_machine(old: &CountedCode, new: &CountedCode) -> OpcodeMix {
    let executed = [old, new].iter().all(|code| code.executed.is_some());
    let [before, after] = [old, new].map(|code| machine(code, executed));
    let all = (before.values().sum(), after.values().sum());
    OpcodeMix { executed, all, changed: changed(&before, &after) }
}

fn executed(code: &CountedCode) -> Mix<'_> {
    mix(code.lines().map(|(line, counts)| (line.opcode(), counts[Counter::Instructions])))
}

/// How often warps executed the machine instructions of `code`, or how many it has.
fn machine(code: &CountedCode, executed: bool) -> Mix<'_> {
    let weight = |times: Option<u64>| times.filter(|_| executed).unwrap_or(1);
    mix(code.machine().map(|(line, times)| (line.opcode(), weight(times))))
}

fn mix<'c>(instructions: impl Iterator<Item = (&'c str, u64)>) -> Mix<'c> {
    let mut mix = Mix::new();
    instructions.for_each(|(opcode, times)| *mix.entry(opcode).or_default() += times);
    mix
}

/// The opcodes that differ, the largest change first.
fn changed(before: &Mix<'_>, after: &Mix<'_>) -> Vec<OpcodeChange> {
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let count_in = |mix: &Mix<'_>, name: &str| mix.get(name).copied().unwrap_or_default();
    let change = |name: &str| (name.to_owned(), count_in(before, name), count_in(after, name));
    let all = names.into_iter().map(change);
    let mut changed: Vec<OpcodeChange> = all.filter(|(_, a, b)| a != b).collect();
    changed.sort_by_key(|(_, a, b)| Reverse(a.abs_diff(*b)));
    changed
}
