//! Frames of Zstandard, in which CUDA 12.4 and newer keep PTX in fatbins.
//!
//! Input: a frame and the size of its content. Output: the content, or none if the frame is
//! damaged. The format: RFC 8878. Dictionaries do not occur, and a checksum of the content is not
//! compared.

use crate::bits::little;
use crate::huffman::Codes;
use crate::sequences::{self, History};

const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// The `size` bytes that `frame` holds.
pub(crate) fn unpacked(frame: &[u8], size: usize) -> Option<Vec<u8>> {
    let rest = frame.strip_prefix(MAGIC)?;
    let (&descriptor, mut rest) = rest.split_first()?;
    let single = descriptor >> 5 & 1 == 1;
    let of_size = match descriptor >> 6 {
        0 => usize::from(single),
        wide => 1 << wide,
    };
    // Reserved, or with a dictionary.
    if descriptor & 0b1011 != 0 {
        return None;
    }
    rest = rest.get(usize::from(!single) + of_size..)?;
    let mut out = Vec::new();
    let mut history = History::default();
    loop {
        let (header, after) = rest.split_at_checked(3)?;
        let header = little(header);
        let (kind, bytes) = (header >> 1 & 3, header >> 3);
        let stored = if kind == 1 { 1 } else { bytes };
        let (block, after) = after.split_at_checked(stored)?;
        match kind {
            0 => out.extend_from_slice(block),
            1 => out.resize(out.len().saturating_add(bytes).min(size + 1), block[0]),
            2 => history.unpack(block, &mut out, size)?,
            _ => return None,
        }
        if out.len() > size {
            return None;
        }
        if header & 1 == 1 {
            return (out.len() == size).then_some(out);
        }
        rest = after;
    }
}

impl History {
    /// Appends the content of a compressed block.
    fn unpack(&mut self, block: &[u8], out: &mut Vec<u8>, size: usize) -> Option<()> {
        let (literals, rest) = self.literals(block)?;
        sequences::unpack(self, rest, &literals, out, size)
    }

    /// The literals that a block begins with, and its bytes after them.
    fn literals<'b>(&mut self, block: &'b [u8]) -> Option<(Vec<u8>, &'b [u8])> {
        let first = usize::from(*block.first()?);
        let (kind, form) = (first & 3, first >> 2 & 3);
        if kind < 2 {
            let (width, shift) = [(1, 3), (2, 4), (1, 3), (3, 4)][form];
            let (header, rest) = block.split_at_checked(width)?;
            let count = little(header) >> shift;
            if kind == 1 {
                let (&byte, rest) = rest.split_first()?;
                return Some((vec![byte; count], rest));
            }
            let (literals, rest) = rest.split_at_checked(count)?;
            return Some((literals.to_vec(), rest));
        }
        let (width, bits) = [(3, 10), (3, 10), (4, 14), (5, 18)][form];
        let (header, rest) = block.split_at_checked(width)?;
        let sizes = little(header) >> 4;
        let (count, stored) = (sizes & ((1 << bits) - 1), sizes >> bits);
        let (mut coded, rest) = rest.split_at_checked(stored)?;
        if kind == 2 {
            let (codes, after) = Codes::read(coded)?;
            (self.codes, coded) = (Some(codes), after);
        }
        let codes = self.codes.as_ref()?;
        let literals =
            if form == 0 { one_stream(codes, coded, count) } else { four(codes, coded, count) };
        Some((literals?, rest))
    }
}

fn one_stream(codes: &Codes, coded: &[u8], count: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    codes.unpack(coded, count, &mut out)?;
    Some(out)
}

/// Literals in four streams, of which the first six bytes state the sizes of three.
fn four(codes: &Codes, coded: &[u8], count: usize) -> Option<Vec<u8>> {
    let (sizes, mut rest) = coded.split_at_checked(6)?;
    let each = count.div_ceil(4);
    let mut out = Vec::new();
    for size in sizes.chunks(2) {
        let (stream, after) = rest.split_at_checked(little(size))?;
        codes.unpack(stream, each, &mut out)?;
        rest = after;
    }
    codes.unpack(rest, count.checked_sub(3 * each)?, &mut out)?;
    Some(out)
}
