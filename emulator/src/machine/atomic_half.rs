//! Atomics of 16 bits, as ptxas makes them for every GPU: a load of the word that the half is in,
//! then a loop around the compare-and-swap of that word, until no other lane changed it.
//!
//! Lanes whose halves share a word wait for each other, so the loop has as many rounds as most
//! lanes share one, and each round counts as an atomic of the lanes that are still in it.

use super::checked::{log_update, touch};
use super::context::Context;
use super::fault::Fault;
use super::generic;
use super::half::sum;
use super::per_lane::cell;
use super::request::{Part, Verb, check, count};
use crate::lower::inst::{Atomic, AtomicOp, HalfFormat, Scalar, Sharing};

/// Whether an atomic is of 16 bits.
pub fn is_of(atomic: &Atomic) -> bool {
    matches!(atomic.ty, Scalar::U16 | Scalar::F16 | Scalar::BF16) && atomic.op != AtomicOp::AddPair
}

/// The format of the halves of a cell.
pub fn format(ty: Scalar) -> HalfFormat {
    if ty == Scalar::BF16 { HalfFormat::BF16 } else { HalfFormat::F16 }
}

/// Executes one for the lanes of `part`: `b` and `c` are its operands, and `old` takes what was
/// there.
pub fn execute(
    cx: &mut Context<'_>,
    atomic: &Atomic,
    part: &Part,
    (b, c): (&[u64; 32], &[u64; 32]),
    old: &mut [u64; 32],
) -> Result<(), Box<Fault>> {
    let verb = Verb::Update(true);
    check(cx, part, 2, verb)?;
    touch(cx, part, (2, Sharing::Ordered), verb, 0)?;
    log_update(cx, part, 2, (atomic.informs, atomic.order));
    let addresses = part.addresses.map(|address| address & !3);
    let mut words = Part::new(part.space, part.constant, part.lanes, addresses);
    let before = generic::counted::<false>(cx, atomic.address);
    count(cx, &words, 4, Verb::Read);
    generic::count::<false>(cx, before);
    let among = |lanes: u32| (0..32).filter(move |lane| lanes & (1 << lane) != 0);
    let mut seen = [0; 32];
    for lane in among(part.lanes) {
        seen[lane] = cell(cx, part.space, lane, words.addresses[lane]).map_or(0, |cell| cell.get());
    }
    while words.lanes != 0 {
        count(cx, &words, 4, verb);
        for lane in among(words.lanes) {
            let half = Half { shift: 8 * (part.addresses[lane] % 4) as u32 };
            let (expected, new) = half.attempt(atomic, seen[lane], b[lane] as u32, c[lane] as u32);
            let Some(mut cell) = cell(cx, part.space, lane, words.addresses[lane]) else {
                continue;
            };
            let (found, _) = cell.update(|word| if word == expected { new } else { word });
            old[lane] = u64::from(half.extract(found));
            let is_done = match atomic.op {
                AtomicOp::CompareSwap => half.neighbour(found) == half.neighbour(expected),
                _ => found == expected,
            };
            if is_done {
                words.lanes &= !(1 << lane);
            }
            seen[lane] = found;
        }
    }
    Ok(())
}

/// Where in its word a half is.
#[derive(Clone, Copy)]
struct Half {
    shift: u32,
}

impl Half {
    fn extract(self, word: u32) -> u32 {
        word >> self.shift & 0xffff
    }

    fn neighbour(self, word: u32) -> u32 {
        word & !(0xffff << self.shift)
    }

    fn with(self, word: u32, half: u32) -> u32 {
        self.neighbour(word) | (half & 0xffff) << self.shift
    }

    /// The word to compare with and the one to store, after `seen` was there.
    fn attempt(self, atomic: &Atomic, seen: u32, b: u32, c: u32) -> (u32, u32) {
        match atomic.op {
            AtomicOp::CompareSwap => (self.with(seen, b), self.with(seen, c)),
            _ => (seen, self.with(seen, sum(format(atomic.ty), false, self.extract(seen), b))),
        }
    }
}
