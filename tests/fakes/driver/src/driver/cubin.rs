//! The cubin of a module, for the fake CUPTI: a line table, in which each instruction of a kernel's
//! listing has 16 bytes, and no machine code.

use crate::counters::Listing;
use crate::device::Module;

/// The bytes of the file's header.
const HEADER: usize = 64;

/// A section: its name, its type, and its bytes.
type Section = (String, u32, Vec<u8>);

/// The cubin of `module`; none if it is too large for one.
pub fn cubin(module: &Module) -> Option<Vec<u8>> {
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
        // After the section of nothing and five others.
        symbols.extend(u16::try_from(6 + at).ok()?.to_le_bytes());
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
    ];
    sections.extend(code);
    Some(elf(sections))
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

/// An ELF file of these sections, the second of which gets their names.
fn elf(mut sections: Vec<Section>) -> Vec<u8> {
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
    file[0x12] = 190;
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
