//! The section of an ELF file that has a certain name.
//!
//! Input: the bytes of an executable for a 64-bit machine that stores the low byte first, as all do
//! that gpuprof runs on. Output: the section's bytes, or why they cannot be had.

/// The bytes of a section header.
const HEADER: usize = 64;

/// The type of a section that has no bytes in the file.
const NO_BITS: u32 = 8;

/// The bytes of the section `name`; none where the file has no such section.
///
/// # Errors
/// What is wrong with the file.
pub(crate) fn named<'f>(file: &'f [u8], name: &str) -> Result<Option<&'f [u8]>, String> {
    if file.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err("it is no ELF file for a 64-bit machine".to_owned());
    }
    let first = number::<8>(file, 0x28)?;
    let size = number::<2>(file, 0x3a)?;
    let count = number::<2>(file, 0x3c)?;
    let of_names = number::<2>(file, 0x3e)?;
    if count > 0 && size < HEADER {
        return Err("its section headers are too small".to_owned());
    }
    let header = |at: usize| part(file, first.saturating_add(at.saturating_mul(size)), HEADER);
    let bytes = |header: &[u8]| {
        let kind = number::<4>(header, 4)?;
        if kind == NO_BITS as usize {
            return Ok(&file[..0]);
        }
        part(file, number::<8>(header, 0x18)?, number::<8>(header, 0x20)?)
    };
    let names = if count == 0 { &file[..0] } else { bytes(header(of_names)?)? };
    for at in 0..count {
        let header = header(at)?;
        let called = names.get(number::<4>(header, 0)?..).unwrap_or_default();
        let called = called.split(|&byte| byte == 0).next().unwrap_or_default();
        if called == name.as_bytes() {
            return bytes(header).map(Some);
        }
    }
    Ok(None)
}

/// The bytes `length` from `start` on.
///
/// # Errors
/// The file ends before.
pub(crate) fn part(file: &[u8], start: usize, length: usize) -> Result<&[u8], String> {
    let end = start.checked_add(length);
    end.and_then(|end| file.get(start..end)).ok_or_else(|| {
        format!("it ends before byte {} ({} bytes)", start.saturating_add(length), file.len())
    })
}

/// The number of `N` bytes at `start`.
///
/// # Errors
/// The file ends before, or no address is so large.
pub(crate) fn number<const N: usize>(file: &[u8], start: usize) -> Result<usize, String> {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(part(file, start, N)?);
    usize::try_from(u64::from_le_bytes(wide)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_of_this_executable_is_found_by_its_name() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let comment = named(&file, ".comment").unwrap().expect("compilers leave one");
        assert!(memchr::memmem::find(comment, b"rustc").is_some());
        assert_eq!(named(&file, ".oxart.not.there").unwrap(), None);
        let bss = named(&file, ".bss").unwrap().expect("every program has one");
        assert_eq!(bss, b"");
    }

    #[test]
    fn a_file_that_is_cut_off_is_told_and_not_read() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(named(b"#!/bin/sh", ".oxart").unwrap_err().contains("no ELF file"));
        for length in [16, 64, 4096] {
            let told = named(&file[..length], ".oxart").unwrap_err();
            assert!(told.starts_with("it ends before byte"), "{told}");
        }
    }
}
