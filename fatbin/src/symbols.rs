//! The symbols of a cubin, an ELF file with a section of code for each function.

use crate::elf::{Sections, number, slice_of};

/// The bytes of a symbol.
const SYMBOL: usize = 24;

/// The types of symbols.
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;

/// The bit of a function that the host can launch (`STO_CUDA_ENTRY`).
const ENTRY: u8 = 0x10;

/// A symbol.
#[derive(Debug, Clone, Copy)]
pub struct Symbol<'f> {
    /// Its name; empty if that is not text.
    pub name: &'f str,
    /// The number of its section.
    pub section: usize,
    /// Its offset in the section, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    kind: u8,
    other: u8,
}

impl Symbol<'_> {
    /// Whether it is a function.
    #[must_use]
    pub fn is_function(&self) -> bool {
        self.kind == FUNCTION
    }

    /// Whether it is a function that the host can launch.
    #[must_use]
    pub fn is_entry(&self) -> bool {
        self.is_function() && self.other & ENTRY != 0
    }

    /// Whether it is a variable.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.kind == OBJECT
    }
}

/// The symbols, in their order.
///
/// # Errors
/// The file is cut off.
pub fn symbols<'f>(sections: &Sections<'f>) -> Result<Vec<Symbol<'f>>, String> {
    let named = |name| sections.named(name).map_or(Ok(&[][..]), |section| section.bytes());
    let (table, names) = (named(".symtab")?, named(".strtab")?);
    let symbol = |record: &'f [u8]| {
        Ok(Symbol {
            name: text(names, number::<4>(record, 0)?),
            kind: record[4] & 0xf,
            other: record[5],
            section: number::<2>(record, 6)?,
            offset: number::<8>(record, 8)? as u64,
            size: number::<8>(record, 16)? as u64,
        })
    };
    table.chunks_exact(SYMBOL).map(symbol).collect()
}

/// The text in `names` that begins at `start`.
fn text(names: &[u8], start: usize) -> &str {
    let rest = names.get(start..).unwrap_or_default();
    let name = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    str::from_utf8(name).unwrap_or_default()
}

/// The system and version of cubins from CUDA 13 on.
const SINCE_13: u8 = 0x41;

/// The compute capability that a cubin is for, without its dot: 90.
///
/// # Errors
/// The file is cut off.
pub fn compute_capability(file: &[u8]) -> Result<u32, String> {
    let flags = number::<4>(file, 0x30)?;
    Ok(if is_since_13(file)? { flags >> 8 & 0xff } else { flags & 0xff } as u32)
}

/// The target of a cubin: `sm_90`.
///
/// # Errors
/// The file is cut off.
pub fn target(file: &[u8]) -> Result<String, String> {
    // In newer files, whether it needs features of this one architecture stands elsewhere.
    let is_alone = !is_since_13(file)? && number::<4>(file, 0x30)? & 0x800 != 0;
    Ok(format!("sm_{}{}", compute_capability(file)?, if is_alone { "a" } else { "" }))
}

fn is_since_13(file: &[u8]) -> Result<bool, String> {
    Ok(slice_of(file, 7, 1)?[0] == SINCE_13)
}
