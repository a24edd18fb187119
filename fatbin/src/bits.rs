//! Bits of a compressed part of Zstandard, in both directions.

/// The number of all `bytes`, low byte first.
pub(crate) fn little(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte))
}

/// The `count` bits at bit `at`, at most 56; those beyond the end are zero.
fn window(bytes: &[u8], at: usize, count: u32) -> u64 {
    let rest = bytes.get(at / 8..).unwrap_or_default();
    let mut wide = [0; 8];
    let kept = rest.len().min(8);
    wide[..kept].copy_from_slice(&rest[..kept]);
    u64::from_le_bytes(wide) >> (at % 8) & ((1 << count) - 1)
}

/// Reads from the first bit on.
#[derive(Debug)]
pub(crate) struct Forward<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Forward<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn peek(&self, count: u32) -> u64 {
        window(self.bytes, self.at, count)
    }

    pub(crate) fn take(&mut self, count: u32) -> u64 {
        let value = self.peek(count);
        self.at += count as usize;
        value
    }

    /// The bytes after those from which a bit was read.
    pub(crate) fn rest(self) -> Option<&'b [u8]> {
        self.bytes.get(self.at.div_ceil(8)..)
    }
}

/// Reads backwards from the bit below the highest set one.
#[derive(Debug)]
pub(crate) struct Backward<'b> {
    bytes: &'b [u8],
    /// How many bits were not read yet; below zero, how many zeros were read in front of them.
    left: isize,
}

impl<'b> Backward<'b> {
    /// The bits of `bytes`, the last of which has at least one.
    pub(crate) fn new(bytes: &'b [u8]) -> Option<Self> {
        let last = bytes.last().filter(|last| **last != 0)?;
        let left = 8 * bytes.len() as isize - last.leading_zeros() as isize - 1;
        Some(Self { bytes, left })
    }

    /// The next `count` bits, at most 56, with zeros in front of the first.
    pub(crate) fn peek(&self, count: u32) -> u64 {
        let start = self.left - count as isize;
        match usize::try_from(start) {
            Ok(start) => window(self.bytes, start, count),
            Err(_) => match self.left {
                ..=0 => 0,
                left => window(self.bytes, 0, left as u32) << (count as isize - left),
            },
        }
    }

    pub(crate) fn skip(&mut self, count: u32) {
        self.left -= count as isize;
    }

    pub(crate) fn take(&mut self, count: u32) -> u64 {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// Whether exactly all bits were read.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Whether more than all bits were read.
    pub(crate) fn is_overrun(&self) -> bool {
        self.left < 0
    }
}
