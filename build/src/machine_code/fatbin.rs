//! A fatbin: cubins and PTX one after the other, each with a header.

use std::borrow::Cow;

use super::lz4;
use crate::elf::{number, part};

/// How it begins.
pub(super) const MAGIC: &[u8] = b"\x50\xed\x55\xba";

/// The content of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// PTX.
    Ptx,
    /// A cubin.
    Cubin,
}

/// The bits of a member that say how it is compressed.
const LZ4: usize = 0x2000;
const ZSTD: usize = 0x8000;

/// The most that a compressed member may become.
const LARGEST: usize = 1 << 30;

/// A part of a fatbin, no longer compressed.
#[derive(Debug)]
pub(super) struct Member<'f> {
    pub(super) content: Content,
    pub(super) bytes: Cow<'f, [u8]>,
}

/// The cubins and the PTX of `file`.
///
/// # Errors
/// It is cut off or damaged.
pub(super) fn members(file: &[u8]) -> Result<Vec<Member<'_>>, String> {
    let mut members = Vec::new();
    let mut at = number::<2>(file, 6)?;
    let end = at.saturating_add(number::<8>(file, 8)?);
    while at < end {
        let header = number::<4>(file, at + 4)?;
        let size = number::<8>(file, at + 8)?;
        let payload = part(file, at.saturating_add(header), size)?;
        let content = match number::<2>(file, at)? {
            1 => Some(Content::Ptx),
            2 => Some(Content::Cubin),
            _ => None,
        };
        if let Some(content) = content {
            let bytes = unpacked(part(file, at, header)?, payload)?;
            members.push(Member { content, bytes: without_padding(content, bytes) });
        }
        if header + size == 0 {
            return Err("its headers have no size".to_owned());
        }
        at = at.saturating_add(header).saturating_add(size);
    }
    Ok(members)
}

/// The `payload` of a member with this `header`.
fn unpacked<'f>(header: &[u8], payload: &'f [u8]) -> Result<Cow<'f, [u8]>, String> {
    let flags = number::<4>(header, 40)?;
    if flags & (LZ4 | ZSTD) == 0 {
        return Ok(Cow::Borrowed(payload));
    }
    let compressed = part(payload, 0, number::<4>(header, 16)?)?;
    let size = number::<8>(header, 56)?;
    if size > LARGEST {
        return Err(format!("a compressed part of it claims to hold {size} bytes"));
    }
    let bytes = match flags & ZSTD {
        0 => lz4::unpacked(compressed, size)?,
        _ => zstd::bulk::decompress(compressed, size)
            .map_err(|e| format!("its compressed part is damaged: {e}"))?,
    };
    Ok(Cow::Owned(bytes))
}

/// PTX without the zeros that fill its member up.
fn without_padding(content: Content, bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    match (content, bytes) {
        (Content::Ptx, Cow::Borrowed(bytes)) => Cow::Borrowed(&bytes[..bytes.len() - zeros]),
        (_, bytes) => bytes,
    }
}
