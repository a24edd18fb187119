//! Makes programs that have no races, end, and have one result.
//!
//! Each statement knows the threads that execute it ([`Scope`]). Threads exchange and meet only if
//! the whole set does; a thread waits only for one that does not wait for it; cells that several
//! threads change are changed by one commutative operation, or under a lock.

mod calls;
mod collective;
mod endless;

use super::ir::*;
use super::random::Random;

/// The threads that execute a statement.
#[derive(Debug, Clone, Copy)]
struct Scope {
    lanes: u32,
    warps: u32,
    blocks: u32,
    /// All of them do, equally often; without it only statements of one thread are right.
    collective: bool,
    /// A loop around it may be left early.
    jumps: bool,
    /// It is executed once.
    once: bool,
    /// It may hold calls.
    calls: bool,
    /// It is in a function that threads may leave early.
    returns: bool,
    depth: u32,
}

pub(super) struct Generator {
    random: Random,
    program: Program,
    /// Lanes of which threads may not have ended.
    alive: u32,
    /// All threads of these lanes run.
    exact: bool,
    barriers: u32,
    statements: u32,
    /// Calls that the kernel or the function may still get.
    calls: u32,
    /// The functions that any statement may call, once there are any.
    shared: Vec<u32>,
}

const COMPARISONS: [Comparison; 4] =
    [Comparison::Equal, Comparison::NotEqual, Comparison::Less, Comparison::AtLeast];
const COMMUTATIVE: [Commutative; 6] = [
    Commutative::Add,
    Commutative::Min,
    Commutative::Max,
    Commutative::And,
    Commutative::Or,
    Commutative::Xor,
];
const SPACES: [Space; 2] = [Space::Global, Space::Shared];
const ORDERS: [Order; 3] = [Order::Scoped, Order::Fenced, Order::Atomic];
/// Statements of a program, at most.
const STATEMENTS: u32 = 40;

/// Calls in the body of a kernel, at most.
const CALLS: u32 = 4;

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    Generator::new(seed).whole()
}

/// The program of a seed with a statement that most likely never ends.
pub fn endless(seed: u64) -> Program {
    Generator::new(seed).whole_without_end()
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let threads = match random.below(8) {
            0 => 1 + random.below(100),
            1 => 32,
            2 => 128,
            3 => 96,
            _ => 64,
        };
        let program = Program {
            seed,
            blocks: random.pick(&[1, 1, 1, 2, 2, 3, 4]),
            threads,
            body: Vec::new(),
            global_cells: 0,
            shared_cells: 0,
            set_cells: Vec::new(),
            functions: Vec::new(),
        };
        Self {
            random,
            program,
            alive: u32::MAX,
            exact: true,
            barriers: 0,
            statements: 0,
            calls: CALLS,
            shared: Vec::new(),
        }
    }

    fn all(&self) -> Scope {
        Scope {
            lanes: u32::MAX,
            warps: u32::MAX,
            blocks: u32::MAX,
            collective: true,
            jumps: false,
            once: true,
            calls: true,
            returns: false,
            depth: 0,
        }
    }

    fn whole(mut self) -> Program {
        let count = 3 + self.random.below(9);
        self.program.body = self.body(self.all(), count);
        self.program
    }

    fn body(&mut self, scope: Scope, count: u32) -> Vec<Stmt> {
        let mut body = Vec::new();
        for _ in 0..count {
            self.statements += 1;
            if self.statements > STATEMENTS {
                break;
            }
            self.statement(scope, &mut body);
        }
        body
    }

    fn statement(&mut self, scope: Scope, body: &mut Vec<Stmt>) {
        if scope.collective && self.lanes(scope) != 0 && !self.random.one_in(3) {
            return self.collective(scope, body);
        }
        let statement = match self.random.below(if scope.depth < 4 { 19 } else { 7 }) {
            0..3 => self.compute(),
            3 => self.memory(),
            4 => self.reduce(),
            5 if scope.jumps => {
                let cond = self.cond(2);
                if self.random.one_in(2) { Stmt::Break(cond) } else { Stmt::Continue(cond) }
            }
            6 if self.random.one_in(4) => self.exit(scope),
            7..10 => self.branch(scope),
            10..12 => self.repeat(scope),
            12 => self.switch(scope),
            13 => self.lock(scope),
            14..17 if scope.calls && self.calls > 0 => self.call(scope),
            17 if scope.returns => self.early_return(),
            _ => self.compute(),
        };
        body.push(statement);
    }

    /// The lanes of a scope in which threads may still run.
    fn lanes(&self, scope: Scope) -> u32 {
        scope.lanes & self.alive
    }

    /// Lanes that every warp of the scope has.
    fn sure_lanes(&self, scope: Scope) -> u32 {
        let last = self.program.threads % 32;
        let present = if last == 0 { u32::MAX } else { (1 << last) - 1 };
        self.lanes(scope) & present
    }

    fn whole_blocks(&self, scope: Scope) -> bool {
        scope.lanes & self.alive == self.alive && scope.warps == u32::MAX
    }

    fn var(&mut self) -> Var {
        Var(self.random.below(VARIABLES))
    }

    fn operand(&mut self) -> Operand {
        match self.random.below(8) {
            0 => Operand::Word(self.random.below(40)),
            1 => Operand::Word(self.random.word()),
            2 => Operand::Lane,
            3 => Operand::Thread,
            _ => Operand::Var(self.var()),
        }
    }

    fn compute(&mut self) -> Stmt {
        let (d, a) = (self.var(), Operand::Var(self.var()));
        let op = self.random.pick(&[
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::And,
            Binary::Or,
            Binary::Xor,
            Binary::MinSigned,
            Binary::MaxUnsigned,
            Binary::ShiftLeft,
            Binary::ShiftRight,
            Binary::Remainder,
            Binary::CountOnes,
        ]);
        let b = match op {
            Binary::Remainder => Operand::Word(1 + self.random.below(20)),
            _ => self.operand(),
        };
        Stmt::Compute { op, d, a, b }
    }

    fn memory(&mut self) -> Stmt {
        let (space, cell, d) = (self.random.pick(&SPACES), self.random.below(OWN), self.var());
        match self.random.below(5) {
            0 => Stmt::LoadInput { d, index: self.operand() },
            3 => Stmt::LoadLocal { d, index: self.operand() },
            4 => Stmt::StoreLocal { index: self.operand(), a: self.operand() },
            1 => Stmt::LoadOwn { space, cell, d },
            _ => Stmt::StoreOwn { space, cell, a: self.operand() },
        }
    }

    fn reduce(&mut self) -> Stmt {
        let (space, op) = (self.random.pick(&SPACES), self.random.pick(&COMMUTATIVE));
        let cell = self.cells(space, 1);
        if space == Space::Global && matches!(op, Commutative::Min | Commutative::And) {
            self.program.set_cells.push(cell);
        }
        Stmt::Reduce { space, op, cell, a: self.operand() }
    }

    fn cells(&mut self, space: Space, count: u32) -> u32 {
        let used = match space {
            Space::Global => &mut self.program.global_cells,
            Space::Shared => &mut self.program.shared_cells,
        };
        *used += count;
        *used - count
    }

    /// A condition on the thread's own values, with `terms` terms at most.
    fn cond(&mut self, terms: u32) -> Cond {
        if terms > 1 && self.random.one_in(2) {
            let left = 1 + self.random.below(terms - 1);
            let (a, b) = (Box::new(self.cond(left)), Box::new(self.cond(terms - left)));
            return if self.random.one_in(2) { Cond::And(a, b) } else { Cond::Or(a, b) };
        }
        match self.random.below(6) {
            0 => Cond::Lanes(self.random.word()),
            1 => Cond::Not(Box::new(self.cond(1))),
            2 => {
                let (a, b) = (Operand::Lane, Operand::Word(self.random.below(33)));
                Cond::Compare(self.random.pick(&COMPARISONS), a, b)
            }
            _ => {
                let (a, b) = (Operand::Var(self.var()), self.operand());
                Cond::Compare(self.random.pick(&COMPARISONS), a, b)
            }
        }
    }

    fn inner(&self, scope: Scope) -> Scope {
        Scope { depth: scope.depth + 1, ..scope }
    }

    /// Arms by the threads' own values: which threads come there is not known.
    fn alone(&self, scope: Scope) -> Scope {
        Scope { collective: false, once: false, ..self.inner(scope) }
    }

    fn branch(&mut self, scope: Scope) -> Stmt {
        let cond = self.cond(4);
        let arm = self.alone(scope);
        let then = self.small_body(arm);
        let otherwise = if self.random.one_in(2) { self.small_body(arm) } else { Vec::new() };
        Stmt::If { cond, then, otherwise }
    }

    fn small_body(&mut self, scope: Scope) -> Vec<Stmt> {
        let count = 1 + self.random.below(3);
        self.body(scope, count)
    }

    /// A loop with lane-dependent rounds.
    fn repeat(&mut self, scope: Scope) -> Stmt {
        let trips = self.operand();
        let calls = scope.calls && scope.depth == 0;
        let body = self.small_body(Scope { jumps: true, calls, ..self.alone(scope) });
        let tested_last = self.random.one_in(2);
        Stmt::Loop { trips, limit: self.random.pick(&[1, 3, 3, 7]), tested_last, body }
    }

    fn switch(&mut self, scope: Scope) -> Stmt {
        let (on, table) = (self.var(), self.random.one_in(2));
        let count = 2 + self.random.below(3);
        let arms = (0..count).map(|_| Arm {
            body: self.small_body(self.alone(scope)),
            falls: self.random.one_in(3),
        });
        let arms = arms.collect();
        Stmt::Switch { on, table, arms }
    }

    /// Some threads end.
    fn exit(&mut self, scope: Scope) -> Stmt {
        let whole = scope.warps == u32::MAX && scope.blocks == u32::MAX && scope.once;
        if scope.collective && whole && self.random.one_in(2) {
            let set = self.random.word() & self.random.word() & self.lanes(scope);
            if self.alive & !set != 0 {
                self.alive &= !set;
                return Stmt::Exit(Cond::Lanes(set));
            }
        }
        self.exact = false;
        let (a, b) = (self.cond(1), self.cond(2));
        Stmt::Exit(Cond::And(Box::new(a), Box::new(b)))
    }

    fn lock(&mut self, scope: Scope) -> Stmt {
        let space = self.random.pick(&SPACES);
        let lock = self.cells(space, 2);
        let mut body = Vec::new();
        if self.random.one_in(2) {
            // It is one thread at a time, so what is in it is kept short.
            body.push(self.compute());
        }
        if scope.depth < 3 && self.random.one_in(6) {
            body.push(Stmt::If {
                cond: self.cond(2),
                then: vec![self.memory()],
                otherwise: vec![self.compute()],
            });
        }
        let op = self.random.pick(&[Commutative::Add, Commutative::Max, Commutative::Xor]);
        Stmt::Lock {
            space,
            lock,
            op,
            a: self.operand(),
            order: self.random.pick(&ORDERS),
            tries: self.random.one_in(2),
            releases: true,
            body,
        }
    }
}
