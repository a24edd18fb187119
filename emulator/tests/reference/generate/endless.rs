//! Statements that never end, put into programs that otherwise do.

use super::*;

impl Generator {
    pub(super) fn whole_without_end(mut self) -> Program {
        let count = 1 + self.random.below(4);
        let all = self.all();
        let mut body = self.body(all, count);
        let trap = self.trap();
        body.push(trap);
        let count = self.random.below(4);
        body.extend(self.body(all, count));
        self.program.body = body;
        self.program
    }

    fn trap(&mut self) -> Stmt {
        let lanes = self.sure_lanes(self.all()).max(1);
        let lane = self.random.pick(&(0..32).filter(|l| lanes >> l & 1 != 0).collect::<Vec<_>>());
        let one = Cond::Lanes(1 << lane);
        let (a, d) = (self.var(), self.var());
        let only = |cond, statement| Stmt::If { cond, then: vec![statement], otherwise: vec![] };
        match self.random.below(7) {
            0 | 1 => {
                let space = self.random.pick(&SPACES);
                let (cell, order) = (self.cells(space, 2), self.random.pick(&ORDERS));
                only(one, Stmt::Await { space, cell, order, sleeps: false, d })
            }
            2 => {
                let mut lock = self.lock(self.all());
                if let Stmt::Lock { releases, .. } = &mut lock {
                    *releases = false;
                }
                lock
            }
            3 => {
                let swap = |what| Swap {
                    what,
                    members: Members::Mask(u32::MAX),
                    d,
                    a: Operand::Var(a),
                    b: Operand::Word(0),
                };
                Stmt::If {
                    cond: one,
                    then: vec![Stmt::Exchange(swap(Exchange::Ballot))],
                    otherwise: vec![Stmt::Exchange(swap(Exchange::Any))],
                }
            }
            4 => {
                let space = Space::Shared;
                let mut share = |id| Stmt::ShareInBlock {
                    space,
                    cells: self.block_cells(space),
                    barrier: Barrier::Unaligned,
                    id,
                    shift: 1,
                    a,
                    d,
                };
                Stmt::If { cond: one, then: vec![share(1)], otherwise: vec![share(2)] }
            }
            5 if self.exact => Stmt::ShareInGrid {
                cells: self.cells(Space::Global, self.program.total_threads()),
                counter: self.cells(Space::Global, 1),
                leader: lane,
                extra: 1,
                shift: 1,
                a,
                d,
            },
            _ => only(one, Stmt::Forever { d }),
        }
    }
}
