//! Finds where diverged lanes meet again.
//!
//! Input: a function's instructions and branch targets. Output: every branch that lanes may
//! disagree on, with its [`Convergence`], and the instructions at which lanes meet, marked.
//!
//! The rule is the one an H200 was seen to follow (`tests/masks.rs`): lanes meet at the first block
//! that all their paths have in common, ignoring paths that leave the function before it. So a
//! bounds check that may trap, or a `return` that some lanes take, does not delay the others. Where
//! the paths have only the end in common, lanes wait at a bare `ret` if all of them reach it.

use super::blocks::{Block, Flow, is_bare_end, split};
use super::convergence::{Convergences, SharedBlocks, Zone};
use super::inst::{ControlOp, Inst, NOWHERE, Op};
use super::post_dominators::{Graph, reachable};
use std::collections::HashMap;
use std::rc::Rc;

/// Sets the convergence of every branch in `code[start..]`, a whole function.
pub fn set_convergence(
    code: &mut [Inst],
    start: usize,
    tables: &[Vec<u32>],
    convergences: &mut Convergences,
) {
    let blocks = split(code, start, tables);
    let flow = Flow::new(&blocks);
    let Meets { strict, meets, early } = Meets::find(code, &blocks, &flow);
    let may_join =
        |block, above| !is_bare_end(code, &blocks[block]) && early.is_on_the_way(block, above);
    let zones = &mut convergences.zones;
    let shared = SharedBlocks::find((&blocks, &flow), &meets, may_join, zones);
    let mut known: HashMap<usize, u32> = HashMap::new();
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block.successors.len() > 1) {
        let meet = meets[at].map_or(NOWHERE, |index| blocks[index].start as u32);
        let zone = meets[at].filter(|_| meets[at] != strict[at]).map_or(NOWHERE, |meet| {
            *known.entry(meet).or_insert_with(|| {
                let leads = flow.leading_to(|block| block == meet);
                let inside = (0..blocks.len()).filter(|&block| leads[block]);
                convergences.zones.push(Zone::new(&blocks, inside));
                convergences.zones.len() as u32 - 1
            })
        });
        let found = shared.converge_at(at, (meet, zone));
        let places = found.joins.iter().map(|join| join.meet).chain([meet]);
        for place in places.filter(|&place| place != NOWHERE) {
            code[place as usize].converges = true;
        }
        if let Op::Branch { convergence, .. }
        | Op::Control(ControlOp::BranchIndexed { convergence, .. }) = &mut code[block.end - 1].op
        {
            *convergence = convergences.add(found);
        }
    }
}

/// Where lanes meet that diverge at the end of each block.
struct Meets {
    /// All of them.
    strict: Vec<Option<usize>>,
    /// Those that do not leave the function before.
    meets: Vec<Option<usize>>,
    early: EarlyEnds,
}

impl Meets {
    fn find(code: &[Inst], blocks: &[Block], flow: &Flow) -> Self {
        let ends: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].leaves).collect();
        let strict = Graph { edges: &flow.successors }.post_dominators(&ends);
        let bare: Vec<bool> = blocks.iter().map(|block| is_bare_end(code, block)).collect();
        let mut early = EarlyEnds::new(blocks, &bare);
        let mut meets = strict.clone();
        let mut order: Vec<usize> = (0..blocks.len()).filter(|&at| flow.is_reached(at)).collect();
        order.sort_by_key(|&at| flow.rank[at]);
        for at in order {
            if let Some(above) = flow.dominators[at] {
                early.ordinary[at] = Rc::clone(&early.ordinary[above]);
            }
            let is_early = strict[at].is_none_or(|meet| bare[meet]);
            if is_early && blocks[at].successors.len() > 1 {
                meets[at] = early.meet(at).or(strict[at]);
            }
        }
        Self { strict, meets, early }
    }
}

/// The function with a separate end for every way to a bare `ret`: compilers lead all early returns
/// to one `ret`, and lanes do not wait for each other there.
struct EarlyEnds {
    edges: Vec<Vec<usize>>,
    ends: Rc<[usize]>,
    /// For each block the ends that are not early: of those at which the lanes of a branch meet,
    /// other ends are early, and they stay so after it.
    ordinary: Vec<Rc<[usize]>>,
}

impl EarlyEnds {
    fn new(blocks: &[Block], bare: &[bool]) -> Self {
        let kept = |block: &Block| {
            block.successors.iter().copied().filter(|&next| !bare[next]).collect::<Vec<_>>()
        };
        let edges: Vec<Vec<usize>> = blocks.iter().map(kept).collect();
        let ends: Rc<[usize]> = (0..blocks.len())
            .filter(|&at| !bare[at])
            .filter(|&at| blocks[at].leaves || edges[at].len() < blocks[at].successors.len())
            .collect();
        // Besides a `ret`, the `exit` after a panic is early.
        let leads = |at: usize| blocks[at].successors.iter().any(|&next| bare[next]);
        let returns = |at: &usize| blocks[*at].returns || leads(*at);
        let returning: Rc<[usize]> = ends.iter().copied().filter(returns).collect();
        let ordinary = if returning.is_empty() { &ends } else { &returning };
        Self { edges, ordinary: vec![Rc::clone(ordinary); blocks.len()], ends }
    }

    /// The block at which the lanes that diverge at a block meet; lanes that leave the function on
    /// the way do not count.
    fn meet(&mut self, at: usize) -> Option<usize> {
        let reached: Vec<Vec<bool>> =
            self.edges[at].iter().map(|&next| reachable(&self.edges, next)).collect();
        let ways = |end: usize| reached.iter().filter(|reached| reached[end]).count();
        // A way that leads to early ends alone has its own ordinary ones.
        let is_early = self.ordinary[at].iter().all(|&end| ways(end) == 0);
        let ends = if is_early { &self.ends } else { &self.ordinary[at] };
        let most = ends.iter().map(|&end| ways(end)).max().filter(|&most| most > 1)?;
        let common: Rc<[usize]> = ends.iter().copied().filter(|&end| ways(end) == most).collect();
        let meet = |ends: &[usize]| Graph { edges: &self.edges }.post_dominators(ends)[at];
        // If these ends are themselves early ones of each other, the last is the ordinary one.
        let last = || {
            let mut each = common.iter().rev().map(|&end| Rc::from([end]));
            each.find_map(|end: Rc<[usize]>| Some((meet(&end)?, end)))
        };
        let all = meet(&common).map(|meet| (meet, Rc::clone(&common)));
        let (meet, ordinary) = all.or_else(last)?;
        self.ordinary[at] = ordinary;
        Some(meet)
    }

    /// Whether lanes that come to a block from `above` go on to where others end.
    fn is_on_the_way(&self, block: usize, above: usize) -> bool {
        let leads = |from: usize| {
            let reached = reachable(&self.edges, from);
            self.ordinary[above].iter().any(|&end| reached[end])
        };
        leads(block) || !leads(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::convergence::Convergence;
    use crate::lower::inst::{Guard, Slot};

    fn branch(target: u32) -> Inst {
        Inst { guard: Guard::If(Slot(0)), ..jump(target) }
    }

    fn jump(target: u32) -> Inst {
        plain(Op::Branch { target, convergence: 0 })
    }

    fn plain(op: Op) -> Inst {
        Inst::new(Guard::Always, op)
    }

    fn ret() -> Inst {
        plain(ControlOp::Return.into())
    }

    fn nop() -> Inst {
        plain(Op::Nop)
    }

    fn converge(mut code: Vec<Inst>) -> (Vec<Convergence>, Convergences) {
        let mut convergences = Convergences::default();
        set_convergence(&mut code, 0, &[], &mut convergences);
        let branches = code.iter().filter_map(|inst| match inst.op {
            Op::Branch { convergence, .. } if inst.guard != Guard::Always => Some(convergence),
            _ => None,
        });
        (branches.map(|at| convergences.get(at).clone()).collect(), convergences)
    }

    fn meets(code: Vec<Inst>) -> Vec<u32> {
        converge(code).0.into_iter().map(|convergence| convergence.meet).collect()
    }

    #[test]
    fn a_block_that_both_conditions_lead_to_is_a_join() {
        // if (a && b) { nop; nop } else { nop; nop } nop
        let code = vec![
            branch(5), // !a
            branch(5), // !b
            nop(),
            nop(),
            jump(7),
            nop(),
            nop(),
            nop(),
            ret(),
        ];
        let (branches, convergences) = converge(code);
        assert_eq!(branches[0].meet, 7);
        let joins: Vec<u32> = branches[0].joins.iter().map(|join| join.meet).collect();
        assert_eq!((joins, branches[1].joins[0].meet), (vec![5], 5));
        let zone = &convergences.zones[branches[0].joins[0].zone as usize];
        let inside: Vec<u32> = (0..9).filter(|&pc| zone.contains(pc)).collect();
        assert_eq!(inside, [0, 1, 5, 6]);
    }

    #[test]
    fn a_break_leaves_the_zone_of_the_rest_of_the_loop() {
        // do { if (a) { if (b) break; nop } nop; nop } while (c); nop
        let code =
            vec![branch(2), jump(4), branch(7), nop(), nop(), nop(), branch(0), nop(), ret()];
        let (branches, convergences) = converge(code);
        assert_eq!((branches[0].meet, branches[0].joins[0].meet), (7, 4));
        let zone = &convergences.zones[branches[0].joins[0].zone as usize];
        assert!(zone.contains(2) && zone.contains(5) && !zone.contains(7));
    }

    #[test]
    fn a_panic_shared_by_checks_is_not_a_join() {
        let trap = plain(ControlOp::Trap.into());
        let code = vec![branch(4), branch(4), nop(), ret(), nop(), trap];
        assert!(converge(code).0.iter().all(|branch| branch.joins.is_empty()));
    }

    #[test]
    fn lanes_of_an_if_meet_after_it() {
        assert_eq!(meets(vec![branch(2), nop(), ret()]), [2]);
    }

    #[test]
    fn lanes_of_an_if_else_meet_after_both_arms() {
        assert_eq!(meets(vec![branch(3), nop(), jump(4), nop(), ret()]), [4]);
    }

    #[test]
    fn lanes_of_a_loop_meet_at_its_exit() {
        assert_eq!(meets(vec![nop(), branch(0), ret()]), [2]);
    }

    #[test]
    fn lanes_of_two_returns_never_meet() {
        assert_eq!(meets(vec![branch(2), ret(), ret()]), [NOWHERE]);
    }

    #[test]
    fn a_trap_does_not_delay_the_meeting() {
        let trap = plain(ControlOp::Trap.into());
        assert_eq!(meets(vec![branch(3), nop(), ret(), trap]), [1]);
    }

    #[test]
    fn a_return_in_an_arm_does_not_delay_the_meeting() {
        // if (a) { if (b) return; nop } nop
        assert_eq!(meets(vec![branch(3), branch(4), nop(), nop(), ret()])[0], 3);
    }

    #[test]
    fn a_return_after_work_does_not_delay_the_meeting() {
        // if (a) { if (b) { nop; return } nop } nop
        let code = vec![branch(3), branch(5), nop(), nop(), jump(6), nop(), ret()];
        assert_eq!(meets(code), [3, 6]);
    }

    #[test]
    fn a_return_in_a_loop_does_not_delay_the_meeting_after_it() {
        // do { if (a) return; nop } while (b); nop
        assert_eq!(meets(vec![branch(4), nop(), branch(0), nop(), ret()])[1], 3);
    }

    /// An end with its own work.
    fn exit() -> [Inst; 2] {
        [nop(), plain(ControlOp::Exit.into())]
    }

    #[test]
    fn lanes_that_exit_in_a_loop_wait_for_no_later_iteration() {
        // while (!a) { if (b) { nop; exit } nop } nop; exit
        let mut code = vec![branch(6), branch(4), nop(), jump(0)];
        code.extend(exit());
        code.extend(exit());
        assert_eq!(meets(code), [6, NOWHERE]);
    }

    #[test]
    fn an_exit_in_a_loop_does_not_delay_the_meeting_after_it() {
        // do { if (a) { nop; exit } nop } while (b); nop; exit
        let mut code = vec![branch(5), nop(), branch(0)];
        code.extend(exit());
        code.extend(exit());
        assert_eq!(meets(code), [5, NOWHERE]);
    }

    #[test]
    fn an_early_exit_shared_by_branches_is_not_a_join() {
        // if (!a) { nop; if (b) goto early; nop; if (c) goto early; nop } nop; ret
        // early: nop; exit
        let mut code = vec![branch(6), nop(), branch(8), nop(), branch(8), nop(), nop(), ret()];
        code.extend(exit());
        let branches = converge(code).0;
        let meets: Vec<u32> = branches.iter().map(|branch| branch.meet).collect();
        assert_eq!(meets, [6, NOWHERE, NOWHERE]);
        assert!(branches.iter().all(|branch| branch.joins.is_empty()));
    }

    #[test]
    fn a_panic_in_a_loop_does_not_delay_the_meeting_in_it() {
        // loop { if (a) panic; if (b) { if (c) panic; nop } barrier; if (!d) break }; nop
        let exit = plain(ControlOp::Exit.into());
        let code = vec![
            branch(10), // a
            branch(3),  // b
            jump(5),
            branch(12), // c
            nop(),
            nop(),
            branch(0), // d
            nop(),
            nop(),
            ret(),
            nop(),
            exit,
            nop(),
            exit,
        ];
        let meets = meets(code);
        assert_eq!((meets[1], meets[3]), (5, 7));
    }

    #[test]
    fn of_two_returns_on_both_sides_the_last_is_where_lanes_meet() {
        // if (a || b) { nop; if (c) { nop; return } } else { nop } nop
        let code = vec![
            branch(3), // a
            branch(3), // b
            jump(7),
            nop(),
            branch(6), // c
            jump(8),
            ret(),
            nop(),
            nop(),
            ret(),
        ];
        assert_eq!(meets(code)[0], 8);
    }
}
