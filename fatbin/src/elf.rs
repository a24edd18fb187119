//! The sections of an ELF file.
//!
//! Input: the bytes of a file for a 64-bit machine that stores the low byte first, such as a GPU.
//! Output: the sections by their names, or what is wrong with the file.

/// The bytes of a section header.
const HEADER: usize = 64;

/// The type of a section that has no bytes in the file.
const NO_BITS: usize = 8;

/// A section.
#[derive(Debug, Clone, Copy)]
pub struct Section<'f> {
    /// Its name; empty if that is not text.
    pub name: &'f str,
    header: &'f [u8],
    file: &'f [u8],
}

impl<'f> Section<'f> {
    /// Its bytes; none where the file has none of them.
    ///
    /// # Errors
    /// The file ends before.
    pub fn bytes(&self) -> Result<&'f [u8], String> {
        match number::<4>(self.header, 4)? {
            NO_BITS => Ok(&[]),
            _ => slice_of(
                self.file,
                number::<8>(self.header, 0x18)?,
                number::<8>(self.header, 0x20)?,
            ),
        }
    }
}

/// The sections of a file, in their order.
#[derive(Debug)]
pub struct Sections<'f>(Vec<Section<'f>>);

impl<'f> Sections<'f> {
    /// Those of `file`.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn parse(file: &'f [u8]) -> Result<Self, String> {
        if file.get(..6) != Some(b"\x7fELF\x02\x01") {
            return Err("it is not an ELF file for a 64-bit machine".to_owned());
        }
        let first = number::<8>(file, 0x28)?;
        let size = number::<2>(file, 0x3a)?;
        let count = number::<2>(file, 0x3c)?;
        let of_names = number::<2>(file, 0x3e)?;
        if count > 0 && size < HEADER {
            return Err("its section headers are too small".to_owned());
        }
        let section = |at: usize| {
            let start = first.saturating_add(at.saturating_mul(size));
            Ok::<_, String>(Section { name: "", header: slice_of(file, start, HEADER)?, file })
        };
        let names = if count == 0 { &[][..] } else { section(of_names)?.bytes()? };
        let named = |at| {
            let section = section(at)?;
            let name = names.get(number::<4>(section.header, 0)?..).unwrap_or_default();
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            Ok(Section { name: str::from_utf8(name).unwrap_or_default(), ..section })
        };
        (0..count).map(named).collect::<Result<_, _>>().map(Self)
    }

    /// The first section called `name`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Section<'f>> {
        self.0.iter().find(|section| section.name == name)
    }

    /// The section with this number.
    #[must_use]
    pub fn at(&self, number: usize) -> Option<&Section<'f>> {
        self.0.get(number)
    }
}

/// The bytes of the section `name`; none where the file has no such section.
///
/// # Errors
/// What is wrong with the file.
pub fn named<'f>(file: &'f [u8], name: &str) -> Result<Option<&'f [u8]>, String> {
    Sections::parse(file)?.named(name).map(Section::bytes).transpose()
}

/// The bytes `length` from `start` on.
///
/// # Errors
/// The file ends before.
pub fn slice_of(file: &[u8], start: usize, length: usize) -> Result<&[u8], String> {
    let end = start.checked_add(length);
    end.and_then(|end| file.get(start..end)).ok_or_else(|| {
        format!("it ends before byte {} ({} bytes)", start.saturating_add(length), file.len())
    })
}

/// The number of `N` bytes at `start`.
///
/// # Errors
/// The file ends before, or no address is so large.
pub fn number<const N: usize>(file: &[u8], start: usize) -> Result<usize, String> {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(slice_of(file, start, N)?);
    usize::try_from(u64::from_le_bytes(wide)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_of_this_executable_is_found_by_its_name() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let comment = named(&file, ".comment").unwrap().expect("compilers leave one");
        assert!(comment.windows(5).any(|word| word == b"rustc"));
        assert_eq!(named(&file, ".oxart.not.there").unwrap(), None);
        let bss = named(&file, ".bss").unwrap().expect("every program has one");
        assert_eq!(bss, b"");
    }

    #[test]
    fn a_truncated_file_is_refused() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(named(b"#!/bin/sh", ".oxart").unwrap_err().contains("not an ELF file"));
        for length in [16, 64, 4096] {
            let told = named(&file[..length], ".oxart").unwrap_err();
            assert!(told.starts_with("it ends before byte"), "{told}");
        }
    }
}
