//! The sequences of a block of Zstandard: literals to take, then a match to copy (RFC 8878, 3.1.1).

use crate::bits::{Backward, little};
use crate::entropy::{Cursor, Table};
use crate::huffman::Codes;

/// The state that blocks hand on to the next one.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) codes: Option<Codes>,
    tables: [Option<Table>; 3],
    offsets: [usize; 3],
}

impl Default for History {
    fn default() -> Self {
        Self { codes: None, tables: [None, None, None], offsets: [1, 4, 8] }
    }
}

/// One of the three numbers of a sequence, with the predefined counts of its codes.
struct Kind {
    /// The highest number of symbols, and the highest accuracy of a table.
    symbols: usize,
    most: u32,
    accuracy: u32,
    counts: &'static [i32],
}

/// Lengths of literals, offsets and lengths of matches, as blocks list their tables.
const KINDS: [Kind; 3] = [
    Kind {
        symbols: 36,
        most: 9,
        accuracy: 6,
        counts: &[
            4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1,
            1, 1, 1, -1, -1, -1, -1,
        ],
    },
    Kind {
        symbols: 32,
        most: 8,
        accuracy: 5,
        counts: &[
            1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1,
            -1,
        ],
    },
    Kind {
        symbols: 53,
        most: 9,
        accuracy: 6,
        counts: &[
            1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
        ],
    },
];

/// The bits that follow each code for a range of lengths; each code before is one length.
const LITERAL_BITS: [u32; 20] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const MATCH_BITS: [u32; 21] =
    [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// The length of `code`; the first codes are the lengths from `least` on.
fn length(code: u8, least: usize, extra: &[u32], bits: &mut Backward<'_>) -> Option<usize> {
    let code = usize::from(code);
    let single = if least == 0 { 16 } else { 32 };
    let Some(at) = code.checked_sub(single) else { return Some(least + code) };
    let own = *extra.get(at)?;
    let before: usize = extra[..at].iter().map(|bits| 1 << bits).sum();
    Some(least + single + before + bits.take(own) as usize)
}

/// Appends the content of a block with these `literals` and `coded` sequences.
pub(crate) fn unpack(
    history: &mut History,
    coded: &[u8],
    literals: &[u8],
    out: &mut Vec<u8>,
    size: usize,
) -> Option<()> {
    let (count, rest) = count(coded)?;
    let mut literals = literals;
    if count > 0 {
        let (&modes, mut rest) = rest.split_first()?;
        for (at, kind) in KINDS.iter().enumerate() {
            rest = history.tables[at].choose(modes >> (6 - 2 * at) & 3, kind, rest)?;
        }
        let [Some(literal), Some(offset), Some(matched)] = &history.tables else { return None };
        let mut bits = Backward::new(rest)?;
        let mut literal = Cursor::new(literal, &mut bits);
        let mut offset = Cursor::new(offset, &mut bits);
        let mut matched = Cursor::new(matched, &mut bits);
        for left in (0..count).rev() {
            let code = u32::from(offset.symbol());
            if code >= 32 {
                return None;
            }
            let back = (1 << code) + bits.take(code) as usize;
            let copied = length(matched.symbol(), 3, &MATCH_BITS, &mut bits)?;
            let taken = length(literal.symbol(), 0, &LITERAL_BITS, &mut bits)?;
            out.extend_from_slice(literals.split_off(..taken)?);
            let back = distance(&mut history.offsets, back, taken == 0)?;
            copy(out, back, copied, size)?;
            if left > 0 {
                literal.advance(&mut bits);
                matched.advance(&mut bits);
                offset.advance(&mut bits);
            }
        }
        if !bits.is_done() {
            return None;
        }
    }
    out.extend_from_slice(literals);
    Some(())
}

/// How many sequences follow.
fn count(coded: &[u8]) -> Option<(usize, &[u8])> {
    let first = usize::from(*coded.first()?);
    let (width, count) = match first {
        0..128 => (1, first),
        128..255 => (2, ((first - 128) << 8) + usize::from(*coded.get(1)?)),
        _ => (3, little(coded.get(1..3)?) + 0x7f00),
    };
    Some((count, coded.get(width..)?))
}

/// A table that the block chooses.
trait Choose {
    /// Takes a table by `mode`: predefined, of one symbol, from `bytes`, or the last one;
    /// the bytes after it.
    fn choose<'b>(&mut self, mode: u8, kind: &Kind, bytes: &'b [u8]) -> Option<&'b [u8]>;
}

impl Choose for Option<Table> {
    fn choose<'b>(&mut self, mode: u8, kind: &Kind, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let (table, rest) = match mode {
            0 => (Table::of_counts(kind.counts, kind.accuracy)?, bytes),
            1 => {
                let (&symbol, rest) = bytes.split_first()?;
                (Table::of_one(symbol), rest)
            }
            2 => Table::read(bytes, kind.symbols, kind.most)?,
            _ => return self.is_some().then_some(bytes),
        };
        *self = Some(table);
        Some(rest)
    }
}

/// The distance back to a match: the first three values mean the last three distances.
fn distance(last: &mut [usize; 3], value: usize, no_literals: bool) -> Option<usize> {
    let back = if value > 3 {
        value - 3
    } else {
        match value - 1 + usize::from(no_literals) {
            3 => last[0].checked_sub(1)?,
            at => last[at],
        }
    };
    let at = match value {
        4.. => 2,
        _ => (value - 1 + usize::from(no_literals)).min(2),
    };
    last.copy_within(..at, 1);
    last[0] = back;
    Some(back)
}

/// Appends `count` bytes from `back` before the end, which may overlap with their copy.
fn copy(out: &mut Vec<u8>, back: usize, count: usize, size: usize) -> Option<()> {
    let start = out.len().checked_sub(back).filter(|_| back > 0)?;
    if out.len() + count > size {
        return None;
    }
    for at in start..start + count {
        out.push(out[at]);
    }
    Some(())
}
