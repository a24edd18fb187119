//! Statements in which the threads of a scope depend on each other.

use super::*;

impl Generator {
    pub(super) fn collective(&mut self, scope: Scope, body: &mut Vec<Stmt>) {
        let whole = self.whole_blocks(scope);
        let once = scope.once && self.exact;
        let statement = match self.random.below(22) {
            0..3 => Stmt::Exchange(self.swap(scope)),
            3..6 => self.meet(scope),
            6 if self.exact && self.sure_lanes(scope) != 0 => self.peel(scope),
            7 => self.share_in_warp(scope),
            8..10 if whole => self.share_in_block(scope),
            10 if whole => self.share_in_arms(),
            11 if whole && once && scope.blocks == u32::MAX => return self.in_grid(scope, body),
            12..15 if scope.depth < 4 => return self.split(scope, body),
            15 if scope.depth < 4 => self.rounds(scope),
            16..18 if once && self.sure_lanes(scope) != 0 => return self.hand_over(scope, body),
            18 if whole && once && self.full() && self.program.threads > 32 => self.produce(),
            19..21 if scope.calls && scope.depth < 3 && self.calls > 0 => {
                self.collective_call(scope)
            }
            _ => self.lock(scope),
        };
        body.push(statement);
    }

    fn full(&self) -> bool {
        self.exact && self.alive == u32::MAX && self.program.threads.is_multiple_of(32)
    }

    /// An exchange, its members, and the lane or distance that it names.
    fn exchange(&mut self, scope: Scope) -> (Exchange, Members, Operand) {
        let lanes = self.lanes(scope);
        let redux = Exchange::Redux(self.random.pick(&COMMUTATIVE));
        let mut kinds = vec![
            Exchange::All,
            Exchange::Any,
            Exchange::Uniform,
            Exchange::Ballot,
            Exchange::MatchAny,
            Exchange::MatchAll,
            redux,
            redux,
        ];
        let full = lanes == u32::MAX && self.full();
        if full {
            kinds.extend([Exchange::Up, Exchange::Down, Exchange::Butterfly, Exchange::Index]);
        }
        let sure = if self.exact { self.sure_lanes(scope) } else { 0 };
        if sure != 0 {
            kinds.extend([Exchange::Index; 3]);
        }
        let what = self.random.pick(&kinds);
        let is_shuffle =
            matches!(what, Exchange::Index | Exchange::Up | Exchange::Down | Exchange::Butterfly);
        let tiles = lanes == u32::MAX && !is_shuffle && self.random.one_in(4);
        let members = if tiles {
            Members::Tile(self.random.pick(&[2, 4, 8, 16]))
        } else if self.alive != u32::MAX && self.random.one_in(2) {
            // Lanes that have ended may be named too.
            Members::Mask(lanes | !self.alive)
        } else {
            Members::Mask(lanes)
        };
        let b = match what {
            Exchange::Index if full && self.random.one_in(2) => Operand::Var(self.var()),
            Exchange::Index => Operand::Word(self.lane_in(sure)),
            _ => Operand::Word(self.random.below(32)),
        };
        (what, members, b)
    }

    fn lane_in(&mut self, set: u32) -> u32 {
        let lanes: Vec<u32> = (0..32).filter(|lane| set >> lane & 1 != 0).collect();
        self.random.pick(&lanes)
    }

    fn swap(&mut self, scope: Scope) -> Swap {
        let (what, members, b) = self.exchange(scope);
        Swap { what, members, d: self.var(), a: self.operand(), b }
    }

    fn meet(&mut self, scope: Scope) -> Stmt {
        let count = 2 + self.random.below(3);
        let inner = Scope { jumps: false, ..self.alone(scope) };
        let arms: Vec<MeetArm> = (0..count)
            .map(|_| MeetArm {
                body: if self.random.one_in(2) { self.small_body(inner) } else { Vec::new() },
                looped: self.random.one_in(3),
                d: self.var(),
                a: self.operand(),
            })
            .collect();
        // Threads of the bodies may have ended.
        let (what, members, b) = self.exchange(scope);
        let on = if self.random.one_in(4) { Operand::Lane } else { Operand::Var(self.var()) };
        Stmt::Meet { on, arms, what, members, b, times: 1 + self.random.below(3) }
    }

    fn peel(&mut self, scope: Scope) -> Stmt {
        let (a, d) = (self.var(), self.var());
        let lanes = self.sure_lanes(scope);
        // The last warp may lack lanes, and a missing lane must not be the first of the set.
        if lanes != self.lanes(scope) || a == d {
            return Stmt::Exchange(self.swap(scope));
        }
        Stmt::Peel { lanes, a, d }
    }

    fn share_in_warp(&mut self, scope: Scope) -> Stmt {
        let space = self.random.pick(&SPACES);
        let warps = self.program.threads.div_ceil(32);
        let blocks = if space == Space::Global { self.program.blocks } else { 1 };
        let cells = self.cells(space, 32 * warps * blocks);
        let (members, shift) = (self.lanes(scope), self.random.below(32));
        Stmt::ShareInWarp { space, cells, members, shift, a: self.var(), d: self.var() }
    }

    pub(super) fn block_cells(&mut self, space: Space) -> u32 {
        let blocks = if space == Space::Global { self.program.blocks } else { 1 };
        self.cells(space, blocks * self.program.threads)
    }

    fn share_in_block(&mut self, scope: Scope) -> Stmt {
        let space = self.random.pick(&SPACES);
        let cells = self.block_cells(space);
        let mut barriers = vec![Barrier::Aligned, Barrier::Unaligned, Barrier::Popc];
        if self.full() && scope.lanes == u32::MAX {
            barriers.push(Barrier::Counted(self.program.threads));
        }
        Stmt::ShareInBlock {
            space,
            cells,
            barrier: self.random.pick(&barriers),
            id: self.random.below(3),
            shift: self.random.below(self.program.threads),
            a: self.var(),
            d: self.var(),
        }
    }

    fn share_in_arms(&mut self) -> Stmt {
        let space = self.random.pick(&SPACES);
        let cells = self.block_cells(space);
        Stmt::ShareInArms {
            cond: self.cond(2),
            space,
            cells,
            id: self.random.below(3),
            shift: self.random.below(self.program.threads),
            a: self.var(),
            d: self.var(),
        }
    }

    /// A statement in which all threads of the grid take part.
    fn in_grid(&mut self, scope: Scope, body: &mut Vec<Stmt>) {
        let threads = self.program.total_threads();
        let (a, d) = (self.var(), self.var());
        let statement = match self.random.below(3) {
            0 if self.full() => {
                let stride = self.random.pick(&[1, 32, 32]);
                let cells = self.cells(Space::Global, 2 * threads);
                Stmt::Chain { cells, stride, order: self.random.pick(&ORDERS), a, d }
            }
            1 if self.full() => {
                let cells = self.cells(Space::Global, 3);
                Stmt::LastArriver { cells, threads, a: self.operand() }
            }
            _ if self.sure_lanes(scope) != 0 => {
                let lanes = self.sure_lanes(scope);
                Stmt::ShareInGrid {
                    cells: self.cells(Space::Global, threads),
                    counter: self.cells(Space::Global, 1),
                    leader: self.lane_in(lanes),
                    extra: 0,
                    shift: self.random.below(threads),
                    a,
                    d,
                }
            }
            _ => self.reduce(),
        };
        body.push(statement);
    }

    /// Arms with a statically known set of threads. One may wait for the other.
    fn split(&mut self, scope: Scope, body: &mut Vec<Stmt>) {
        let (mut first, mut second) = (self.inner(scope), self.inner(scope));
        let cond = match self.random.below(5) {
            0 if self.program.threads > 32 => {
                let set = self.random.word();
                (first.warps, second.warps) = (scope.warps & set, scope.warps & !set);
                Cond::Warps(set)
            }
            1 if self.program.blocks > 1 => {
                let set = self.random.word();
                (first.blocks, second.blocks) = (scope.blocks & set, scope.blocks & !set);
                Cond::Blocks(set)
            }
            _ => {
                let set = self.random.word();
                (first.lanes, second.lanes) = (scope.lanes & set, scope.lanes & !set);
                Cond::Lanes(set)
            }
        };
        let (mut then, mut otherwise) = (self.small_body(first), self.small_body(second));
        let once = scope.once && self.exact;
        if once && self.random.one_in(2) {
            let (signal, wait) =
                if self.random.one_in(2) { (first, second) } else { (second, first) };
            if let Some((signals, waits)) = self.signal_and_wait(signal, wait) {
                let (signaller, waiter) = if signal.lanes == first.lanes
                    && (signal.warps, signal.blocks) == (first.warps, first.blocks)
                {
                    (&mut then, &mut otherwise)
                } else {
                    (&mut otherwise, &mut then)
                };
                let at = self.random.below(signaller.len() as u32 + 1) as usize;
                signaller.insert(at, signals);
                let at = self.random.below(waiter.len() as u32 + 1) as usize;
                waiter.insert(at, waits);
            }
        }
        body.push(Stmt::If { cond, then, otherwise });
    }

    /// A hand-over of a thread in one scope to threads in another.
    fn signal_and_wait(&mut self, from: Scope, to: Scope) -> Option<(Stmt, Stmt)> {
        let lanes = self.sure_lanes(from);
        let warps = self.program.threads.div_ceil(32);
        let warp = (0..warps).find(|warp| from.warps >> warp & 1 != 0)?;
        let block = (0..self.program.blocks).find(|block| from.blocks >> block & 1 != 0)?;
        if lanes == 0 {
            return None;
        }
        let thread = 32 * warp + self.lane_in(lanes);
        // In shared memory each block has a separate hand-over.
        let shared = from.blocks == to.blocks && self.random.one_in(2);
        let space = if shared { Space::Shared } else { Space::Global };
        let thread = if shared { thread } else { block * self.program.threads + thread };
        let cell = self.cells(space, 2);
        let order = self.random.pick(&ORDERS);
        let signal = Stmt::If {
            cond: Cond::Thread(space, thread),
            then: vec![Stmt::Signal { space, cell, order, a: self.operand() }],
            otherwise: Vec::new(),
        };
        let sleeps = self.random.one_in(4);
        let wait = Stmt::Await { space, cell, order, sleeps, d: self.var() };
        let wait = match self.random.one_in(2) {
            true => Stmt::If { cond: self.cond(2), then: vec![wait], otherwise: Vec::new() },
            false => wait,
        };
        Some((signal, wait))
    }

    /// One thread of the scope hands a value to the other ones.
    fn hand_over(&mut self, scope: Scope, body: &mut Vec<Stmt>) {
        let Some((signal, wait)) = self.signal_and_wait(scope, scope) else { return };
        let Stmt::If { cond, then, .. } = signal else { return };
        let hand_over = match self.random.below(3) {
            0 => Stmt::If { cond, then, otherwise: vec![wait] },
            1 => Stmt::If { cond: Cond::Not(Box::new(cond)), then: vec![wait], otherwise: then },
            _ => {
                body.push(Stmt::If { cond, then, otherwise: Vec::new() });
                wait
            }
        };
        body.push(hand_over);
    }

    /// A loop that all threads of the scope go through equally often.
    fn rounds(&mut self, scope: Scope) -> Stmt {
        let inner = Scope { once: false, jumps: false, ..self.inner(scope) };
        let (mut trips, mut tested_last) = (1 + self.random.below(3), self.random.one_in(2));
        let exact = self.exact;
        let body = self.small_body(inner);
        if self.exact != exact {
            // In a second round threads would be missing on which the first one relies.
            (trips, tested_last) = (1, false);
        }
        Stmt::Loop { trips: Operand::Word(trips), limit: 3, tested_last, body }
    }

    fn produce(&mut self) -> Stmt {
        let warps = self.program.threads / 32;
        let producers = 1 + self.random.below((1 << warps) - 2);
        let cells = self.cells(Space::Shared, self.program.threads);
        let id = 4 + self.barriers;
        if self.barriers >= 11 {
            return self.reduce();
        }
        self.barriers += 1;
        Stmt::Produce { cells, producers, id, a: self.var(), d: self.var() }
    }
}
