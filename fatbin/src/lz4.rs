//! Blocks of LZ4, in which fatbins of CUDA 12 and before hold what is compressed.
//!
//! Input: a block and the size of its content. Output: the content, or an error if the block is
//! damaged. The format: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.

/// The shortest match.
const MIN_MATCH: usize = 4;

/// The `size` bytes that `block` holds, unless it holds fewer or more, or refers to what is not
/// there.
pub(crate) fn unpacked(block: &[u8], size: usize) -> Option<Vec<u8>> {
    sequences(block, size).filter(|bytes| bytes.len() == size)
}

fn sequences(block: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = block;
    loop {
        let token = usize::from(next(&mut rest)?);
        let literals = length(token >> 4, &mut rest)?;
        out.extend_from_slice(rest.split_off(..literals)?);
        if rest.is_empty() {
            return Some(out);
        }
        let back = usize::from(u16::from_le_bytes([next(&mut rest)?, next(&mut rest)?]));
        let start = out.len().checked_sub(back).filter(|_| back > 0)?;
        let matched = length(token & 0xf, &mut rest)? + MIN_MATCH;
        if out.len() + matched > size {
            return None;
        }
        // A match may overlap with its own output.
        for at in start..start + matched {
            out.push(out[at]);
        }
    }
}

fn next(rest: &mut &[u8]) -> Option<u8> {
    rest.split_off_first().copied()
}

/// A length with `short` as its first four bits: 15 means that more follows.
fn length(short: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut length = short;
    let mut more = short == 15;
    while more {
        let byte = next(rest)?;
        length = length.checked_add(usize::from(byte))?;
        more = byte == 255;
    }
    Some(length)
}
