//! Tables of finite-state entropy, by which Zstandard codes sequences and weights (RFC 8878, 4.1).

use crate::bits::{Backward, Forward};

/// One state: its symbol, and the position of the next state.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    symbol: u8,
    bits: u32,
    base: usize,
}

/// The states, 2 to the power of the accuracy.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    states: Vec<State>,
    accuracy: u32,
}

impl Table {
    /// A table with one symbol, which takes no bits.
    pub(crate) fn of_one(symbol: u8) -> Self {
        Self { states: vec![State { symbol, bits: 0, base: 0 }], accuracy: 0 }
    }

    /// The table of symbols with these counts, which fill it; a symbol with count -1 ("less than
    /// one") has one state.
    pub(crate) fn of_counts(counts: &[i32], accuracy: u32) -> Option<Self> {
        let size = 1 << accuracy;
        let mut states = vec![State::default(); size];
        let mut high = size;
        for (symbol, _) in counts.iter().enumerate().filter(|(_, count)| **count == -1) {
            high = high.checked_sub(1)?;
            states[high].symbol = symbol as u8;
        }
        let step = (size >> 1) + (size >> 3) + 3;
        let mut at = 0;
        for (symbol, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                states[at].symbol = symbol as u8;
                at = (at + step) & (size - 1);
                // The states at the end belong to others.
                while at >= high {
                    at = (at + step) & (size - 1);
                }
            }
        }
        let mut next: Vec<usize> =
            counts.iter().map(|count| count.unsigned_abs() as usize).collect();
        for state in &mut states {
            let number = next.get_mut(usize::from(state.symbol)).filter(|next| **next > 0)?;
            state.bits = accuracy - number.ilog2();
            state.base = (*number << state.bits) - size;
            *number += 1;
        }
        Some(Self { states, accuracy })
    }

    /// The table that `bytes` begin with, of at most `symbols` symbols and at most this accuracy;
    /// the bytes after it.
    pub(crate) fn read(bytes: &[u8], symbols: usize, most: u32) -> Option<(Self, &[u8])> {
        let mut bits = Forward::new(bytes);
        let accuracy = bits.take(4) as u32 + 5;
        if accuracy > most {
            return None;
        }
        let mut counts = Vec::new();
        let mut left = 1_i32 << accuracy;
        while left > 0 {
            // A value from 0 to `left + 1`: the small ones take a bit less.
            let wide = (left + 1).ilog2() + 1;
            let short = (1 << wide) - 2 - left;
            let low = bits.peek(wide - 1) as i32;
            let value = if low < short {
                bits.take(wide - 1) as i32
            } else {
                let value = bits.take(wide) as i32;
                if value < 1 << (wide - 1) { value } else { value - short }
            };
            counts.push(value - 1);
            left -= (value - 1).abs();
            let mut zeros = if value == 1 { 3 } else { 0 };
            while zeros == 3 && counts.len() <= symbols {
                zeros = bits.take(2) as usize;
                counts.resize(counts.len() + zeros, 0);
            }
            if counts.len() > symbols {
                return None;
            }
        }
        if left < 0 {
            return None;
        }
        Some((Self::of_counts(&counts, accuracy)?, bits.rest()?))
    }
}

/// A place in a table.
#[derive(Debug)]
pub(crate) struct Cursor<'t> {
    table: &'t Table,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The first place, which `bits` state.
    pub(crate) fn new(table: &'t Table, bits: &mut Backward<'_>) -> Self {
        Self { table, at: bits.take(table.accuracy) as usize }
    }

    pub(crate) fn symbol(&self) -> u8 {
        self.table.states[self.at].symbol
    }

    /// Goes to the next place, which `bits` state.
    pub(crate) fn advance(&mut self, bits: &mut Backward<'_>) {
        let state = self.table.states[self.at];
        self.at = state.base + bits.take(state.bits) as usize;
    }
}
