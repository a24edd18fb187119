//! Statements of one thread: branches, loops and ends.

use super::*;

impl Flattener<'_> {
    pub(super) fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Compute { op, d, a, b } => self.binary(*op, d.0, a.value(), b.value()),
            Stmt::LoadInput { d, index } => {
                let index = self.compute(Binary::And, index.value(), Value::Word(INPUTS - 1));
                let place = Place { space: Space::Global, index, offset: 0 };
                self.load(d.0, place, Access::Weak);
            }
            Stmt::LoadOwn { space, cell, d } => {
                self.load(d.0, self.own(*space, *cell), Access::Weak);
            }
            Stmt::StoreOwn { space, cell, a } => {
                self.store(self.own(*space, *cell), a.value(), Access::Weak);
            }
            Stmt::Reduce { space, op, cell, a } => {
                let place = self.cell(*space, *cell);
                self.reduce(*op, place, a.value(), Access::Weak);
            }
            Stmt::If { cond, then, otherwise } => self.choose(cond, then, otherwise),
            Stmt::Loop { trips, limit, tested_last, body } => {
                self.repeat(*trips, *limit, *tested_last, body);
            }
            Stmt::Switch { on, table, arms } => self.switch(*on, *table, arms),
            Stmt::Break(cond) => {
                let target = self.loops.last().map(|l| l.end);
                self.leave(cond, target);
            }
            Stmt::Continue(cond) => {
                let target = self.loops.last().map(|l| l.next);
                self.leave(cond, target);
            }
            Stmt::Exit(cond) => {
                let on = self.label();
                self.test(cond, false, on);
                self.finish();
                self.bind(on);
            }
            Stmt::Exchange(swap) => self.exchange(swap),
            Stmt::Return(_)
            | Stmt::Call { .. }
            | Stmt::LoadLocal { .. }
            | Stmt::StoreLocal { .. } => {
                self.call_statement(statement);
            }
            Stmt::Forever { d } => {
                let again = self.label();
                self.bind(again);
                self.binary(Binary::Xor, d.0, Value::Reg(d.0), Value::Word(1));
                self.jump(again);
            }
            sharing => self.sharing(sharing),
        }
    }

    pub(super) fn reduce(&mut self, op: Commutative, place: Place, a: Value, access: Access) {
        self.push(Op::Atomic { op: Atomic::Reduce(op), d: None, place, a, b: ZERO, access });
    }

    /// A jump out of the innermost loop; a no-op outside of loops, to which shrinking may move it.
    fn leave(&mut self, cond: &Cond, target: Option<Target>) {
        if let Some(target) = target {
            self.test(cond, true, target);
        }
    }

    pub(super) fn choose(&mut self, cond: &Cond, then: &[Stmt], otherwise: &[Stmt]) {
        let (other, end) = (self.label(), self.label());
        self.test(cond, false, other);
        self.body(then);
        if !otherwise.is_empty() {
            self.jump(end);
        }
        self.bind(other);
        self.body(otherwise);
        self.bind(end);
    }

    fn repeat(&mut self, trips: Operand, limit: u32, tested_last: bool, body: &[Stmt]) {
        let left = self.register();
        self.binary(Binary::And, left, trips.value(), Value::Word(limit));
        let (again, next, end) = (self.label(), self.label(), self.label());
        self.bind(again);
        if !tested_last {
            self.branch(Comparison::Equal, Value::Reg(left), ZERO, end);
            self.binary(Binary::Sub, left, Value::Reg(left), Value::Word(1));
        }
        self.loops.push(Loop { next: if tested_last { next } else { again }, end });
        self.body(body);
        self.loops.pop();
        self.bind(next);
        if tested_last {
            // A round more than the other form, so that none wraps around.
            let was = self.compute(Binary::Add, Value::Reg(left), ZERO);
            self.binary(Binary::Sub, left, Value::Reg(left), Value::Word(1));
            self.branch(Comparison::NotEqual, was, ZERO, again);
        } else {
            self.jump(again);
        }
        self.bind(end);
    }

    fn switch(&mut self, on: Var, table: bool, arms: &[Arm]) {
        let count = arms.len() as u32;
        let Value::Reg(arm) = self.compute(Binary::Remainder, Value::Reg(on.0), Value::Word(count))
        else {
            unreachable!("a computed value is in a register")
        };
        let labels: Vec<Target> = arms.iter().map(|_| self.label()).collect();
        let end = self.label();
        if table {
            self.push(Op::Table { on: arm, targets: labels.clone() });
        } else {
            for (index, label) in labels.iter().enumerate() {
                let (a, b) = (Value::Reg(arm), Value::Word(index as u32));
                self.branch(Comparison::Equal, a, b, *label);
            }
        }
        for (label, arm) in labels.iter().zip(arms) {
            self.bind(*label);
            self.body(&arm.body);
            if !arm.falls {
                self.jump(end);
            }
        }
        self.bind(end);
    }

    pub(super) fn meet(
        &mut self,
        on: Operand,
        arms: &[MeetArm],
        what: Exchange,
        members: Members,
        b: Operand,
        times: u32,
    ) {
        let selected = self.compute(Binary::Remainder, on.value(), Value::Word(arms.len() as u32));
        let end = self.label();
        for (index, arm) in arms.iter().enumerate() {
            let next = self.label();
            if index + 1 < arms.len() {
                let index = Value::Word(index as u32);
                self.branch(Comparison::NotEqual, selected, index, next);
            }
            self.body(&arm.body);
            let swap = Swap { what, members, d: arm.d, a: arm.a, b };
            if arm.looped {
                let left = self.register();
                self.set(left, Value::Word(times));
                let again = self.label();
                self.bind(again);
                self.exchange(&swap);
                self.binary(Binary::Sub, left, Value::Reg(left), Value::Word(1));
                self.branch(Comparison::NotEqual, Value::Reg(left), ZERO, again);
            } else {
                (0..times).for_each(|_| self.exchange(&swap));
            }
            self.jump(end);
            self.bind(next);
        }
        self.bind(end);
    }

    /// `todo` holds the lanes that remain: the first one's value takes its equals out.
    pub(super) fn peel(&mut self, lanes: u32, a: Var, d: Var) {
        let todo = self.register();
        self.set(todo, Value::Word(lanes));
        let (again, end) = (self.label(), self.label());
        self.bind(again);
        let below = self.compute(Binary::Sub, Value::Reg(todo), Value::Word(1));
        let first = self.register();
        // The bits below the lowest one are as many as its index.
        let lowest = self.compute(Binary::Xor, Value::Reg(todo), below);
        let trailing = self.compute(Binary::ShiftRight, lowest, Value::Word(1));
        self.push(Op::Binary { op: Binary::CountOnes, d: first, a: trailing, b: ZERO });
        let (value, same) = (self.register(), self.register());
        let (of, members) = (Value::Reg(a.0), Value::Reg(todo));
        self.push(Op::Exchange {
            what: Exchange::Index,
            d: value,
            a: of,
            b: Value::Reg(first),
            members,
        });
        // The predicate of the shuffle is 1 and part of the value.
        let other = self.compute(Binary::Sub, Value::Reg(value), Value::Word(1));
        let differs = self.compute(Binary::Xor, other, of);
        let capped = self.compute(Binary::MinUnsigned, differs, Value::Word(1));
        let equal = self.compute(Binary::Xor, capped, Value::Word(1));
        self.push(Op::Exchange { what: Exchange::Ballot, d: same, a: equal, b: ZERO, members });
        self.branch(Comparison::Equal, differs, ZERO, end);
        self.binary(Binary::Add, d.0, Value::Reg(d.0), Value::Word(1));
        let rest = self.compute(Binary::Xor, Value::Reg(same), Value::Word(u32::MAX));
        self.binary(Binary::And, todo, Value::Reg(todo), rest);
        self.jump(again);
        self.bind(end);
    }
}
