//! Huffman codes, by which Zstandard codes literals (RFC 8878, 4.2).

use crate::bits::Backward;
use crate::entropy::{Cursor, Table};

/// The longest code, and the highest number of symbols except the last one, which has an implied
/// weight.
const LONGEST: u32 = 11;
const SYMBOLS: usize = 255;

/// The symbol and length of every code, by the bits that begin with it.
#[derive(Debug, Clone)]
pub(crate) struct Codes {
    codes: Vec<(u8, u32)>,
    longest: u32,
}

impl Codes {
    /// The codes that `bytes` begin with; the bytes after them.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&header, rest) = bytes.split_first()?;
        let header = usize::from(header);
        if header < 128 {
            let (coded, rest) = rest.split_at_checked(header)?;
            return Some((Self::of_weights(coded_weights(coded)?)?, rest));
        }
        let count = header - 127;
        let (packed, rest) = rest.split_at_checked(count.div_ceil(2))?;
        let mut weights: Vec<u8> = packed.iter().flat_map(|two| [two >> 4, two & 15]).collect();
        weights.truncate(count);
        Some((Self::of_weights(weights)?, rest))
    }

    /// The codes of symbols with these weights, and of one more that fills the table.
    fn of_weights(mut weights: Vec<u8>) -> Option<Self> {
        let share = |weight: u8| if weight == 0 { 0 } else { 1_usize << (weight - 1) };
        let sum: usize = weights.iter().map(|weight| share(*weight)).sum();
        let longest = sum.checked_ilog2()? + 1;
        let left = (1 << longest) - sum;
        if longest > LONGEST || !left.is_power_of_two() {
            return None;
        }
        weights.push(left.ilog2() as u8 + 1);
        let mut codes = Vec::with_capacity(1 << longest);
        for weight in 1..=longest as u8 {
            for (symbol, _) in weights.iter().enumerate().filter(|(_, own)| **own == weight) {
                let code = (symbol as u8, longest + 1 - u32::from(weight));
                codes.extend(std::iter::repeat_n(code, share(weight)));
            }
        }
        Some(Self { codes, longest })
    }

    /// Appends the `count` symbols that `stream` codes.
    pub(crate) fn unpack(&self, stream: &[u8], count: usize, out: &mut Vec<u8>) -> Option<()> {
        let mut bits = Backward::new(stream)?;
        for _ in 0..count {
            let (symbol, length) = *self.codes.get(bits.peek(self.longest) as usize)?;
            bits.skip(length);
            out.push(symbol);
        }
        bits.is_done().then_some(())
    }
}

/// Weights that two cursors in one table give in turn.
fn coded_weights(bytes: &[u8]) -> Option<Vec<u8>> {
    let (table, rest) = Table::read(bytes, 256, 6)?;
    let mut bits = Backward::new(rest)?;
    let mut cursors = [Cursor::new(&table, &mut bits), Cursor::new(&table, &mut bits)];
    let mut weights = Vec::new();
    for turn in 0.. {
        let own = &mut cursors[turn % 2];
        weights.push(own.symbol());
        own.advance(&mut bits);
        if bits.is_overrun() {
            weights.push(cursors[(turn + 1) % 2].symbol());
            break;
        }
        if weights.len() > SYMBOLS {
            return None;
        }
    }
    let fit = weights.len() <= SYMBOLS && weights.iter().all(|it| u32::from(*it) <= LONGEST);
    fit.then_some(weights)
}
