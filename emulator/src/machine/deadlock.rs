//! The faults of a block in which no thread can proceed, or warps differ at a barrier.
//!
//! Input: its warps. Output: the position of each waiting thread, and the event it waits for; or
//! the two places of one barrier.

use super::barrier::BlockBarriers;
use super::context::Arrival;
use super::fault::{Fault, FaultKind};
use super::warp::{State, Wait, Warp};
use crate::lower::program::Program;

/// The fault of lanes of warp `index` that cannot meet the first arrival at a barrier.
pub fn mismatch(program: &Program, index: usize, first: Arrival, now: Arrival) -> Box<Fault> {
    let places = [first, now].map(|arrival| program.place_in_words(arrival.pc));
    let [there, here] = &places;
    let lane = (index as u32, now.lanes.trailing_zeros().min(31));
    if first.reduces != now.reduces {
        let reducing = |arrival: Arrival| if arrival.reduces { "reduces" } else { "does not" };
        let detail = format!(
            "warps meet at barrier {} by unlike instructions: one {there}, which {}, and one {here}, \
             which {}. A GPU ends the kernel with CUDA_ERROR_ILLEGAL_INSTRUCTION: let all warps \
             reduce (bar.red), or use another barrier",
            now.id,
            reducing(first),
            reducing(now)
        );
        return Box::new(Fault { kind: FaultKind::Undefined, ..*fault(now.pc, lane, detail) });
    }
    let name = |threads: Option<u32>, place| {
        let threads = threads.map_or("all".to_owned(), |count| count.to_string());
        format!("for {threads} threads {place}")
    };
    let detail = format!(
        "warps arrive at barrier {} with different thread counts: {}, and {}",
        now.id,
        name(first.threads, there),
        name(now.threads, here)
    );
    fault(now.pc, lane, detail)
}

/// A deadlock at an instruction, of a warp and a lane.
fn fault(pc: u32, lane: (u32, u32), detail: String) -> Box<Fault> {
    let fault = Fault::new(FaultKind::BarrierDeadlock, detail);
    Box::new(Fault { pc: Some(pc), lane: Some(lane), ..fault })
}

/// Threads that wait at one instruction for the same.
struct Waiting {
    wait: Wait,
    pc: u32,
    /// Their warps, each with its lanes.
    warps: Vec<(u32, u32)>,
}

/// The positions at which the threads of a block wait.
pub fn report(program: &Program, warps: &[Warp], barriers: &BlockBarriers) -> Box<Fault> {
    let mut groups: Vec<Waiting> = Vec::new();
    for warp in warps {
        for parked in &warp.parked {
            let here = (warp.index, parked.mask);
            match groups.iter_mut().find(|g| (g.wait, g.pc) == (parked.wait, parked.pc)) {
                Some(group) => group.warps.push(here),
                None => {
                    groups.push(Waiting { wait: parked.wait, pc: parked.pc, warps: vec![here] })
                }
            }
        }
    }
    let several = groups.len() > 1;
    let mut places: Vec<String> = groups
        .iter()
        .map(|group| {
            let place = several.then(|| format!(" {}", program.place_in_words(group.pc)));
            format!("{}{}", group.describe(warps, barriers), place.unwrap_or_default())
        })
        .collect();
    let exited = warps.iter().filter(|warp| warp.state == State::Done).count();
    if exited > 0 {
        places.push(count(exited, "has exited", "have exited"));
    }
    let detail = format!("deadlock: {}", places.join(" while "));
    let first = groups.first();
    let lane = first.and_then(|group| group.warps.first()).copied().unwrap_or((0, 1));
    let pc = first.map_or(0, |group| group.pc);
    fault(pc, (lane.0, lane.1.trailing_zeros().min(31)), detail)
}

impl Waiting {
    fn describe(&self, warps: &[Warp], barriers: &BlockBarriers) -> String {
        let whole = |&(index, lanes): &(u32, u32)| warps[index as usize].live & !lanes == 0;
        let waiting = if self.warps.iter().all(whole) {
            count(self.warps.len(), "warp waits", "warps wait")
        } else {
            let parts: Vec<String> = self
                .warps
                .iter()
                .map(|(warp, lanes)| format!("lanes {lanes:#010x} of warp {warp}"))
                .collect();
            format!("{} wait", parts.join(" and "))
        };
        match self.wait {
            Wait::Block(id) => {
                let threads = barriers.threads(id).map(|threads| format!(" for {threads} threads"));
                format!("{waiting} at barrier {id}{}", threads.unwrap_or_default())
            }
            Wait::Warp => format!("{waiting} at a barrier for the rest of the warp"),
            Wait::Members(members) => {
                let missing = self.warps.iter().fold(0, |missing, &(warp, lanes)| {
                    missing | (members & warps[warp as usize].live & !lanes)
                });
                format!(
                    "{waiting} at a .sync exchange with member mask {members:#010x} for lanes \
                     {missing:#010x}"
                )
            }
        }
    }
}

fn count(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
