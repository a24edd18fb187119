//! The checksum of a journal line.
//!
//! A line is an object of JSON, and its first member is the CRC-32 of everything after that member.
//! Input: a line. Output: the line with its checksum, or whether the checksum is the line's.

const BEFORE: &[u8] = b"{\"crc32\":\"";
const AFTER: &[u8] = b"\",";
const DIGITS: usize = 8;

/// `line`, an object with at least one member, with its checksum.
pub(super) fn sealed(line: &[u8]) -> Vec<u8> {
    let rest = &line[1..];
    let sum = format!("{:08x}", crc32fast::hash(rest));
    [BEFORE, sum.as_bytes(), AFTER, rest].concat()
}

/// Whether `line` is unchanged since it was written; none if it has no checksum.
pub(super) fn holds(line: &[u8]) -> Option<bool> {
    let (sum, rest) = line.strip_prefix(BEFORE)?.split_at_checked(DIGITS)?;
    let rest = rest.strip_prefix(AFTER)?;
    Some(sum == format!("{:08x}", crc32fast::hash(rest)).as_bytes())
}
