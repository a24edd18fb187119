//! Slots that several registers of a function share, if it has more registers than there are slots.
//!
//! Input: the body of a function. Output: for each of its numbered registers a slot. Registers
//! share one if the text between the first and the last mention of each does not overlap. A mention
//! in a loop reaches over all of it, unless the register is local to a round: it lies in the loop
//! alone, and its first mention is a write by all lanes.

use super::inst::{File, Slot};
use crate::ptx::ast::{AddressBase, Instruction, Operand, Statement};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The registers of a file from which on a function shares slots: other functions of the kernel
/// need some too.
const MANY: u32 = Slot::MOST as u32 - 1024;

/// For each family, the slots of its registers from the first of the file on.
pub type SharedSlots<'a> = HashMap<&'a str, Vec<u32>>;

/// Where a register is mentioned.
#[derive(Debug, Clone, Copy)]
struct Reach {
    first: usize,
    last: usize,
    /// The first mention is a write by all lanes.
    begins_written: bool,
}

#[derive(Default)]
struct Mentions<'a> {
    families: Vec<(&'a str, File, u32)>,
    reaches: HashMap<(usize, u32), Reach>,
    labels: HashMap<&'a str, usize>,
    /// Branches and the labels that they name.
    branches: Vec<(usize, &'a str)>,
    indexed: Vec<usize>,
    lists: Vec<&'a str>,
    at: usize,
}

/// The shared slots of a function, and how many of each file it needs; none if it has few
/// registers.
pub fn find<'a>(body: &[Statement<'a>]) -> Option<(SharedSlots<'a>, [u32; 3])> {
    let mut mentions = Mentions::default();
    for statement in body {
        let Statement::Registers { ty, names, .. } = statement else { continue };
        let wide = ty.bytes() == 16;
        let numbered = names.iter().filter_map(|(name, count)| Some((*name, (*count)?)));
        let families = numbered.filter(|_| !wide);
        mentions
            .families
            .extend(families.map(|(name, count)| (name, File::of_bytes(ty.bytes()), count)));
    }
    let registers = |file: File| {
        let own = mentions.families.iter().filter(|(_, of, _)| *of == file);
        own.map(|(.., count)| *count).fold(0, u32::saturating_add)
    };
    if [File::Pred, File::R32, File::R64].map(registers).iter().all(|count| *count < MANY) {
        return None;
    }
    mentions.read(body);
    Some(mentions.assign())
}

impl<'a> Mentions<'a> {
    fn read(&mut self, body: &[Statement<'a>]) {
        for statement in body {
            self.at += 1;
            match statement {
                Statement::Label(name, _) => {
                    let first = self.labels.entry(name).or_insert(self.at);
                    *first = self.at.min(*first);
                }
                Statement::BranchTargets(_, labels, _) => self.lists.extend(labels),
                Statement::Block(inner) => self.read(inner),
                Statement::Instruction(instruction) => self.instruction(instruction),
                _ => {}
            }
        }
    }

    fn instruction(&mut self, i: &Instruction<'a>) {
        match (i.opcode, &i.operands[..]) {
            ("bra", [Operand::Name(label)]) => self.branches.push((self.at, label)),
            ("brx", _) => self.indexed.push(self.at),
            _ => {}
        }
        let writes = i.guard.is_none()
            && !matches!(i.opcode, "st" | "red" | "call" | "bar" | "barrier" | "brx" | "nanosleep");
        // Sources first: one that is also the result was there before.
        if let Some((guard, _)) = i.guard {
            self.mention(guard, false);
        }
        for operand in i.operands.iter().skip(usize::from(writes)) {
            self.operand(operand, false);
        }
        if let Some(result) = i.operands.first().filter(|_| writes) {
            self.operand(result, true);
        }
    }

    fn operand(&mut self, operand: &Operand<'a>, is_written: bool) {
        match operand {
            Operand::Name(name) => self.mention(name, is_written),
            Operand::Not(name)
            | Operand::Offset(name, _)
            | Operand::Component(name, _)
            | Operand::Address(AddressBase::Name(name), _) => self.mention(name, false),
            Operand::Negated(inner) => self.operand(inner, false),
            Operand::Vector(all) | Operand::Tuple(all) => {
                all.iter().for_each(|operand| self.operand(operand, is_written));
            }
            Operand::Pair(first, second) => {
                self.operand(first, is_written);
                self.operand(second, is_written);
            }
            _ => {}
        }
    }

    fn mention(&mut self, name: &str, is_written: bool) {
        let found = self.families.iter().enumerate().find_map(|(family, &(prefix, _, count))| {
            let digits = name.strip_prefix(prefix)?;
            let number: u32 = digits.parse().ok()?;
            (number < count).then_some((family, number))
        });
        let Some(register) = found else { return };
        let new = Reach { first: self.at, last: self.at, begins_written: is_written };
        self.reaches.entry(register).or_insert(new).last = self.at;
    }

    /// The stretches of text from a label to a branch back to it.
    fn loops(&self) -> Vec<(usize, usize)> {
        let indexed = self.indexed.iter().flat_map(|at| self.lists.iter().map(|list| (*at, *list)));
        let branches = self.branches.iter().copied().chain(indexed);
        let back = branches.filter_map(|(at, label)| Some((*self.labels.get(label)?, at)));
        let mut loops: Vec<_> = back.filter(|(label, at)| label <= at).collect();
        loops.sort_unstable();
        loops.dedup();
        loops
    }

    fn assign(self) -> (SharedSlots<'a>, [u32; 3]) {
        let loops = self.loops();
        let mut all: Vec<_> = self
            .reaches
            .iter()
            .map(|(register, reach)| (extended(*reach, &loops), *register))
            .collect();
        all.sort_unstable();
        let mut slots: Vec<Vec<u32>> =
            self.families.iter().map(|(.., count)| vec![0; *count as usize]).collect();
        // Slots that are free, those in use by their ends, and how many there are, for each file.
        let (mut free, mut used) = ([const { Vec::new() }; 3], [1; 3]);
        let mut busy = [const { BinaryHeap::new() }; 3];
        for ((first, last), (family, number)) in all {
            let file = self.families[family].1 as usize;
            while let Some(&Reverse((end, slot))) = busy[file].peek() {
                if end >= first {
                    break;
                }
                busy[file].pop();
                free[file].push(slot);
            }
            let slot = free[file].pop().unwrap_or_else(|| {
                used[file] += 1;
                used[file] - 1
            });
            busy[file].push(Reverse((last, slot)));
            slots[family][number as usize] = slot;
        }
        let names = self.families.iter().map(|(name, ..)| *name);
        (names.zip(slots).collect(), used)
    }
}

/// The first and the last place at which a register keeps its value.
fn extended(reach: Reach, loops: &[(usize, usize)]) -> (usize, usize) {
    let (mut first, mut last) = (reach.first, reach.last);
    loop {
        let before = (first, last);
        for &(start, end) in loops {
            let is_local = reach.begins_written && start <= first && last <= end;
            if first <= end && start <= last && !is_local {
                (first, last) = (first.min(start), last.max(end));
            }
        }
        if (first, last) == before {
            return before;
        }
    }
}
