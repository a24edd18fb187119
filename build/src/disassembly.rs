//! The machine code of kernels as text.
//!
//! Input: cubins, and the PTX lines of kernels. Output: the same lines with the machine code that
//! was made of them. Each cubin is read once.

mod by_line;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fatbin::lines::PtxLines;
use gpuprof_model::code::{Listing, MachineLine};

use crate::nvdisasm::{self, Disassembler, Instruction, Instructions};
use crate::toolkit::Search;

pub use by_line::{Known, by_line};

/// The content of a cubin.
#[derive(Debug, Default)]
pub struct Cubin {
    /// The PTX lines of its instructions; empty where its PTX does not name lines.
    pub(crate) lines: PtxLines,
    /// Their text; empty without nvdisasm.
    pub(crate) text: Instructions,
    /// Why nvdisasm writes none.
    pub illegible: Option<String>,
}

impl Cubin {
    fn read(cubin: &Path, disassembler: Option<&Disassembler>) -> Option<Self> {
        let lines = PtxLines::read(&fs::read(cubin).ok()?).ok()?;
        let written = disassembler.map(|it| it.instructions(cubin));
        let (text, illegible) = match written.transpose() {
            Ok(text) => (text.unwrap_or_default(), None),
            Err(reason) => (Instructions::new(), Some(reason)),
        };
        Some(Self { lines, text, illegible })
    }

    /// The machine code of the kernel of `listing`.
    pub fn machine(&self, listing: &Listing) -> Vec<MachineLine> {
        let line = |Instruction { offset, live, text }: &Instruction| {
            let ptx = self.lines.line(&listing.kernel, *offset);
            let ptx = ptx.and_then(|line| listing.lines.get(line_of(listing, Some(line))));
            MachineLine(*offset, ptx.map_or(0, |line| line.0), *live, text.clone())
        };
        self.text.get(&listing.kernel).into_iter().flatten().map(line).collect()
    }
}

/// The number of the line of `listing` to which the PTX line belongs: itself, or the next one with
/// an instruction, as the preparations of a function belong to its beginning.
pub(crate) fn line_of(listing: &Listing, ptx: Option<u32>) -> usize {
    let lines = &listing.lines;
    let first = lines.partition_point(|line| line.0 < ptx.unwrap_or_default());
    let next = (first..lines.len()).find(|at| !lines[*at].opcode().is_empty());
    next.unwrap_or(lines.len().saturating_sub(1))
}

/// Cubins, and the lines of kernels with their machine code.
pub struct Cubins {
    disassembler: Option<Disassembler>,
    read: BTreeMap<PathBuf, Arc<Cubin>>,
    written: HashMap<(PathBuf, Arc<Listing>), Arc<Listing>>,
}

impl Cubins {
    /// With the nvdisasm of this machine, if it has one.
    pub fn from_environment() -> Self {
        let disassembler = Disassembler::find(&Search::from_environment(&nvdisasm::PROGRAM)).ok();
        Self { disassembler, read: BTreeMap::new(), written: HashMap::new() }
    }

    /// The content of the file `cubin`; nothing if it cannot be read.
    pub fn cubin(&mut self, cubin: &Path) -> Arc<Cubin> {
        let disassembler = self.disassembler.as_ref();
        let known = self.read.entry(cubin.to_owned());
        let read = || Arc::new(Cubin::read(cubin, disassembler).unwrap_or_default());
        Arc::clone(known.or_insert_with(read))
    }

    /// The lines of `listing`, with the machine code of its kernel in the file `cubin`.
    pub fn with_machine(&mut self, cubin: &Path, listing: &Arc<Listing>) -> Arc<Listing> {
        let content = self.cubin(cubin);
        let known = self.written.entry((cubin.to_owned(), Arc::clone(listing)));
        let written = || {
            let machine = content.machine(listing);
            Arc::new(Listing { machine, ..Listing::clone(listing) })
        };
        Arc::clone(known.or_insert_with(written))
    }

    /// Why nvdisasm wrote nothing of some cubins.
    pub fn reasons(&self) -> BTreeSet<&str> {
        self.read.values().filter_map(|it| it.illegible.as_deref()).collect()
    }
}
