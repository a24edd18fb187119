//! From structured statements to a list of operations with jumps, the same for the reference and
//! the PTX.

mod calls;
mod control;
mod sharing;

use super::ir::*;

/// A 32-bit register of a thread. The variables are the first ones.
pub type Reg = u32;

pub const LANE: Reg = VARIABLES;
/// Index in the block.
pub const THREAD: Reg = VARIABLES + 1;
pub const WARP: Reg = VARIABLES + 2;
pub const BLOCK: Reg = VARIABLES + 3;
/// Index in the grid.
pub const GLOBAL: Reg = VARIABLES + 4;
/// How deep a function may call.
pub const DEPTH: Reg = VARIABLES + 5;
const FIRST_FREE: Reg = VARIABLES + 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Reg(Reg),
    Word(u32),
}

/// A word: `index` + `offset` words from the start of its space.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub space: Space,
    pub index: Value,
    pub offset: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Weak,
    Volatile,
    Acquire,
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    Reduce(Commutative),
    Exchange,
    CompareSwap,
}

/// The target of a jump: first a label's number, then an index into the list.
pub type Target = usize;

#[derive(Debug, Clone)]
pub enum Op {
    Binary {
        op: Binary,
        d: Reg,
        a: Value,
        b: Value,
    },
    Branch {
        comparison: Comparison,
        a: Value,
        b: Value,
        target: Target,
    },
    Jump {
        target: Target,
    },
    Table {
        on: Reg,
        targets: Vec<Target>,
    },
    Load {
        d: Reg,
        place: Place,
        access: Access,
    },
    Store {
        a: Value,
        place: Place,
        access: Access,
    },
    /// `d` is the old value; without one it is a `red`. `b` is what to compare with.
    Atomic {
        op: Atomic,
        d: Option<Reg>,
        place: Place,
        a: Value,
        b: Value,
        access: Access,
    },
    /// A predicate that the exchange gives is added to the result.
    Exchange {
        what: Exchange,
        d: Reg,
        a: Value,
        b: Value,
        members: Value,
    },
    Barrier {
        barrier: Barrier,
        id: u32,
        d: Reg,
        a: Value,
    },
    Arrive {
        id: u32,
        threads: u32,
    },
    Fence {
        space: Space,
    },
    Sleep,
    Exit,
    /// Calls the function of the number that is in `on`, or the first.
    Call {
        d: Reg,
        functions: Vec<u32>,
        on: Option<Reg>,
        arguments: Vec<Value>,
    },
    /// With the first variable as the result.
    Return,
    LoadLocal {
        d: Reg,
        index: Value,
    },
    StoreLocal {
        index: Value,
        a: Value,
    },
}

pub struct Flat {
    /// The kernel, then each function.
    pub code: Vec<Op>,
    /// The first index of each function.
    pub functions: Vec<usize>,
    pub registers: u32,
}

/// The label that a loop's `break` and `continue` go to.
struct Loop {
    next: Target,
    end: Target,
}

struct Flattener<'p> {
    program: &'p Program,
    code: Vec<Op>,
    labels: Vec<usize>,
    loops: Vec<Loop>,
    registers: u32,
    in_function: bool,
}

const ZERO: Value = Value::Word(0);

pub fn flatten(program: &Program) -> Flat {
    let mut flat = Flattener {
        program,
        code: Vec::new(),
        labels: Vec::new(),
        loops: Vec::new(),
        registers: FIRST_FREE,
        in_function: false,
    };
    flat.clear_shared();
    flat.body(&program.body);
    flat.finish();
    flat.in_function = true;
    let mut functions = Vec::new();
    for body in &program.functions {
        functions.push(flat.code.len());
        flat.function(body);
    }
    let labels = flat.labels;
    let mut code = flat.code;
    for op in &mut code {
        match op {
            Op::Branch { target, .. } | Op::Jump { target } => *target = labels[*target],
            Op::Table { targets, .. } => targets.iter_mut().for_each(|t| *t = labels[*t]),
            _ => {}
        }
    }
    Flat { code, functions, registers: flat.registers }
}

impl Flattener<'_> {
    fn register(&mut self) -> Reg {
        self.registers += 1;
        self.registers - 1
    }

    fn label(&mut self) -> Target {
        self.labels.push(usize::MAX);
        self.labels.len() - 1
    }

    fn bind(&mut self, label: Target) {
        self.labels[label] = self.code.len();
    }

    fn push(&mut self, op: Op) {
        self.code.push(op);
    }

    fn binary(&mut self, op: Binary, d: Reg, a: Value, b: Value) {
        self.push(Op::Binary { op, d, a, b });
    }

    fn set(&mut self, d: Reg, a: Value) {
        self.binary(Binary::Add, d, a, ZERO);
    }

    /// `a op b` in a new register.
    fn compute(&mut self, op: Binary, a: Value, b: Value) -> Value {
        let d = self.register();
        self.binary(op, d, a, b);
        Value::Reg(d)
    }

    fn branch(&mut self, comparison: Comparison, a: Value, b: Value, target: Target) {
        self.push(Op::Branch { comparison, a, b, target });
    }

    fn jump(&mut self, target: Target) {
        self.push(Op::Jump { target });
    }

    fn load(&mut self, d: Reg, place: Place, access: Access) {
        self.push(Op::Load { d, place, access });
    }

    fn store(&mut self, place: Place, a: Value, access: Access) {
        self.push(Op::Store { a, place, access });
    }

    fn fence(&mut self, space: Space) {
        self.push(Op::Fence { space });
    }

    fn own(&self, space: Space, cell: u32) -> Place {
        let (index, count) = match space {
            Space::Global => (GLOBAL, self.program.total_threads()),
            Space::Shared => (THREAD, self.program.threads),
        };
        let offset = self.program.own(space) + cell * count;
        Place { space, index: Value::Reg(index), offset }
    }

    /// A cell by its number.
    fn cell(&self, space: Space, cell: u32) -> Place {
        Place { space, index: ZERO, offset: self.program.cells(space) + cell }
    }

    /// The cell at an index from this one.
    fn cell_at(&self, space: Space, cell: u32, index: Value) -> Place {
        Place { index, ..self.cell(space, cell) }
    }

    /// Threads read words of shared memory that no thread has written otherwise.
    fn clear_shared(&mut self) {
        let words = self.program.words(Space::Shared);
        let at = self.register();
        self.set(at, Value::Reg(THREAD));
        let (again, end) = (self.label(), self.label());
        self.bind(again);
        self.branch(Comparison::AtLeast, Value::Reg(at), Value::Word(words), end);
        let place = Place { space: Space::Shared, index: Value::Reg(at), offset: 0 };
        self.store(place, ZERO, Access::Weak);
        self.binary(Binary::Add, at, Value::Reg(at), Value::Word(self.program.threads));
        self.jump(again);
        self.bind(end);
        self.barrier(Barrier::Aligned, 0);
    }

    fn barrier(&mut self, barrier: Barrier, id: u32) {
        let d = self.register();
        self.push(Op::Barrier { barrier, id, d, a: ZERO });
    }

    /// Stores the variables and ends the thread.
    fn finish(&mut self) {
        let threads = self.program.total_threads();
        for variable in 0..VARIABLES {
            let offset = self.program.results() + variable * threads;
            let place = Place { space: Space::Global, index: Value::Reg(GLOBAL), offset };
            self.store(place, Value::Reg(variable), Access::Weak);
        }
        self.push(Op::Exit);
    }

    fn body(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    /// Goes to `target` if the condition is `wanted`, else on.
    fn test(&mut self, cond: &Cond, wanted: bool, target: Target) {
        let when = |comparison: Comparison| if wanted { comparison } else { comparison.opposite() };
        match cond {
            Cond::Compare(comparison, a, b) => {
                self.branch(when(*comparison), a.value(), b.value(), target);
            }
            Cond::Lanes(set) => self.in_set(LANE, *set, wanted, target),
            Cond::Warps(set) => self.in_set(WARP, *set, wanted, target),
            Cond::Blocks(set) => self.in_set(BLOCK, *set, wanted, target),
            Cond::Thread(space, thread) => {
                let own = if *space == Space::Global { GLOBAL } else { THREAD };
                self.branch(when(Comparison::Equal), Value::Reg(own), Value::Word(*thread), target);
            }
            Cond::Not(cond) => self.test(cond, !wanted, target),
            // If both must hold to jump, execution continues at the first that fails.
            Cond::And(a, b) if wanted => self.short(a, b, true, target),
            Cond::Or(a, b) if !wanted => self.short(a, b, false, target),
            Cond::And(a, b) | Cond::Or(a, b) => {
                self.test(a, wanted, target);
                self.test(b, wanted, target);
            }
        }
    }

    fn short(&mut self, a: &Cond, b: &Cond, wanted: bool, target: Target) {
        let on = self.label();
        self.test(a, !wanted, on);
        self.test(b, wanted, target);
        self.bind(on);
    }

    fn in_set(&mut self, index: Reg, set: u32, wanted: bool, target: Target) {
        let shifted = self.compute(Binary::ShiftRight, Value::Word(set), Value::Reg(index));
        let bit = self.compute(Binary::And, shifted, Value::Word(1));
        let comparison = if wanted { Comparison::NotEqual } else { Comparison::Equal };
        self.branch(comparison, bit, ZERO, target);
    }

    fn exchange(&mut self, swap: &Swap) {
        let members = self.members(swap.members);
        let (d, a, b) = (swap.d.0, swap.a.value(), swap.b.value());
        self.push(Op::Exchange { what: swap.what, d, a, b, members });
    }

    fn members(&mut self, members: Members) -> Value {
        match members {
            Members::Mask(mask) => Value::Word(mask),
            Members::Tile(lanes) => {
                let first = self.compute(Binary::And, Value::Reg(LANE), Value::Word(!(lanes - 1)));
                self.compute(Binary::ShiftLeft, Value::Word((1 << lanes) - 1), first)
            }
        }
    }
}

impl Operand {
    pub fn value(self) -> Value {
        match self {
            Operand::Var(var) => Value::Reg(var.0),
            Operand::Word(word) => Value::Word(word),
            Operand::Lane => Value::Reg(LANE),
            Operand::Thread => Value::Reg(GLOBAL),
        }
    }
}

impl Comparison {
    pub fn opposite(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::AtLeast,
            Self::AtLeast => Self::Less,
        }
    }
}
