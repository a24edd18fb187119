#![doc = include_str!("../README.md")]
//!
//! Input: the bytes of a fatbin or of a cubin. Output: the members of a fatbin, and the content of
//! each on request; the sections, symbols, machine code and PTX lines of a cubin. A damaged file is
//! an error with its reason, never a panic.

mod bits;
pub mod code;
pub mod elf;
mod entropy;
mod huffman;
pub mod lines;
mod lz4;
mod sequences;
pub mod symbols;
mod zstd;

use elf::{number, slice_of};
use std::borrow::Cow;

/// The folder of this crate's source, for a tool that compiles it with one `rustc` call.
/// Empty in a build that cargo did not make.
pub const SOURCE_DIR: &str = match option_env!("CARGO_MANIFEST_DIR") {
    Some(directory) => directory,
    None => "",
};

/// How a fatbin begins.
pub const MAGIC: &[u8] = b"\x50\xed\x55\xba";

/// The bytes at the start of a fatbin that state its size.
pub const HEADER: usize = 16;

/// The kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
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

/// A part of a fatbin.
#[derive(Debug, Clone, Copy)]
pub struct Member<'f> {
    /// Its kind.
    pub content: Content,
    /// The compute capability that it is for, without its dot: 90.
    pub architecture: u32,
    header: &'f [u8],
    payload: &'f [u8],
}

/// The number of bytes of the fatbin that begins with these bytes.
///
/// # Errors
/// There are fewer than [`HEADER`].
pub fn size(file: &[u8]) -> Result<usize, String> {
    Ok(number::<2>(file, 6)?.saturating_add(number::<8>(file, 8)?))
}

/// The cubins and the PTX of `file`, in its order.
///
/// # Errors
/// It is cut off or damaged.
pub fn members(file: &[u8]) -> Result<Vec<Member<'_>>, String> {
    let mut members = Vec::new();
    let mut at = number::<2>(file, 6)?;
    let end = size(file)?;
    while at < end {
        let header_size = number::<4>(file, at + 4)?;
        let size = number::<8>(file, at + 8)?;
        let payload = slice_of(file, at.saturating_add(header_size), size)?;
        let header = slice_of(file, at, header_size)?;
        let content = match number::<2>(file, at)? {
            1 => Some(Content::Ptx),
            2 => Some(Content::Cubin),
            _ => None,
        };
        if let Some(content) = content {
            let architecture = number::<4>(header, 28)? as u32;
            members.push(Member { content, architecture, header, payload });
        }
        if header_size + size == 0 {
            return Err("its headers have no size".to_owned());
        }
        at = at.saturating_add(header_size).saturating_add(size);
    }
    Ok(members)
}

impl<'f> Member<'f> {
    /// Its content, no longer compressed; PTX without the zeros that fill it up.
    ///
    /// # Errors
    /// It is damaged.
    pub fn unpacked(&self) -> Result<Cow<'f, [u8]>, String> {
        let flags = number::<4>(self.header, 40)?;
        if flags & (LZ4 | ZSTD) == 0 {
            let zeros = self.payload.iter().rev().take_while(|byte| **byte == 0).count();
            let kept = match self.content {
                Content::Ptx => self.payload.len() - zeros,
                Content::Cubin => self.payload.len(),
            };
            return Ok(Cow::Borrowed(&self.payload[..kept]));
        }
        let compressed = slice_of(self.payload, 0, number::<4>(self.header, 16)?)?;
        let size = number::<8>(self.header, 56)?;
        if size > LARGEST {
            return Err(format!("a compressed part of it claims to hold {size} bytes"));
        }
        let bytes = match flags & ZSTD {
            0 => lz4::unpacked(compressed, size),
            _ => zstd::unpacked(compressed, size),
        };
        bytes.map(Cow::Owned).ok_or_else(|| "its compressed part is damaged".to_owned())
    }
}

#[cfg(test)]
mod tests;
