//! Counts by line of the PTX, and the line of the source from which each of them comes.
//!
//! Input: a program, its PTX and its counts. Output: a [`Listing`], made once for a kernel, and the
//! counts of its lines. Instructions of one PTX line share its counts, so the counts of all lines
//! add up to those of the launch.

use super::report::{Class, class, fp64_operations};
use super::{Counts, counts};
use crate::lower::inst::Op;
use crate::lower::program::Program;
use crate::lower::source_location::{Frame, Place};
use std::collections::{BTreeMap, HashSet};
use std::ops::{AddAssign, Sub};
use std::sync::Arc;

/// The PTX lines of a kernel and of the device functions that it can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The kernel's name.
    pub kernel: String,
    /// The source files, as the compiler wrote their paths.
    pub files: Vec<String>,
    /// The lines with instructions and labels, in the order of the PTX.
    pub lines: Vec<ListedLine>,
    /// The calls of inlined functions of the user.
    pub calls: Vec<InlinedCall>,
    /// The number of the line of each instruction.
    of_instruction: Vec<usize>,
}

/// The call by which a function of the user is inlined in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlinedCall {
    /// The line of the PTX that it leads to.
    pub ptx_line: u32,
    /// The number of its file.
    pub file: usize,
    /// Its line there.
    pub line: u32,
}

/// A line of PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLine {
    /// Its number in the PTX, from 1.
    pub ptx_line: u32,
    /// Its text.
    pub text: String,
    /// The user's line in the source: the number of its file, and its number there from 1. None for
    /// labels, and if the PTX does not say.
    pub source: Option<(usize, u32)>,
}

counts! {
    /// The counts of a line.
    pub struct LineCounts {
        /// Instructions executed by warps.
        pub instructions: u64,
        /// By active threads.
        pub threads: u64,
        /// By active threads with a true guard.
        pub threads_on: u64,
        /// Memory requests of warps.
        pub requests: u64,
        /// Sectors of global memory.
        pub sectors: u64,
        /// Sectors that the same bytes fill.
        pub ideal_sectors: u64,
        /// Distinct bytes, request by request.
        pub bytes: u64,
        /// Passes over the banks of shared memory.
        pub wavefronts: u64,
        /// Passes that no bank conflict would have needed.
        pub ideal_wavefronts: u64,
        /// Conditional branches of warps.
        pub branches: u64,
        /// Those of them on which lanes disagreed.
        pub divergent_branches: u64,
        /// Atomics of warps.
        pub atomics: u64,
        /// Loads from local memory by warps.
        pub local_loads: u64,
        /// Stores to local memory by warps.
        pub local_stores: u64,
        /// Operations of threads on doubles; a fused multiply-add counts twice.
        pub fp64_operations: u64,
    }
}

/// The counts of a kernel by line, summed over launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The lines.
    pub listing: Arc<Listing>,
    /// The counts of each.
    pub counts: Vec<LineCounts>,
}

impl Listing {
    /// The lines of `program` in the PTX `text`.
    pub fn new(program: &Program, text: &str) -> Self {
        let mut listing = Self { kernel: program.name.clone(), ..Self::default() };
        let mut places: BTreeMap<u32, Option<(usize, u32)>> = BTreeMap::new();
        let mut near = NearLine::new(program);
        for (pc, position) in (0..).zip(&program.positions) {
            let frames = program.frames(pc);
            near.pass(&frames);
            let place = Place::new(&frames, || near.last.clone());
            let mut at = |frame: &Frame| (listing.file(&frame.file), frame.line);
            let source = place.as_ref().map(|place| at(&place.frame));
            let call = place.as_ref().and_then(|place| Some(at(place.callers.last()?)));
            let ptx_line = position.ptx_line;
            if places.insert(ptx_line, source).is_none()
                && let Some((file, line)) = call.filter(|_| call != source)
            {
                listing.calls.push(InlinedCall { ptx_line, file, line });
            }
        }
        listing.calls.sort_by_key(|call| call.ptx_line);
        let named = names(text.lines().zip(1..).filter(|(_, at)| places.contains_key(at)));
        let mut labels = Vec::new();
        let mut numbers = BTreeMap::new();
        for (ptx_line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            let line = |source| ListedLine { ptx_line, text: text.replace('\t', " "), source };
            if let Some(source) = places.get(&ptx_line) {
                listing.lines.append(&mut labels);
                numbers.insert(ptx_line, listing.lines.len());
                listing.lines.push(line(*source));
            } else if text.strip_suffix(':').is_some_and(|label| named.contains(label)) {
                labels.push(line(None));
            } else if text.starts_with('}') {
                // The labels are another function's.
                labels.clear();
            }
        }
        let number = |position: &crate::lower::program::SourcePosition| {
            numbers.get(&position.ptx_line).copied().unwrap_or_default()
        };
        listing.of_instruction = program.positions.iter().map(number).collect();
        listing
    }

    fn file(&mut self, path: &str) -> usize {
        self.files.iter().position(|known| known == path).unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        })
    }
}

/// The names in these lines.
fn names<'t>(lines: impl Iterator<Item = (&'t str, u32)>) -> HashSet<&'t str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    lines.flat_map(|(text, _)| text.split(move |c: char| !is_name(c))).collect()
}

/// The last place in the kernel's own file, for code whose `.loc` does not name the call.
struct NearLine {
    own: Option<String>,
    last: Option<Frame>,
}

impl NearLine {
    fn new(program: &Program) -> Self {
        let mut pcs = 0..program.positions.len() as u32;
        let own = pcs.find_map(|pc| program.frames(pc).pop()).map(|frame| frame.file);
        Self { own, last: None }
    }

    /// The next instruction has these frames.
    fn pass(&mut self, frames: &[Frame]) {
        let own = frames.iter().find(|frame| Some(&frame.file) == self.own.as_ref());
        self.last = own.or(self.last.as_ref()).cloned();
    }
}

impl Profile {
    /// Of no launch yet.
    pub fn new(listing: Arc<Listing>) -> Self {
        let counts = vec![LineCounts::default(); listing.lines.len()];
        Self { listing, counts }
    }

    /// Adds a launch of `program`.
    pub fn add(&mut self, program: &Program, counts: &Counts) {
        for (pc, inst) in program.code.iter().enumerate() {
            let Some(line) = self.counts.get_mut(self.listing.of_instruction[pc]) else { continue };
            let (issued, access) = (&counts.profile[pc], &counts.accesses[pc]);
            let if_is = |is: bool| if is { issued.warps } else { 0 };
            let stores = matches!(inst.op, Op::Store { .. });
            let local_stores = if stores { access.local_requests } else { 0 };
            *line += LineCounts {
                instructions: issued.warps,
                threads: issued.threads,
                threads_on: issued.threads_on,
                requests: access.requests,
                sectors: access.sectors,
                ideal_sectors: access.ideal_sectors,
                bytes: access.global_bytes + access.shared_bytes,
                wavefronts: access.wavefronts,
                ideal_wavefronts: access.ideal_wavefronts,
                branches: if_is(class(inst) == Class::Branch),
                divergent_branches: counts.divergent[pc],
                atomics: if_is(matches!(inst.op, Op::Atomic(_) | Op::AtomicVector(_))),
                local_loads: access.local_requests - local_stores,
                local_stores,
                fp64_operations: fp64_operations(inst) * issued.threads_on,
            };
        }
    }
}

impl LineCounts {
    /// All counts, in the order of the fields.
    pub fn values(&self) -> [u64; 15] {
        [
            self.instructions,
            self.threads,
            self.threads_on,
            self.requests,
            self.sectors,
            self.ideal_sectors,
            self.bytes,
            self.wavefronts,
            self.ideal_wavefronts,
            self.branches,
            self.divergent_branches,
            self.atomics,
            self.local_loads,
            self.local_stores,
            self.fp64_operations,
        ]
    }
}
