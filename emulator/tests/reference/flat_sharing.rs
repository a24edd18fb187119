//! Statements in which threads depend on each other.

use super::*;

impl Flattener<'_> {
    pub(super) fn sharing(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Meet { on, arms, what, members, b, times } => {
                self.meet(*on, arms, *what, *members, *b, *times);
            }
            Stmt::Peel { lanes, a, d } => self.peel(*lanes, *a, *d),
            Stmt::ShareInWarp { space, cells, members, shift, a, d } => {
                let base = self.warp_base(*space, *cells);
                let sync = Op::Exchange {
                    what: Exchange::Sync,
                    d: 0,
                    a: ZERO,
                    b: ZERO,
                    members: Value::Word(*members),
                };
                self.put(*space, base, LANE, *a);
                self.push(sync.clone());
                self.take(*space, base, LANE, *shift, 32, *d);
                self.push(sync);
            }
            Stmt::ShareInBlock { space, cells, barrier, id, shift, a, d } => {
                let base = self.block_base(*space, *cells);
                self.put(*space, base, THREAD, *a);
                let counted = self.register();
                let (barrier, id, a) = (*barrier, *id, Value::Reg(a.0));
                self.push(Op::Barrier { barrier, id, d: counted, a });
                self.take(*space, base, THREAD, *shift, self.program.threads, *d);
                if barrier == Barrier::Popc {
                    self.binary(Binary::Add, d.0, Value::Reg(d.0), Value::Reg(counted));
                }
                self.push(Op::Barrier { barrier, id, d: counted, a });
            }
            Stmt::ShareInArms { cond, space, cells, id, shift, a, d } => {
                self.share_in_arms(cond, (*space, *cells), *id, *shift, (*a, *d));
            }
            Stmt::ShareInGrid { cells, counter, leader, extra, shift, a, d } => {
                self.put(Space::Global, (ZERO, *cells), GLOBAL, *a);
                self.grid_barrier(*counter, *leader, *extra);
                let threads = self.program.total_threads();
                self.take(Space::Global, (ZERO, *cells), GLOBAL, *shift, threads, *d);
            }
            Stmt::Produce { cells, producers, id, a, d } => {
                self.produce(*cells, *producers, *id, *a, *d);
            }
            Stmt::Lock { .. } => self.lock(statement),
            Stmt::Signal { space, cell, order, a } => self.signal(
                self.cell(*space, *cell),
                self.cell(*space, *cell + 1),
                *order,
                a.value(),
            ),
            Stmt::Await { space, cell, order, sleeps, d } => {
                self.wait(self.cell(*space, *cell + 1), *order, 1, *sleeps);
                self.load(d.0, self.cell(*space, *cell), Access::Weak);
            }
            Stmt::Chain { cells, stride, order, a, d } => {
                self.chain(*cells, *stride, *order, *a, *d);
            }
            Stmt::LastArriver { cells, threads, a } => {
                self.last_arriver(*cells, *threads, a.value());
            }
            other => unreachable!("{other:?} is a statement of one thread"),
        }
    }

    /// The cells of this warp: in global memory those of its block lie before them.
    fn warp_base(&mut self, space: Space, cells: u32) -> (Value, u32) {
        let warp = self.compute(Binary::Mul, Value::Reg(WARP), Value::Word(32));
        match space {
            Space::Shared => (warp, cells),
            Space::Global => {
                let words = Value::Word(32 * self.program.threads.div_ceil(32));
                let block = self.compute(Binary::Mul, Value::Reg(BLOCK), words);
                (self.compute(Binary::Add, warp, block), cells)
            }
        }
    }

    fn block_base(&mut self, space: Space, cells: u32) -> (Value, u32) {
        match space {
            Space::Shared => (ZERO, cells),
            Space::Global => {
                let words = Value::Word(self.program.threads);
                (self.compute(Binary::Mul, Value::Reg(BLOCK), words), cells)
            }
        }
    }

    /// Stores into the own cell of an array.
    fn put(&mut self, space: Space, (base, cells): (Value, u32), own: Reg, a: Var) {
        let index = self.compute(Binary::Add, base, Value::Reg(own));
        self.store(self.cell_at(space, cells, index), Value::Reg(a.0), Access::Weak);
    }

    /// Loads the cell of the `shift`-th thread after this one.
    fn take(
        &mut self,
        space: Space,
        (base, cells): (Value, u32),
        own: Reg,
        shift: u32,
        count: u32,
        d: Var,
    ) {
        let other = self.compute(Binary::Add, Value::Reg(own), Value::Word(shift));
        let other = self.compute(Binary::Remainder, other, Value::Word(count));
        let index = self.compute(Binary::Add, base, other);
        self.load(d.0, self.cell_at(space, cells, index), Access::Weak);
    }

    fn share_in_arms(
        &mut self,
        cond: &Cond,
        (space, cells): (Space, u32),
        id: u32,
        shift: u32,
        (a, d): (Var, Var),
    ) {
        let base = self.block_base(space, cells);
        let (other, end) = (self.label(), self.label());
        self.test(cond, false, other);
        self.put(space, base, THREAD, a);
        self.barrier(Barrier::Unaligned, id);
        self.take(space, base, THREAD, shift, self.program.threads, d);
        self.jump(end);
        self.bind(other);
        self.put(space, base, THREAD, a);
        self.binary(Binary::Add, d.0, Value::Reg(d.0), Value::Word(7));
        self.barrier(Barrier::Unaligned, id);
        self.bind(end);
        self.barrier(Barrier::Unaligned, id);
    }

    fn grid_barrier(&mut self, counter: u32, leader: u32, extra: u32) {
        self.fence(Space::Global);
        self.barrier(Barrier::Aligned, 0);
        let on = self.label();
        self.branch(Comparison::NotEqual, Value::Reg(THREAD), Value::Word(leader), on);
        let counter = self.cell(Space::Global, counter);
        self.reduce(Commutative::Add, counter, Value::Word(1), Access::Release);
        self.wait(counter, Order::Scoped, self.program.blocks + extra, false);
        self.fence(Space::Global);
        self.bind(on);
        self.barrier(Barrier::Aligned, 0);
    }

    fn produce(&mut self, cells: u32, producers: u32, id: u32, a: Var, d: Var) {
        let threads = self.program.threads;
        let (other, end) = (self.label(), self.label());
        self.test(&Cond::Warps(producers), false, other);
        self.put(Space::Shared, (ZERO, cells), THREAD, a);
        self.fence(Space::Shared);
        self.push(Op::Arrive { id, threads });
        self.jump(end);
        self.bind(other);
        self.barrier(Barrier::Counted(threads), id);
        // Of a producer, whichever warp it is.
        let first = producers.trailing_zeros();
        let index = self.compute(Binary::Add, Value::Reg(LANE), Value::Word(32 * first));
        self.load(d.0, self.cell_at(Space::Shared, cells, index), Access::Weak);
        self.bind(end);
    }

    fn lock(&mut self, statement: &Stmt) {
        let Stmt::Lock { space, lock, op, a, order, tries, releases, body } = statement else {
            unreachable!("only locks come here")
        };
        let (word, cell) = (self.cell(*space, *lock), self.cell(*space, *lock + 1));
        let scoped = *order == Order::Scoped;
        let (again, end) = (self.label(), self.label());
        let (done, old) = (self.register(), self.register());
        self.set(done, ZERO);
        self.bind(again);
        if *tries {
            self.branch(Comparison::NotEqual, Value::Reg(done), ZERO, end);
        }
        let access = if scoped { Access::Acquire } else { Access::Weak };
        let (a_word, b) = (Value::Word(1), ZERO);
        self.push(Op::Atomic {
            op: Atomic::CompareSwap,
            d: Some(old),
            place: word,
            a: a_word,
            b,
            access,
        });
        self.branch(Comparison::NotEqual, Value::Reg(old), ZERO, again);
        if !scoped {
            self.fence(*space);
        }
        self.body(body);
        let value = self.register();
        let access = if *order == Order::Fenced { Access::Volatile } else { Access::Weak };
        self.load(value, cell, access);
        self.binary(op.binary(), value, Value::Reg(value), a.value());
        self.store(cell, Value::Reg(value), access);
        if *releases {
            self.release(word, *order);
        }
        if *tries {
            self.set(done, Value::Word(1));
            self.jump(again);
        }
        self.bind(end);
    }

    fn release(&mut self, place: Place, order: Order) {
        match order {
            Order::Scoped => self.store(place, ZERO, Access::Release),
            Order::Fenced | Order::Atomic => {
                self.fence(place.space);
                let d = Some(self.register());
                let (op, access) = (Atomic::Exchange, Access::Weak);
                self.push(Op::Atomic { op, d, place, a: ZERO, b: ZERO, access });
            }
        }
    }

    fn signal(&mut self, data: Place, flag: Place, order: Order, a: Value) {
        self.store(data, a, Access::Weak);
        match order {
            Order::Scoped => self.store(flag, Value::Word(1), Access::Release),
            Order::Fenced => {
                self.fence(flag.space);
                self.store(flag, Value::Word(1), Access::Volatile);
            }
            Order::Atomic => {
                self.fence(flag.space);
                self.reduce(Commutative::Or, flag, Value::Word(1), Access::Weak);
            }
        }
    }

    /// Spins while the flag is less than `wanted`.
    fn wait(&mut self, flag: Place, order: Order, wanted: u32, sleeps: bool) {
        let again = self.label();
        let seen = self.register();
        self.bind(again);
        if sleeps {
            self.push(Op::Sleep);
        }
        match order {
            Order::Scoped => self.load(seen, flag, Access::Acquire),
            Order::Fenced => self.load(seen, flag, Access::Volatile),
            Order::Atomic => {
                let op = Atomic::Reduce(Commutative::Add);
                let (d, access) = (Some(seen), Access::Weak);
                self.push(Op::Atomic { op, d, place: flag, a: ZERO, b: ZERO, access });
            }
        }
        self.branch(Comparison::Less, Value::Reg(seen), Value::Word(wanted), again);
        if order != Order::Scoped {
            self.fence(flag.space);
        }
    }

    fn chain(&mut self, cells: u32, stride: u32, order: Order, a: Var, d: Var) {
        let count = self.program.total_threads().div_ceil(stride);
        let on = self.label();
        let place = self.compute(Binary::Remainder, Value::Reg(GLOBAL), Value::Word(stride));
        self.branch(Comparison::NotEqual, place, ZERO, on);
        let shift = Value::Word(stride.trailing_zeros());
        let index = self.compute(Binary::ShiftRight, Value::Reg(GLOBAL), shift);
        let sum = self.register();
        self.set(sum, Value::Reg(a.0));
        let first = self.label();
        self.branch(Comparison::Equal, index, ZERO, first);
        let before = self.compute(Binary::Sub, index, Value::Word(1));
        self.wait(self.cell_at(Space::Global, cells + count, before), order, 1, false);
        let value = self.register();
        self.load(value, self.cell_at(Space::Global, cells, before), Access::Weak);
        self.binary(Binary::Add, sum, Value::Reg(sum), Value::Reg(value));
        self.bind(first);
        let data = self.cell_at(Space::Global, cells, index);
        let flag = self.cell_at(Space::Global, cells + count, index);
        self.signal(data, flag, order, Value::Reg(sum));
        self.set(d.0, Value::Reg(sum));
        self.bind(on);
    }

    /// Cells: the sum, the arrivals, the result.
    fn last_arriver(&mut self, cells: u32, threads: u32, a: Value) {
        let [sum, arrivals, result] = [0, 1, 2].map(|n| self.cell(Space::Global, cells + n));
        self.reduce(Commutative::Add, sum, a, Access::Weak);
        self.fence(Space::Global);
        let ticket = self.register();
        let (op, d, access) = (Atomic::Reduce(Commutative::Add), Some(ticket), Access::Weak);
        self.push(Op::Atomic { op, d, place: arrivals, a: Value::Word(1), b: ZERO, access });
        let on = self.label();
        let last = Value::Word(threads - 1);
        self.branch(Comparison::NotEqual, Value::Reg(ticket), last, on);
        self.fence(Space::Global);
        let total = self.register();
        self.load(total, sum, Access::Volatile);
        self.store(result, Value::Reg(total), Access::Weak);
        self.bind(on);
    }
}

impl Commutative {
    pub fn binary(self) -> Binary {
        match self {
            Self::Add => Binary::Add,
            Self::Min => Binary::MinUnsigned,
            Self::Max => Binary::MaxUnsigned,
            Self::And => Binary::And,
            Self::Or => Binary::Or,
            Self::Xor => Binary::Xor,
        }
    }
}
