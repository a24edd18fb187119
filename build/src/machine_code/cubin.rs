//! A cubin: an ELF file with a section of code for each function.

use super::notes::{self, Notes};
use crate::cuda_cpp::{Entry, Variable};
use crate::elf::{Section, Sections, number, part};

/// How every ELF file begins.
pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// The number of the machine that a GPU of NVIDIA's is (`EM_CUDA`).
const CUDA: usize = 190;

/// The type of a file that other code is still to be linked to (`ET_REL`).
const RELOCATABLE: usize = 1;

/// The system and version of cubins from CUDA 13 on.
const SINCE_13: u8 = 0x41;

/// The bytes of a symbol.
const SYMBOL: usize = 24;

/// The types of symbols.
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;

/// The bit of a function that the host can launch (`STO_CUDA_ENTRY`).
const ENTRY: u8 = 0x10;

/// The content of a cubin.
#[derive(Debug)]
pub(super) struct Cubin {
    /// Its target: `sm_90`.
    pub(super) target: String,
    pub(super) entries: Vec<Entry>,
    pub(super) variables: Vec<Variable>,
}

/// A symbol with its place: the section that it is in, and its offset there.
pub(super) struct Symbol<'f> {
    pub(super) name: &'f str,
    kind: u8,
    other: u8,
    pub(super) section: usize,
    pub(super) value: u64,
    size: u64,
}

impl Symbol<'_> {
    /// Whether it is a function.
    pub(super) fn is_function(&self) -> bool {
        self.kind == FUNCTION
    }
}

impl Cubin {
    /// What `file` holds.
    ///
    /// # Errors
    /// It is cut off, not for a GPU, or not linked.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        let sections = Sections::parse(file)?;
        let machine = number::<2>(file, 0x12)?;
        if machine != CUDA {
            return Err(format!(
                "it is an ELF file for another machine (number {machine}), such as an object of the \
                 host; nvcc -cubin writes a cubin"
            ));
        }
        if number::<2>(file, 0x10)? == RELOCATABLE {
            return Err(
                "it is relocatable device code (nvcc -dc, -rdc=true), which no driver loads: \
                        link it with nvlink, or compile it without -rdc=true"
                    .to_owned(),
            );
        }
        let symbols = symbols(&sections)?;
        let entries = symbols.iter().filter(|it| it.is_function() && it.other & ENTRY != 0);
        let variables = symbols.iter().filter(|it| it.kind == OBJECT);
        Ok(Self {
            target: target(file)?,
            entries: entries.map(|it| entry(&sections, it.name)).collect::<Result<_, _>>()?,
            variables: variables.filter_map(|it| variable(&sections, it)).collect(),
        })
    }
}

/// The target, from the flags of `file`.
fn target(file: &[u8]) -> Result<String, String> {
    let flags = number::<4>(file, 0x30)?;
    let system = part(file, 7, 1)?[0];
    if system == SINCE_13 {
        // Whether it needs features of this one architecture stands elsewhere.
        return Ok(format!("sm_{}", flags >> 8 & 0xff));
    }
    let alone = if flags & 0x800 != 0 { "a" } else { "" };
    Ok(format!("sm_{}{alone}", flags & 0xff))
}

/// The symbols, in their order.
///
/// # Errors
/// The file is cut off.
pub(super) fn symbols<'f>(sections: &Sections<'f>) -> Result<Vec<Symbol<'f>>, String> {
    let named = |name| sections.named(name).map_or(Ok(&[][..]), |section| section.bytes());
    let (table, names) = (named(".symtab")?, named(".strtab")?);
    let symbol = |record: &'f [u8]| {
        Ok(Symbol {
            name: text(names, number::<4>(record, 0)?),
            kind: record[4] & 0xf,
            other: record[5],
            section: number::<2>(record, 6)?,
            value: number::<8>(record, 8)? as u64,
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

/// The entry point `name`, as its notes describe it.
fn entry(sections: &Sections<'_>, name: &str) -> Result<Entry, String> {
    let notes = match sections.named(&format!(".nv.info.{name}")) {
        Some(section) => notes::read(section.bytes()?).map_err(|e| format!("`{name}`: {e}"))?,
        None => Notes::default(),
    };
    Ok(Entry {
        name: name.to_owned(),
        parameters: notes.parameters,
        max_block: notes.max_block,
        required_block: notes.required_block,
        min_blocks_per_multiprocessor: None,
        max_registers: None,
        required_cluster: notes.required_cluster,
        max_cluster_rank: None,
        static_shared: 0,
        dynamic_shared: false,
    })
}

/// The variable `symbol`, if the host can set it.
fn variable(sections: &Sections<'_>, symbol: &Symbol<'_>) -> Option<Variable> {
    let section: &Section<'_> = sections.at(symbol.section)?;
    let constant = section.name.starts_with(".nv.constant");
    let global = section.name.starts_with(".nv.global");
    (constant || global).then(|| Variable {
        name: symbol.name.to_owned(),
        bytes: symbol.size,
        constant,
        // Constants without one are zeros there, as those are that are zero.
        has_value: true,
    })
}
