//! Lanes that wait for other lanes of their warp.
//!
//! Input: a running warp, of which other lanes wait to run. Output: whether the active lanes only
//! wait: they came round to the same instruction with the same registers and changed no memory, so
//! they would do the same for ever. Whoever they wait for has to run (`Warp::let_waiting_run`), as
//! the threads of a GPU's warp do from Volta on. Lanes that do anything else are never interrupted
//! for this, so that what is counted of them does not depend on it.

use super::context::Context;
use super::lanes::{Lanes, Lanes32, Lanes64};

/// So many instructions a round has at most.
const ROUND: u32 = 256;

/// What a round began with.
pub struct Round {
    pc: u32,
    active: u32,
    r32: Vec<Lanes32>,
    r64: Vec<Lanes64>,
    preds: Vec<u32>,
    steps: u32,
}

/// What came of a step of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The round goes on.
    On,
    /// The lanes do more than wait.
    Works,
    /// They are back where they were.
    Waits,
}

impl Round {
    /// Begins where the warp stands.
    pub fn begin(cx: &mut Context<'_>) -> Self {
        cx.warp.changed = false;
        let (r32, r64, preds) = own(&cx.lanes, cx);
        Self {
            pc: cx.warp.pc,
            active: cx.warp.active,
            r32: r32.to_vec(),
            r64: r64.to_vec(),
            preds: preds.to_vec(),
            steps: 0,
        }
    }

    /// What one more instruction has shown.
    pub fn step(&mut self, cx: &Context<'_>) -> Step {
        self.steps += 1;
        if cx.warp.changed || self.steps > ROUND {
            return Step::Works;
        }
        if (cx.warp.pc, cx.warp.active) != (self.pc, self.active) {
            return Step::On;
        }
        let (r32, r64, preds) = own(&cx.lanes, cx);
        let same = r32 == self.r32 && r64 == self.r64 && preds == self.preds;
        if same { Step::Waits } else { Step::Works }
    }
}

/// The registers of the running warp.
fn own<'l>(lanes: &'l Lanes<'_>, cx: &Context<'_>) -> (&'l [Lanes32], &'l [Lanes64], &'l [u32]) {
    let program = cx.program;
    (
        &lanes.r32[lanes.base32..][..program.registers32],
        &lanes.r64[lanes.base64..][..program.registers64],
        &lanes.preds[lanes.base_pred..][..program.predicates],
    )
}
