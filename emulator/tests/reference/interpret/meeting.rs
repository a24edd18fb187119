//! The points at which threads of the reference wait for each other.

use super::*;

impl Machine<'_> {
    /// Serves the exchanges of a warp after all members have arrived or ended.
    pub(super) fn serve_exchanges(&mut self, block: usize, warp: usize) {
        let start = block * self.per_block + warp * 32;
        let end = (start + 32).min((block + 1) * self.per_block);
        if self.threads[start..end].iter().all(|thread| thread.state != State::Exchanges) {
            return;
        }
        let key = |machine: &Self, index: usize| {
            let thread = &machine.threads[index];
            let Op::Exchange { what, members, .. } = machine.code[thread.pc] else { return None };
            let members = machine.value(index, members);
            (thread.state == State::Exchanges).then_some((what, members))
        };
        for index in start..end {
            let Some((what, members)) = key(self, index) else { continue };
            let ended = |other: &usize| self.threads[*other].state == State::Ended;
            let here = |other: usize| key(self, other) == Some((what, members));
            let mut all = (start..end).filter(|other| members >> (other - start) & 1 != 0);
            if all.clone().all(|other| ended(&other) || here(other)) {
                let on: Vec<usize> = all.by_ref().filter(|other| !ended(other)).collect();
                self.exchange(start, what, &on);
            }
        }
    }

    fn exchange(&mut self, start: usize, what: Exchange, on: &[usize]) {
        let operands = |index: usize| {
            let Op::Exchange { d, a, b, .. } = self.code[self.threads[index].pc] else {
                unreachable!("the thread waits at an exchange")
            };
            (d, self.value(index, a), self.value(index, b))
        };
        let lane = |index: usize| (index - start) as u32;
        let values: Vec<(u32, u32)> =
            on.iter().map(|&index| (lane(index), operands(index).1)).collect();
        let results: Vec<(Reg, u32)> = on
            .iter()
            .map(|&index| {
                let (d, a, b) = operands(index);
                (d, what.result(&values, lane(index), a, b))
            })
            .collect();
        for (&index, (d, result)) in on.iter().zip(results) {
            let thread = &mut self.threads[index];
            if what != Exchange::Sync {
                thread.registers[d as usize] = result;
            }
            thread.pc += 1;
            thread.state = State::Runs;
        }
        self.epoch += 1;
    }

    /// Opens the barriers of a block at which all, or enough, threads have arrived.
    pub(super) fn release_barriers(&mut self, block: usize) {
        let threads = block * self.per_block..(block + 1) * self.per_block;
        if self.threads[threads.clone()].iter().all(|thread| thread.state != State::AtBarrier) {
            return;
        }
        for id in 0..16 {
            let mut waiting = Vec::new();
            let (mut live, mut counted, mut votes) = (0, None, 0);
            for index in threads.clone() {
                let thread = &self.threads[index];
                live += u32::from(thread.state != State::Ended);
                if thread.state != State::AtBarrier {
                    continue;
                }
                let Op::Barrier { barrier, id: at, a, .. } = self.code[thread.pc] else {
                    unreachable!("the thread waits at a barrier")
                };
                if at == id {
                    waiting.push(index);
                    votes += self.value(index, a) & 1;
                    if let Barrier::Counted(count) = barrier {
                        counted = Some(count);
                    }
                }
            }
            let arrived = self.arrived[block][id as usize] + waiting.len() as u32;
            if waiting.is_empty() || arrived < counted.unwrap_or(live) {
                continue;
            }
            self.arrived[block][id as usize] = 0;
            self.epoch += 1;
            for index in waiting {
                let thread = &mut self.threads[index];
                if let Op::Barrier { barrier: Barrier::Popc, d, .. } = self.code[thread.pc] {
                    thread.registers[d as usize] = votes;
                }
                thread.pc += 1;
                thread.state = State::Runs;
            }
        }
    }
}

impl Exchange {
    /// The result in `lane`, which gives `a` and names `b`, of the lanes that take part.
    fn result(self, values: &[(u32, u32)], lane: u32, a: u32, b: u32) -> u32 {
        let bits = |holds: &dyn Fn(u32) -> bool| {
            values.iter().filter(|(_, v)| holds(*v)).fold(0, |set, (lane, _)| set | 1 << lane)
        };
        let true_in: u32 = bits(&|v| v & 1 != 0);
        let all = bits(&|_| true);
        // A shuffle's value, plus one if its source is in range.
        let shuffled = |source: u32, in_range: bool| {
            let from = values.iter().find(|(lane, _)| *lane == source).map(|(_, v)| *v);
            if in_range { from.expect("the source takes part").wrapping_add(1) } else { a }
        };
        match self {
            Self::Index => shuffled(b & 31, true),
            Self::Up => shuffled(lane.wrapping_sub(b & 31), lane >= b & 31),
            Self::Down => shuffled(lane + (b & 31), lane + (b & 31) <= 31),
            Self::Butterfly => shuffled(lane ^ (b & 31), true),
            Self::All => u32::from(true_in == all),
            Self::Any => u32::from(true_in != 0),
            Self::Uniform => u32::from(true_in == all || true_in == 0),
            Self::Ballot => true_in,
            Self::MatchAny => bits(&|v| v == a),
            Self::MatchAll => {
                let agree = bits(&|v| v == a) == all;
                if agree { all.wrapping_add(1) } else { 0 }
            }
            Self::Redux(op) => {
                let all = values.iter().map(|(_, v)| *v);
                all.reduce(|a, b| op.binary().apply(a, b)).expect("a lane takes part")
            }
            Self::Sync => 0,
        }
    }
}
