//! Blocks that wait for each other, which the replay of one multiprocessor cannot model.
//!
//! Input: the instructions and the recorded blocks. Output: the time of the chain of blocks, in
//! which each waits for a word that an earlier one stores.

use super::code::Code;
use super::rates::Rates;
use super::shape::Shape;
use crate::counters::trace::Trace;

/// Blocks before its own that a warp sees at once if its lanes look at one each.
const LANES: u64 = 32;

/// The first poll of a block.
struct Poll {
    sector: u64,
    /// All lanes of a warp look.
    is_wide: bool,
    /// The block has stored its own result for others before.
    is_late: bool,
}

/// Nanoseconds of the chain; 0 if no block waits for its predecessors.
pub fn ns(code: &Code, traces: &[&Trace], shape: Shape, rates: &Rates) -> f64 {
    let polls: Vec<Poll> = traces.iter().filter_map(|trace| first_poll(code, trace)).collect();
    let Some((first, others)) = polls.split_first() else { return 0.0 };
    // At a barrier of the grid, all look at one word.
    if others.iter().all(|other| other.sector == first.sector) {
        return 0.0;
    }
    let reach = if polls.iter().any(|poll| poll.is_wide) { LANES } else { 1 };
    let (blocks, step) = if polls.iter().all(|poll| poll.is_late) {
        // They find partial results of all that run at the same time.
        let at_once = u64::from(shape.resident) * u64::from(shape.sms);
        (shape.blocks.min(at_once), rates.hand_over_ns)
    } else {
        let fence = code.longest_fence() / rates.clock_ghz;
        (shape.blocks, rates.hand_over_ns + fence)
    };
    (blocks / reach) as f64 * step
}

fn first_poll(code: &Code, trace: &Trace) -> Option<Poll> {
    trace.warps.iter().find_map(|steps| {
        let mut is_late = false;
        for &step in steps {
            let sectors = trace.access(step).map_or(&[][..], |access| access.sectors);
            let instruction = &code.instructions[step.pc as usize];
            if instruction.polls && !sectors.is_empty() {
                return Some(Poll { sector: sectors[0], is_wide: sectors.len() > 1, is_late });
            }
            is_late |= instruction.tells && !sectors.is_empty();
        }
        None
    })
}
