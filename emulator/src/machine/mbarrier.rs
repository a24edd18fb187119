//! Barriers in shared memory that count arrivals and bytes: `mbarrier`.
//!
//! Such a barrier is a word of 64 bits with a layout that PTX leaves to the device. Here it holds
//! the parity of its phase, the pending arrivals of the phase and of the next one, and the pending
//! bytes. A phase is complete when no arrivals and no bytes are pending.

use super::checked::touch;
use super::context::Context;
use super::fault::{Fault, FaultKind, Outcome};
use super::per_lane::{read, write};
use super::request::{Part, Verb, check, parts};
use crate::lower::inst::{Address, Mbarrier, MbarrierOp, Phase, Sharing, Slot, Space};

/// The largest count that PTX allows.
const MOST: u32 = (1 << 20) - 1;
const BYTES: u32 = 8;

/// Whether a lane waits for something, so that other warps should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It does.
    Yes,
    /// It stays in its phase.
    No,
}

/// The state of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    odd: bool,
    /// Arrivals that the phase wants.
    pending: u32,
    /// Arrivals that the next phase will want.
    expected: u32,
    /// Bytes that were expected and did not come.
    bytes: i32,
}

const VALID: u64 = 1 << 62;
const ODD: u64 = 1 << 63;
const BIAS: i32 = 1 << 20;

impl State {
    fn decode(word: u64) -> Option<Self> {
        (word & VALID != 0).then(|| Self {
            odd: word & ODD != 0,
            pending: pending_count(word),
            expected: word as u32 & MOST,
            bytes: (word >> 40 & 0x1f_ffff) as i32 - BIAS,
        })
    }

    fn encode(self) -> u64 {
        VALID
            | if self.odd { ODD } else { 0 }
            | u64::from(self.pending) << 20
            | u64::from(self.expected)
            | ((self.bytes + BIAS) as u64) << 40
    }

    /// Goes on to the next phase if this one is over.
    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.odd = !self.odd;
            self.pending = self.expected;
        }
    }

    fn arrive(&mut self, count: u32, drop: bool) -> Result<(), &'static str> {
        if count == 0 || count > self.pending {
            return Err("arrives more often than the phase expects, or not at all");
        }
        self.pending -= count;
        if drop {
            self.expected -= count.min(self.expected);
        }
        self.settle();
        Ok(())
    }

    /// `expect_tx`, or `complete_tx`, which may end the phase.
    fn count_bytes(&mut self, expected: bool, bytes: i32) -> Result<(), &'static str> {
        self.expect(if expected { bytes } else { bytes.wrapping_neg() })?;
        if !expected {
            self.settle();
        }
        Ok(())
    }

    fn expect(&mut self, bytes: i32) -> Result<(), &'static str> {
        let bytes = self.bytes.checked_add(bytes).filter(|sum| sum.unsigned_abs() <= MOST);
        self.bytes = bytes.ok_or("expects more bytes than 1048575")?;
        Ok(())
    }
}

/// The arrivals that were pending in the state that an arrival gave.
pub fn pending_count(state: u64) -> u32 {
    (state >> 20) as u32 & MOST
}

/// Executes it for the lanes of `on`, in their order.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, barrier: &Mbarrier, on: u32) -> Result<Waits, Box<Fault>> {
    cx.warp.changed |= !matches!(barrier.op, MbarrierOp::Test { .. });
    let part = place(cx, barrier.address, on)?;
    let lanes = || (0..32).filter(|lane| on >> lane & 1 == 1);
    let initial = matches!(barrier.op, MbarrierOp::Init { .. });
    let verb = if initial { Verb::Write } else { Verb::Update(true) };
    check(cx, &part, BYTES, verb)?;
    touch(cx, &part, (BYTES, Sharing::Ordered), verb, on)?;
    match barrier.op {
        MbarrierOp::Init { count } => {
            let counts = *cx.lanes.get32(count);
            for lane in lanes() {
                let count = counts[lane];
                if !(1..=MOST).contains(&count) {
                    let why = "is initialised with a count that is not 1 to 1048575";
                    return Err(wrong(cx, &part, lane, why));
                }
                let state = State { odd: false, pending: count, expected: count, bytes: 0 };
                put(cx, &part, lane, state.encode());
            }
        }
        MbarrierOp::Invalidate => {
            for lane in lanes() {
                get(cx, &part, lane)?;
                put(cx, &part, lane, 0);
            }
        }
        MbarrierOp::Arrive { d, count, expect, drop } => {
            let counts = *cx.lanes.get32(count);
            let expected = expect.map(|slot| *cx.lanes.get32(slot));
            let mut tokens = [0; 32];
            cx.shadow.arrive(cx.warp.index);
            for lane in lanes() {
                tokens[lane] = get(cx, &part, lane)?.encode();
                let bytes = expected.map_or(0, |expected| expected[lane].cast_signed());
                let arrive = |state: &mut State| {
                    state.expect(bytes)?;
                    state.arrive(counts[lane], drop)
                };
                change(cx, &part, lane, arrive)?;
            }
            cx.lanes.set64(d, &tokens, on);
        }
        MbarrierOp::Bytes { expected, count } => {
            let counts = *cx.lanes.get32(count);
            cx.shadow.publish(cx.warp.index);
            for lane in lanes() {
                let bytes = counts[lane].cast_signed();
                change(cx, &part, lane, |state| state.count_bytes(expected, bytes))?;
            }
        }
        MbarrierOp::Test { p, phase } => return test(cx, &part, p, phase),
    }
    Ok(Waits::No)
}

/// `test_wait`: whether the phase is over, in each lane of the part.
fn test(cx: &mut Context<'_>, part: &Part, p: Slot, phase: Phase) -> Result<Waits, Box<Fault>> {
    let mut over = 0;
    for lane in (0..32).filter(|lane| part.lanes >> lane & 1 == 1) {
        let asked = match phase {
            Phase::State(slot) => cx.lanes.get64(slot)[lane] & ODD != 0,
            Phase::Parity(slot) => cx.lanes.get32(slot)[lane] & 1 == 1,
        };
        over |= u32::from(get(cx, part, lane)?.odd != asked) << lane;
    }
    cx.lanes.set_pred(p, over, part.lanes);
    cx.shadow.meet_arrivals();
    Ok(if over == part.lanes { Waits::No } else { Waits::Yes })
}

/// One arrival of each lane, as a copy makes it.
pub fn arrive_once(cx: &mut Context<'_>, address: Address, on: u32) -> Outcome {
    let part = place(cx, address, on)?;
    check(cx, &part, BYTES, Verb::Update(true))?;
    touch(cx, &part, (BYTES, Sharing::Ordered), Verb::Update(true), on)?;
    cx.shadow.arrive(cx.warp.index);
    for lane in (0..32).filter(|lane| on >> lane & 1 == 1) {
        change(cx, &part, lane, |state| state.arrive(1, false))?;
    }
    Ok(())
}

fn place(cx: &Context<'_>, address: Address, on: u32) -> Result<Part, Box<Fault>> {
    let found = parts(cx, address, on);
    if found.others.is_empty() && found.first.space == Space::Shared {
        return Ok(found.first);
    }
    let detail = "an mbarrier lies outside of shared memory".to_owned();
    Err(cx.fault(FaultKind::Undefined, on, detail))
}

fn wrong(cx: &Context<'_>, part: &Part, lane: usize, why: &str) -> Box<Fault> {
    let detail = format!("the mbarrier at {:#x} of shared memory {why}", part.addresses[lane]);
    cx.fault(FaultKind::Undefined, 1 << lane, detail)
}

fn get(cx: &mut Context<'_>, part: &Part, lane: usize) -> Result<State, Box<Fault>> {
    let word = read(cx, Space::Shared, lane, part.addresses[lane], BYTES as u8);
    State::decode(word).ok_or_else(|| wrong(cx, part, lane, "is not initialised"))
}

fn put(cx: &mut Context<'_>, part: &Part, lane: usize, word: u64) {
    write(cx, Space::Shared, lane, part.addresses[lane], BYTES as u8, word);
}

fn change(
    cx: &mut Context<'_>,
    part: &Part,
    lane: usize,
    change: impl Fn(&mut State) -> Result<(), &'static str>,
) -> Outcome {
    let mut state = get(cx, part, lane)?;
    change(&mut state).map_err(|why| wrong(cx, part, lane, why))?;
    put(cx, part, lane, state.encode());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(count: u32) -> State {
        State { odd: false, pending: count, expected: count, bytes: 0 }
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_byte() {
        let mut state = fresh(2);
        state.expect(96).unwrap();
        state.arrive(1, false).unwrap();
        state.arrive(1, false).unwrap();
        assert_eq!((state.odd, state.pending), (false, 0));
        state.expect(-96).unwrap();
        state.settle();
        assert_eq!((state.odd, state.pending, state.bytes), (true, 2, 0));
    }

    #[test]
    fn a_thread_that_drops_out_is_not_expected_again() {
        let mut state = fresh(3);
        state.arrive(1, true).unwrap();
        state.arrive(2, false).unwrap();
        assert_eq!((state.odd, state.pending, state.expected), (true, 2, 2));
        assert!(state.arrive(3, false).is_err());
    }

    #[test]
    fn an_mbarrier_state_survives_encoding() {
        for state in [fresh(MOST), State { odd: true, pending: 1, expected: 7, bytes: -9 }] {
            assert_eq!(State::decode(state.encode()), Some(state));
        }
        assert_eq!(State::decode(0), None);
    }
}
