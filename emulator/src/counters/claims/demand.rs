//! The bits of registers that have an effect.
//!
//! Input: a program. Output: for each register the bits that a store, an address, an atomic, a
//! barrier or a branch before one of these may depend on, after ptxas has folded results with known
//! bits. A register may have an effect through several writers; then each of them counts.

use super::bits::{Definition, KnownBits, combinations};
use super::control::{Control, is_on};
use super::forms::{integer_bits, results};
use super::values::Values;
use super::wires::{Compare, Form, ones, whole, width};
use crate::lower::blocks::Block;
use crate::lower::inst::{
    Cmp, ControlOp, ExchangeOp, File, Guard, Inst, Op, Register, Role, TransferOp,
};
use crate::lower::program::Program;
use std::collections::HashMap;

/// The bits of registers that have an effect.
pub struct Demand<'p> {
    program: &'p Program,
    definitions: Vec<Definition>,
    known: KnownBits<'p>,
    control: Control,
    /// The last instruction of each block.
    last: Vec<usize>,
    /// Whether something that a block does has an effect.
    active: Vec<bool>,
    bits: HashMap<Register, u64>,
    open: Vec<Register>,
}

impl<'p> Demand<'p> {
    /// Follows the effects of a program backwards.
    pub fn new(program: &'p Program, blocks: &[Block], values: &'p Values<'p>) -> Self {
        let definitions = definitions(program, values);
        let known = KnownBits::new(program, values, &definitions);
        let control = Control::new(program, blocks, &known);
        let last = blocks.iter().map(|block| block.end - 1).collect();
        let (active, bits, open) = (vec![false; blocks.len()], HashMap::new(), Vec::new());
        let mut this = Self { program, definitions, known, control, last, active, bits, open };
        for (pc, inst) in program.code.iter().enumerate() {
            if has_effect(inst) && this.runs(pc) {
                this.effect(pc, inst);
            }
        }
        this.close();
        this
    }

    /// The bits of a register that have an effect.
    pub fn get(&self, register: Register) -> u64 {
        self.bits.get(&register).copied().unwrap_or(0)
    }

    /// Whether an instruction may run.
    fn runs(&self, pc: usize) -> bool {
        self.control.block[pc].is_some()
            && is_on(&self.program.code[pc], &self.known) != Some(false)
    }

    fn effect(&mut self, pc: usize, inst: &Inst) {
        self.activate(pc);
        let stored = match inst.op {
            Op::Store { element, .. } => ones(8 * u32::from(element.bytes)),
            _ => u64::MAX,
        };
        let address = match inst.op {
            Op::Store { address, .. } => Some((File::by_width(address.wide), address.base)),
            _ => None,
        };
        for read in inst.op.registers(Role::Read) {
            self.demand(read, if Some(read) == address { u64::MAX } else { stored });
        }
        if let Op::Control(op) = inst.op
            && let Some(arguments) = op.words_of_driver_call()
        {
            for (word, _) in &self.program.copies[arguments as usize] {
                self.demand((File::R32, *word), u64::MAX);
            }
        }
    }

    /// An instruction has an effect. Its guard has one too, and every branch that decides whether
    /// it runs.
    fn activate(&mut self, pc: usize) {
        self.demand_guard(pc);
        let mut blocks: Vec<usize> = self.control.block[pc].into_iter().collect();
        while let Some(block) = blocks.pop() {
            if std::mem::replace(&mut self.active[block], true) {
                continue;
            }
            for deciding in self.control.deciding[block].clone() {
                let branch = self.last[deciding];
                self.demand_guard(branch);
                for read in self.program.code[branch].op.registers(Role::Read) {
                    self.demand(read, u64::MAX);
                }
                blocks.push(deciding);
            }
        }
    }

    fn demand_guard(&mut self, pc: usize) {
        if let Guard::If(slot) | Guard::Unless(slot) = self.program.code[pc].guard {
            self.demand((File::Pred, slot), 1);
        }
    }

    /// Bits of a register have an effect, unless they are known.
    fn demand(&mut self, register: Register, bits: u64) {
        let bits = bits & ones(width(register.0)) & !self.known.get(register).known();
        let old = self.bits.entry(register).or_insert(0);
        if bits & !*old != 0 {
            *old |= bits;
            self.open.push(register);
        }
    }

    fn close(&mut self) {
        let mut writers: HashMap<Register, Vec<usize>> = HashMap::new();
        for (at, definition) in self.definitions.iter().enumerate() {
            writers.entry(definition.d).or_default().push(at);
        }
        while let Some(register) = self.open.pop() {
            let bits = self.get(register);
            for &at in writers.get(&register).map_or(&[][..], Vec::as_slice) {
                let definition = &self.definitions[at];
                if let Some(pc) = definition.pc {
                    if !self.runs(pc) {
                        continue;
                    }
                    self.activate(pc);
                }
                for (source, bits) in self.sources(&self.definitions[at].form, bits) {
                    self.demand(source, bits);
                }
            }
        }
    }

    /// The bits of its sources that bits of a result depend on.
    fn sources(&self, form: &Form, bits: u64) -> Vec<(Register, u64)> {
        let known = |register| self.known.get(register);
        // All bits up to the highest.
        let below = ones(64 - bits.leading_zeros());
        match form {
            Form::Wires(wires) => wires
                .iter()
                .map(|wire| (wire.from, (bits >> wire.to & ones(wire.count)) << wire.low))
                .collect(),
            Form::Logic { table, sources } => {
                let possible = combinations(sources, sources.map(known));
                (0..3).map(|at| (sources[at], bits & decided_by(at, *table, possible))).collect()
            }
            Form::Select { p, a, b } => {
                let (p_bits, a_bits, b_bits) = (known(*p), known(*a), known(*b));
                if p_bits.known() & 1 != 0 {
                    return vec![(if p_bits.ones & 1 != 0 { *a } else { *b }, bits)];
                }
                let same = a_bits.zeros & b_bits.zeros | a_bits.ones & b_bits.ones;
                let decides = a != b && bits & !same != 0;
                vec![(*a, bits), (*b, bits), (*p, u64::from(decides))]
            }
            Form::Sum(addends) => addends.iter().map(|&addend| (addend, below)).collect(),
            Form::Product { factors: [a, b], low, added } => {
                let is_zero =
                    |register: &Register| known(*register).zeros | !ones(width(register.0));
                let zero = is_zero(a) == u64::MAX || is_zero(b) == u64::MAX;
                let factor = |other: &Register| match low {
                    true => below >> known(*other).zeros.trailing_ones().min(63),
                    false => u64::MAX,
                };
                let added = added.map(|added| (added, if zero { bits } else { below }));
                let factors = [(*a, factor(b)), (*b, factor(a))];
                factors.into_iter().filter(|_| !zero).chain(added).collect()
            }
            Form::Compare(compare) => self.compared(compare),
            Form::Opaque { reads, .. } => reads.iter().map(|&read| (read, u64::MAX)).collect(),
        }
    }

    /// Of a value that is compared with 0 by its sign, ptxas keeps that bit alone.
    fn compared(&self, compare: &Compare) -> Vec<(Register, u64)> {
        let field = integer_bits(compare.ty).map_or(u64::MAX, |(bits, _)| ones(bits));
        let by_sign = matches!(compare.cmp, Cmp::Lt | Cmp::Ge)
            && integer_bits(compare.ty).is_some_and(|(_, signed)| signed)
            && self.known.get(compare.b).zeros & field == field;
        let a = if by_sign { field & !(field >> 1) } else { field };
        let with = compare.with.map(|(_, c, _)| (c, 1));
        [(compare.a, a), (compare.b, field)].into_iter().chain(with).collect()
    }
}

/// The bits of a result of a lookup table that operand `at` decides for some possible values of the
/// others.
fn decided_by(at: usize, table: u8, possible: [u64; 8]) -> u64 {
    let flip = 4 >> at;
    (0..8).filter(|index| index & flip == 0).fold(0, |decided, index| {
        let differs = (table >> index ^ table >> (index | flip)) & 1 == 1;
        // Operands in the same register change together.
        if differs { decided | possible[index] | possible[index | flip] } else { decided }
    })
}

/// The writers of a program's registers.
fn definitions(program: &Program, values: &Values<'_>) -> Vec<Definition> {
    let mut found = Vec::new();
    for (pc, inst) in program.code.iter().enumerate() {
        let of_instruction = results(inst, values).into_iter();
        found.extend(of_instruction.map(|(d, form)| Definition { pc: Some(pc), d, form }));
        if let Op::Control(ControlOp::Call { copies, .. }) = inst.op {
            found.extend(program.copies[copies as usize].iter().map(|&(from, to)| {
                let form = whole((File::R32, from));
                Definition { pc: Some(pc), d: (File::R32, to), form }
            }));
        }
    }
    found
}

/// Whether an instruction does more than to compute registers.
fn has_effect(inst: &Inst) -> bool {
    match &inst.op {
        Op::Arith(_) | Op::Integer(_) | Op::Float(_) | Op::Move(_) | Op::Mma(_) => false,
        Op::Exchange(exchange) => matches!(exchange, ExchangeOp::WarpSync { .. }),
        Op::Transfer(TransferOp::Transpose { .. }) => false,
        Op::Load { element, .. } => element.is_strong(),
        // The instructions that they lead to have the effect.
        Op::Branch { .. } => false,
        Op::Control(ControlOp::BranchIndexed { .. } | ControlOp::Return | ControlOp::Exit) => false,
        Op::Nop | Op::Sleep => false,
        _ => true,
    }
}
