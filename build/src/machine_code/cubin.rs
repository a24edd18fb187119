//! A cubin: an ELF file with a section of code for each function.

use super::notes::{self, Notes};
use crate::cuda_cpp::{Entry, Variable};
use fatbin::elf::{Section, Sections, number};
use fatbin::symbols::{Symbol, symbols, target};

/// How every ELF file begins.
pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// The number of the machine that a GPU of NVIDIA's is (`EM_CUDA`).
const CUDA: usize = 190;

/// The type of a file that other code is still to be linked to (`ET_REL`).
const RELOCATABLE: usize = 1;

/// The content of a cubin.
#[derive(Debug)]
pub(super) struct Cubin {
    /// Its target: `sm_90`.
    pub(super) target: String,
    pub(super) entries: Vec<Entry>,
    pub(super) variables: Vec<Variable>,
}

impl Cubin {
    /// The contents of `file`.
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
        let entries = symbols.iter().filter(|it| it.is_entry());
        let variables = symbols.iter().filter(|it| it.is_object());
        Ok(Self {
            target: target(file)?,
            entries: entries.map(|it| entry(&sections, it.name)).collect::<Result<_, _>>()?,
            variables: variables.filter_map(|it| variable(&sections, it)).collect(),
        })
    }
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
