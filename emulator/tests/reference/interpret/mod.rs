//! The reference: every thread by itself, in turns, without warps.
//!
//! Input: operations, the size of the grid, global memory. Output: global memory when all threads
//! have ended, or that they never end. A thread at a `.sync` exchange waits until all members that
//! have not ended wait at an exchange of the same kind and members; one at a barrier, until all
//! threads of the block that have not ended do, or as many as the barrier counts.

mod calls;
mod meeting;

use super::flat::*;
use super::ir::*;
use super::random::Random;

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Finished(Vec<u32>),
    /// No thread can ever change anything again.
    Endless,
    /// It ran for longer than any program should.
    Limit,
}

/// In which order threads take turns, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    pub turn: u32,
    pub seed: u64,
}

/// Operations of all threads in a run.
const LIMIT: u64 = 200_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    Exchanges,
    AtBarrier,
    Ended,
}

/// The state with which a thread continues after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    pc: usize,
    d: Reg,
    registers: Vec<u32>,
    local: [u32; LOCAL as usize],
}

/// The position and state of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    pc: usize,
    registers: Vec<u32>,
    local: [u32; LOCAL as usize],
    frames: Vec<Frame>,
}

struct Thread {
    pc: usize,
    registers: Vec<u32>,
    local: [u32; LOCAL as usize],
    frames: Vec<Frame>,
    state: State,
    /// Since nothing changed: its position at a backward jump, and the next jump to keep.
    seen: Option<(u64, Position)>,
    jumps: u32,
    /// When nothing had changed, it came round to the same place with the same registers.
    repeats: Option<u64>,
}

struct Machine<'m> {
    code: &'m [Op],
    functions: &'m [usize],
    threads: Vec<Thread>,
    per_block: usize,
    global: Vec<u32>,
    shared: Vec<Vec<u32>>,
    /// Threads that have arrived at each barrier of each block without waiting.
    arrived: Vec<[u32; 16]>,
    /// Counts changes that another thread can see.
    epoch: u64,
    /// There was none in the last round.
    quiet: bool,
    steps: u64,
}

pub fn run(program: &Program, flat: &Flat, memory: Vec<u32>, schedule: Schedule) -> Outcome {
    let per_block = program.threads as usize;
    let blocks = program.blocks as usize;
    let thread = |index: usize| {
        let mut registers = vec![0; flat.registers as usize];
        let (block, thread) = (index / per_block, index % per_block);
        registers[LANE as usize] = (thread % 32) as u32;
        registers[THREAD as usize] = thread as u32;
        registers[WARP as usize] = (thread / 32) as u32;
        registers[BLOCK as usize] = block as u32;
        registers[GLOBAL as usize] = index as u32;
        for variable in 0..VARIABLES {
            registers[variable as usize] = initial(index as u32, variable);
        }
        Thread {
            pc: 0,
            registers,
            local: [0; LOCAL as usize],
            frames: Vec::new(),
            state: State::Runs,
            seen: None,
            jumps: 0,
            repeats: None,
        }
    };
    let machine = Machine {
        code: &flat.code,
        functions: &flat.functions,
        threads: (0..blocks * per_block).map(thread).collect(),
        per_block,
        global: memory,
        shared: vec![vec![0xdead_beef; program.words(Space::Shared) as usize]; blocks],
        arrived: vec![[0; 16]; blocks],
        epoch: 0,
        quiet: false,
        steps: 0,
    };
    machine.run(schedule)
}

impl Machine<'_> {
    fn run(mut self, schedule: Schedule) -> Outcome {
        let mut random = Random::new(schedule.seed);
        let count = self.threads.len();
        loop {
            let (mut stuck, before) = (true, self.epoch);
            let first = random.below(count as u32) as usize;
            for index in (0..count).map(|index| (first + index) % count) {
                let turn = 1 + random.below(schedule.turn);
                for _ in 0..turn {
                    let pc = self.threads[index].pc;
                    if self.threads[index].state != State::Runs {
                        break;
                    }
                    self.step(index);
                    // Whoever waits does so once a turn.
                    if self.threads[index].pc < pc {
                        break;
                    }
                }
            }
            for thread in &self.threads {
                stuck &= thread.state != State::Runs || thread.repeats == Some(self.epoch);
            }
            self.quiet = self.epoch == before;
            if self.threads.iter().all(|thread| thread.state == State::Ended) {
                return Outcome::Finished(self.global);
            }
            if stuck {
                return Outcome::Endless;
            }
            if self.steps > LIMIT {
                return Outcome::Limit;
            }
        }
    }

    fn value(&self, index: usize, value: Value) -> u32 {
        match value {
            Value::Reg(register) => self.threads[index].registers[register as usize],
            Value::Word(word) => word,
        }
    }

    fn word(&mut self, index: usize, place: Place) -> &mut u32 {
        let at = (self.value(index, place.index) + place.offset) as usize;
        match place.space {
            Space::Global => &mut self.global[at],
            Space::Shared => &mut self.shared[index / self.per_block][at],
        }
    }

    fn write(&mut self, index: usize, place: Place, value: u32) {
        let word = self.word(index, place);
        if *word != value {
            *word = value;
            self.epoch += 1;
        }
    }

    fn jump(&mut self, index: usize, target: usize) {
        let (epoch, thread) = (self.epoch, &mut self.threads[index]);
        if target < thread.pc && self.quiet {
            match &thread.seen {
                Some((when, position)) if *when == epoch => {
                    if thread.is_at(target, position) {
                        thread.repeats = Some(epoch);
                    }
                    thread.jumps += 1;
                }
                _ => thread.jumps = 1,
            }
            if thread.jumps.is_power_of_two() && thread.repeats != Some(epoch) {
                thread.seen = Some((epoch, thread.position(target)));
            }
        }
        thread.pc = target;
    }

    fn step(&mut self, index: usize) {
        self.steps += 1;
        let code = self.code;
        let pc = self.threads[index].pc;
        let value = |value: Value| self.value(index, value);
        match &code[pc] {
            Op::Branch { comparison, a, b, target } => {
                let taken = comparison.holds(value(*a), value(*b));
                return self.jump(index, if taken { *target } else { pc + 1 });
            }
            Op::Jump { target } => return self.jump(index, *target),
            Op::Table { on, targets } => {
                let entry = value(Value::Reg(*on)) as usize;
                return self.jump(index, targets[entry]);
            }
            Op::Binary { op, d, a, b } => {
                let result = op.apply(value(*a), value(*b));
                self.threads[index].registers[*d as usize] = result;
            }
            Op::Load { d, place, .. } => {
                let result = *self.word(index, *place);
                self.threads[index].registers[*d as usize] = result;
            }
            Op::Store { a, place, .. } => {
                let a = value(*a);
                self.write(index, *place, a);
            }
            Op::Atomic { op, d, place, a, b, .. } => {
                let (a, b) = (value(*a), value(*b));
                let old = *self.word(index, *place);
                let new = match op {
                    Atomic::Reduce(op) => op.binary().apply(old, a),
                    Atomic::Exchange => a,
                    Atomic::CompareSwap => [old, a][usize::from(old == b)],
                };
                self.write(index, *place, new);
                if let Some(d) = d {
                    self.threads[index].registers[*d as usize] = old;
                }
            }
            Op::Exchange { .. } => return self.wait(index, State::Exchanges),
            Op::Barrier { .. } => return self.wait(index, State::AtBarrier),
            Op::Arrive { id, .. } => {
                self.arrived[index / self.per_block][*id as usize] += 1;
                self.epoch += 1;
                self.threads[index].pc = pc + 1;
                return self.release_barriers(index / self.per_block);
            }
            Op::Fence { .. } | Op::Sleep => {}
            Op::Exit => return self.wait(index, State::Ended),
            Op::Call { .. } => return self.call(index),
            Op::Return => return self.threads[index].ret(),
            Op::LoadLocal { .. } | Op::StoreLocal { .. } => self.access_local(index, &code[pc]),
        }
        self.threads[index].pc = pc + 1;
    }

    /// The thread stops, which others may wait for.
    fn wait(&mut self, index: usize, state: State) {
        self.threads[index].state = state;
        self.epoch += 1;
        let block = index / self.per_block;
        let warp = index % self.per_block / 32;
        self.serve_exchanges(block, warp);
        self.release_barriers(block);
    }
}

impl Comparison {
    pub fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Self::Equal => a == b,
            Self::NotEqual => a != b,
            Self::Less => a < b,
            Self::AtLeast => a >= b,
        }
    }
}

impl Binary {
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::MinSigned => (a as i32).min(b as i32) as u32,
            Self::MinUnsigned => a.min(b),
            Self::MaxUnsigned => a.max(b),
            Self::ShiftLeft => a.checked_shl(b).unwrap_or(0),
            Self::ShiftRight => a.checked_shr(b).unwrap_or(0),
            Self::Remainder => a % b,
            Self::CountOnes => a.count_ones(),
        }
    }
}
