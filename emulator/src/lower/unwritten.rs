//! The registers that a kernel may read before it has written them.
//!
//! PTX gives them no value. They are zero when a block begins, so that nothing depends on the block
//! that ran before. All other registers keep their old values: on every way to a read is a write.
//!
//! Input: the code of a kernel. Output: the registers, by file and number.

use super::blocks::{Flow, split};
use super::inst::{ControlOp, File, Guard, Inst, Op, Register, Role, Slot};
use std::collections::HashSet;

/// A place in a walk over the tree of dominators.
enum Step {
    Enter(usize),
    /// Nothing that the block wrote is known to be written any more.
    Leave(Vec<Register>),
}

/// The registers that `code`, all that a kernel reaches, may read unwritten, of `used` registers of
/// each file. `initial`: those that a warp begins with.
pub fn find(
    code: &[Inst],
    tables: &[Vec<u32>],
    used: [usize; 3],
    initial: impl Iterator<Item = usize>,
) -> Vec<(File, usize)> {
    if code.iter().any(|inst| is_opaque(&inst.op)) {
        let files = [File::Pred, File::R32, File::R64];
        return files
            .into_iter()
            .flat_map(|file| (0..used[file as usize]).map(move |register| (file, register)))
            .collect();
    }
    let blocks = split(code, 0, tables);
    let dominators = Flow::new(&blocks).dominators;
    let mut below = vec![Vec::new(); blocks.len()];
    for (block, above) in dominators.iter().enumerate() {
        if let Some(above) = above {
            below[*above].push(block);
        }
    }
    let mut written: HashSet<Register> =
        initial.map(|register| (File::R32, Slot::private(register))).collect();
    let (mut found, mut steps) = (Vec::new(), vec![Step::Enter(0)]);
    while let Some(step) = steps.pop() {
        match step {
            Step::Leave(registers) => registers.iter().for_each(|register| {
                written.remove(register);
            }),
            Step::Enter(block) => {
                let instructions = &code[blocks[block].start..blocks[block].end];
                steps.push(Step::Leave(follow(instructions, &mut written, &mut found)));
                steps.extend(below[block].iter().map(|&next| Step::Enter(next)));
            }
        }
    }
    let private = found.iter().filter(|(_, slot)| slot.0 & Slot::PRIVATE != 0);
    private.map(|&(file, slot)| (file, slot.index(0))).collect()
}

/// Goes through a block. Returns the registers that it is the first to write.
fn follow(
    code: &[Inst],
    written: &mut HashSet<Register>,
    found: &mut Vec<Register>,
) -> Vec<Register> {
    let mut first = Vec::new();
    for inst in code {
        // Zero from the start, a register that is found counts as written everywhere.
        let reads = inst.registers(Role::Read).into_iter();
        found.extend(reads.filter(|register| written.insert(*register)));
        let writes = inst.registers(Role::Write).into_iter();
        let writes = writes.filter(|_| inst.guard == Guard::Always);
        first.extend(writes.filter(|register| written.insert(*register)));
    }
    first
}

/// Whether an operation reads registers that it does not show.
fn is_opaque(op: &Op) -> bool {
    let Op::Control(op) = op else { return false };
    let is_call = matches!(
        op,
        ControlOp::Call { .. } | ControlOp::CallWithFrame { .. } | ControlOp::CallIndirect { .. }
    );
    is_call || op.words_of_driver_call().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::inst::ArithOp;

    fn mov(d: usize, a: usize) -> Inst {
        let (d, a) = (Slot::private(d), Slot::private(a));
        Inst::new(Guard::Always, ArithOp::Mov32 { d, a }.into())
    }

    fn branch(target: u32) -> Inst {
        let op = Op::Branch { target, convergence: 0 };
        Inst::new(Guard::If(Slot::private(1)), op)
    }

    fn registers(code: &[Inst]) -> Vec<usize> {
        let found = find(code, &[], [9; 3], [1].into_iter());
        found.iter().filter(|(file, _)| *file == File::R32).map(|(_, at)| *at).collect()
    }

    #[test]
    fn a_write_on_some_paths_leaves_the_register_unwritten() {
        let end = Inst::new(Guard::Always, ControlOp::Exit.into());
        // Register 1 is there from the start, and 2 written on every way to its reads.
        let code = [mov(2, 1), branch(3), mov(3, 2), mov(4, 2), end];
        assert_eq!(registers(&code), []);
        let code = [mov(2, 1), branch(3), mov(3, 2), mov(4, 3), end];
        assert_eq!(registers(&code), [3]);
        // One that is written after the read, and one by some lanes only.
        let mut code = [mov(2, 3), mov(3, 2), mov(4, 1), mov(5, 4), end];
        code[2].guard = Guard::Unless(Slot::private(1));
        assert_eq!(registers(&code), [3, 4]);
    }

    #[test]
    fn a_write_on_one_branch_does_not_cover_the_other() {
        let end = Inst::new(Guard::Always, ControlOp::Exit.into());
        let code = [branch(3), mov(2, 1), end, mov(3, 2), end];
        assert_eq!(registers(&code), [2]);
    }

    #[test]
    fn a_call_may_read_every_register() {
        let call = Inst::new(Guard::Always, ControlOp::Call { target: 0, copies: 0 }.into());
        assert_eq!(registers(&[call]), (0..9).collect::<Vec<_>>());
    }
}
