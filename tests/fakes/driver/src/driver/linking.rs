//! The linker: PTX becomes a cubin with a line table, in which each instruction of a kernel's
//! listing has 16 bytes. The PTX follows its header, and runs when the cubin is loaded.

use std::ffi::{c_uint, c_void};
use std::sync::Mutex;

use super::code::Code;
use super::pointers::{Out, Source};
use crate::counters::Listing;
use crate::device::Device;

/// The bytes of a cubin of ours at its padding.
const MARK: &[u8; 7] = b"FAKECUB";
const HEADER: usize = 64;

/// The last cubin, which its user reads until it destroys the linker.
static LINKED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The PTX of `image`, if it is a cubin of ours.
pub fn text<'t>(image: Source) -> Option<&'t str> {
    let header: &[u8] = image.bytes(HEADER).ok()?;
    let size = usize::try_from(u64::from_le_bytes(header[0x20..0x28].try_into().ok()?)).ok()?;
    let bytes = (header[9..16] == *MARK).then(|| image.bytes(HEADER + size).ok())??;
    str::from_utf8(&bytes[HEADER..]).ok()
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkCreate_v2(
    _count: c_uint,
    _options: *mut c_void,
    _values: *mut c_void,
    linker: Out<usize>,
) -> Code {
    linker.set(1).into()
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkAddData_v2(_linker: usize, _kind: c_uint, data: Source, size: usize) -> Code {
    let text = data.bytes(size.saturating_sub(1)).map(String::from_utf8_lossy);
    let added = text.and_then(|text| {
        let cubin = cubin(&text).ok_or(Code::INVALID_PTX)?;
        *LINKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = cubin;
        Ok(())
    });
    added.into()
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkComplete(_linker: usize, cubin: Out<*const u8>, size: Out<usize>) -> Code {
    let linked = LINKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    cubin.set(linked.as_ptr()).and_then(|()| size.set(linked.len())).into()
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkDestroy(_linker: usize) -> Code {
    Code::SUCCESS
}

/// A section: its name, its type, and its bytes.
type Section = (String, u32, Vec<u8>);

/// The cubin of the PTX `text`; none if the emulator cannot read it.
fn cubin(text: &str) -> Option<Vec<u8>> {
    let module = Device::default().load(text).ok()?;
    let kernels: Vec<&Listing> = module.kernels().iter().map(|it| &**it.listing()).collect();
    let (mut names, mut symbols) = (vec![0], vec![0; 24]);
    let (mut lines, mut places) = (vec![], vec![]);
    let mut code: Vec<Section> = Vec::new();
    lines.extend([1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0]);
    for (at, listing) in kernels.iter().enumerate() {
        let name = u32::try_from(names.len()).ok()?;
        names.extend(listing.kernel.bytes().chain([0]));
        symbols.extend(name.to_le_bytes());
        symbols.extend([0x12, 0x10]);
        // After the section of nothing and six others.
        symbols.extend(u16::try_from(7 + at).ok()?.to_le_bytes());
        symbols.extend([0; 16]);
        lines.extend([0, 9, 2]);
        places.extend((10 + lines.len() as u64).to_le_bytes());
        places.extend((2 | (at as u64 + 1) << 32).to_le_bytes());
        places.extend([0; 8]);
        lines.extend([0; 8]);
        let mut last = 1;
        for line in instructions(listing) {
            lines.push(3);
            lines.extend(signed(i64::from(line) - last));
            // A row, and 16 bytes.
            lines.extend([1, 2, 16]);
            last = line.into();
        }
        lines.extend([0, 1, 1]);
        code.push((format!(".text.{}", listing.kernel), 1, Vec::new()));
    }
    let mut table = (u32::try_from(lines.len()).ok()? + 6).to_le_bytes().to_vec();
    table.extend([2, 0, 16, 0, 0, 0]);
    table.extend(lines);
    let mut sections: Vec<Section> = vec![
        (String::new(), 0, Vec::new()),
        (".shstrtab".into(), 3, Vec::new()),
        (".strtab".into(), 3, names),
        (".symtab".into(), 2, symbols),
        (".nv_debug_line_sass".into(), 1, table),
        (".rela.nv_debug_line_sass".into(), 4, places),
        (".ptx".into(), 1, Vec::new()),
    ];
    sections.extend(code);
    Some(elf(text, sections))
}

/// The PTX line of each instruction.
fn instructions(listing: &Listing) -> impl Iterator<Item = u32> {
    let lines = listing.lines.iter().filter(|line| !line.text.ends_with(':'));
    lines.map(|line| line.ptx_line)
}

/// A LEB128.
fn signed(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        let done = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
        bytes.push(if done { byte } else { byte | 0x80 });
        if done {
            return bytes;
        }
    }
}

/// An ELF file of these sections, the second of which gets their names, with `text` behind its
/// header.
fn elf(text: &str, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = Vec::new();
    let at: Vec<usize> = sections
        .iter()
        .map(|(name, ..)| {
            names.extend(name.bytes().chain([0]));
            names.len() - name.len() - 1
        })
        .collect();
    sections[1].2 = names;
    let mut file = vec![0; HEADER];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[7] = 0x41;
    file[9..16].copy_from_slice(MARK);
    file[0x12] = 190;
    file[0x20..0x28].copy_from_slice(&(text.len() as u64).to_le_bytes());
    file.extend(text.bytes());
    let mut headers = Vec::new();
    for ((_, kind, bytes), name) in sections.iter().zip(at) {
        headers.extend(u32::try_from(name).unwrap_or(0).to_le_bytes());
        headers.extend(kind.to_le_bytes());
        headers.extend([0; 16]);
        headers.extend((file.len() as u64).to_le_bytes());
        headers.extend((bytes.len() as u64).to_le_bytes());
        headers.extend([0; 24]);
        file.extend(bytes);
    }
    let start = file.len() as u64;
    file.extend(headers);
    file[0x28..0x30].copy_from_slice(&start.to_le_bytes());
    file[0x3a..0x3c].copy_from_slice(&64u16.to_le_bytes());
    file[0x3c..0x3e].copy_from_slice(&(sections.len() as u16).to_le_bytes());
    file[0x3e..0x40].copy_from_slice(&1u16.to_le_bytes());
    file
}

/// The number of the machine instruction of each line of a listing: those of labels have none.
pub fn numbered(listing: &Listing) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |line: &crate::counters::ListedLine| {
        (!line.text.ends_with(':')).then(|| {
            next += 1;
            next - 1
        })
    };
    listing.lines.iter().map(number).collect()
}
