//! The device code that cuda-oxide put into a program.
//!
//! Input: an executable. Output: its bundles, one for each crate with kernels, in the format of the
//! crate `oxide-artifacts` (versions 1 and 2): a header of 32 bytes, the names of bundle and
//! target, 24 bytes for each payload, 24 for each symbol, then the data they point at.

use fatbin::elf::{self, number, slice_of};

/// The section.
const SECTION: &str = ".oxart";

/// How every bundle begins.
const MAGIC: &[u8] = b"OXIDEART";

/// The bytes of the header.
const HEADER: usize = 32;

/// The bytes of the record of a payload.
const RECORD: usize = 24;

/// The bit of the options that says that multiplications and additions stay apart.
const NO_CONTRACTION: usize = 1;

/// Device code of one crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The package.
    pub name: String,
    /// Its target: `sm_80`.
    pub target: String,
    /// Whether multiplications and additions may have become one operation.
    pub contracts: bool,
    /// Its forms.
    pub payloads: Vec<Payload>,
}

/// One form of device code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// PTX.
    Ptx(String),
    /// Another one, which gpuprof does not launch.
    Other(&'static str),
}

impl Bundle {
    /// Its PTX.
    pub fn ptx(&self) -> Option<&str> {
        self.payloads.iter().find_map(|payload| match payload {
            Payload::Ptx(text) => Some(text.as_str()),
            Payload::Other(_) => None,
        })
    }

    /// Its content, if that is not PTX.
    pub fn other(&self) -> Option<&'static str> {
        self.payloads.iter().find_map(|payload| match payload {
            Payload::Ptx(_) => None,
            Payload::Other(what) => Some(*what),
        })
    }
}

/// The bundles of the executable `file`, in their order.
///
/// # Errors
/// What is wrong with the file or with a bundle.
pub fn bundles(file: &[u8]) -> Result<Vec<Bundle>, String> {
    let mut rest = elf::named(file, SECTION)?.unwrap_or_default();
    let mut found = Vec::new();
    loop {
        // The linker aligns the sections of several crates.
        let gap = rest.iter().take_while(|&&byte| byte == 0).count();
        rest = &rest[gap..];
        if rest.is_empty() {
            return Ok(found);
        }
        let wrong = |why: String| format!("its section {SECTION} cannot be read: {why}");
        let length = number::<4>(slice_of(rest, 0, HEADER).map_err(wrong)?, 12).map_err(wrong)?;
        if !rest.starts_with(MAGIC) || length < HEADER {
            return Err(wrong("there is no bundle where one should begin".to_owned()));
        }
        let (whole, after) =
            (slice_of(rest, 0, length).map_err(wrong)?, &rest[length.min(rest.len())..]);
        found.push(bundle(whole).map_err(wrong)?);
        rest = after;
    }
}

fn bundle(whole: &[u8]) -> Result<Bundle, String> {
    let version = number::<2>(whole, 8)?;
    if !(1..=2).contains(&version) {
        return Err(format!(
            "it has version {version} of the format, and this gpuprof knows 1 and 2"
        ));
    }
    let [name, target, payloads] = [16, 18, 20].map(|at| number::<2>(whole, at));
    let (name, target) = (name?, target?);
    let options = if version == 1 { 0 } else { number::<8>(whole, 24)? };
    let records = HEADER + name + target;
    let payload = |at: usize| {
        let record = slice_of(whole, records + at * RECORD, RECORD)?;
        payload(whole, record)
    };
    Ok(Bundle {
        name: text(whole, HEADER, name)?,
        target: text(whole, HEADER + name, target)?,
        contracts: options & NO_CONTRACTION == 0,
        payloads: (0..payloads?).map(payload).collect::<Result<_, _>>()?,
    })
}

fn payload(whole: &[u8], record: &[u8]) -> Result<Payload, String> {
    let (start, length) = (number::<4>(record, 4)?, number::<4>(record, 8)?);
    Ok(match number::<2>(record, 0)? {
        0x100 => {
            let ptx = text(whole, start, length)?;
            Payload::Ptx(ptx.trim_end_matches('\0').to_owned())
        }
        0x110 => Payload::Other("NVVM IR"),
        0x120 => Payload::Other("LTO IR"),
        0x200 => Payload::Other("a cubin"),
        _ => Payload::Other("code of an unknown kind"),
    })
}

fn text(whole: &[u8], start: usize, length: usize) -> Result<String, String> {
    let bytes = slice_of(whole, start, length)?.to_vec();
    String::from_utf8(bytes).map_err(|e| format!("it holds text that is none: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle as `oxide-artifacts` lays one out.
    fn laid_out(version: u16, options: u64, kind: u16, code: &[u8]) -> Vec<u8> {
        let (name, target) = ("kernels", "sm_80");
        let records = HEADER + name.len() + target.len();
        let start = records + RECORD;
        let mut whole = MAGIC.to_vec();
        whole.extend(version.to_le_bytes());
        whole.extend((HEADER as u16).to_le_bytes());
        whole.extend(((start + code.len()) as u32).to_le_bytes());
        for count in [name.len(), target.len(), 1, 0] {
            whole.extend((count as u16).to_le_bytes());
        }
        whole.extend(options.to_le_bytes());
        whole.extend(name.bytes().chain(target.bytes()));
        let mut record = vec![0; RECORD];
        record[..2].copy_from_slice(&kind.to_le_bytes());
        record[4..8].copy_from_slice(&(start as u32).to_le_bytes());
        record[8..12].copy_from_slice(&(code.len() as u32).to_le_bytes());
        whole.extend(record);
        whole.extend(code);
        whole
    }

    #[test]
    fn a_bundle_is_read_with_target_contraction_and_ptx() {
        let read = bundle(&laid_out(2, 1, 0x100, b".version 7.8\n\0")).unwrap();
        assert_eq!((read.name.as_str(), read.target.as_str()), ("kernels", "sm_80"));
        assert!(!read.contracts);
        assert_eq!(read.ptx(), Some(".version 7.8\n"));
        // Version 1 has no options: these bytes have no meaning.
        assert!(bundle(&laid_out(1, 1, 0x100, b"x")).unwrap().contracts);
        let other = bundle(&laid_out(1, 0, 0x110, b"\xff\xfe")).unwrap();
        assert_eq!((other.ptx(), other.other()), (None, Some("NVVM IR")));
    }

    #[test]
    fn files_without_a_bundle_are_refused() {
        let told = |whole: &[u8]| bundle(whole).unwrap_err();
        assert!(told(&laid_out(3, 0, 0x100, b"x")).contains("version 3 of the format"));
        assert!(told(&laid_out(1, 0, 0x100, b"\xff")).contains("text that is none"));
        let mut cut = laid_out(1, 0, 0x100, b"text");
        cut.truncate(cut.len() - 2);
        assert!(told(&cut).starts_with("it ends before byte"));
    }
}
