//! Calls: a thread keeps all of its registers for the return.

use super::*;

/// Registers that a function has from its beginning, in addition to its parameters.
const SPECIAL: [Reg; 5] = [LANE, THREAD, WARP, BLOCK, GLOBAL];

impl Machine<'_> {
    pub(super) fn call(&mut self, index: usize) {
        let code = self.code;
        let Op::Call { d, functions, on, arguments } = &code[self.threads[index].pc] else {
            unreachable!("only calls come here")
        };
        let selected = on.map_or(0, |on| self.value(index, Value::Reg(on)));
        let values: Vec<u32> = arguments.iter().map(|value| self.value(index, *value)).collect();
        let thread = &mut self.threads[index];
        let mut registers = vec![0; thread.registers.len()];
        for special in SPECIAL {
            registers[special as usize] = thread.registers[special as usize];
        }
        let parameters = (0..PARAMETERS).chain([DEPTH]);
        parameters.zip(values).for_each(|(register, value)| registers[register as usize] = value);
        let registers = std::mem::replace(&mut thread.registers, registers);
        let local = std::mem::take(&mut thread.local);
        thread.frames.push(Frame { pc: thread.pc + 1, d: *d, registers, local });
        thread.pc = self.functions[functions[selected as usize] as usize];
    }

    pub(super) fn access_local(&mut self, index: usize, op: &Op) {
        match op {
            Op::LoadLocal { d, index: word } => {
                let word = self.value(index, *word) as usize;
                let thread = &mut self.threads[index];
                thread.registers[*d as usize] = thread.local[word];
            }
            Op::StoreLocal { index: word, a } => {
                let (word, a) = (self.value(index, *word) as usize, self.value(index, *a));
                self.threads[index].local[word] = a;
            }
            _ => unreachable!("only accesses of local memory come here"),
        }
    }
}

impl Thread {
    pub(super) fn ret(&mut self) {
        let frame = self.frames.pop().expect("only functions return");
        let result = self.registers[0];
        (self.pc, self.registers, self.local) = (frame.pc, frame.registers, frame.local);
        self.registers[frame.d as usize] = result;
    }

    /// Its position after a jump to `target`.
    pub(super) fn position(&self, target: usize) -> Position {
        Position {
            pc: target,
            registers: self.registers.clone(),
            local: self.local,
            frames: self.frames.clone(),
        }
    }

    /// Whether it is there when it has gone to `target`.
    pub(super) fn is_at(&self, target: usize, position: &Position) -> bool {
        position.pc == target
            && position.registers == self.registers
            && position.local == self.local
            && position.frames == self.frames
    }
}
