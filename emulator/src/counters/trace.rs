//! The execution of one block, instruction by instruction, from which its time is estimated.

use std::collections::HashMap;

/// Steps of a warp that are kept.
const MOST_STEPS: usize = 16 << 10;

/// No access belongs to the step.
const NONE: u32 = u32::MAX;

/// An instruction that a warp executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The instruction.
    pub pc: u32,
    access: u32,
}

/// The memory that an instruction of a warp accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    wavefronts: u32,
    first_sector: u32,
}

/// The accesses of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accesses<'t> {
    /// Passes over the banks of L1 or shared memory.
    pub wavefronts: u32,
    /// The sectors of global memory; for an atomic one for each update.
    pub sectors: &'t [u64],
}

/// The execution of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The block's number in the grid.
    pub block: u64,
    /// The steps of each warp, up to a limit.
    pub warps: Vec<Vec<Step>>,
    /// How many steps each warp executed.
    pub executed: Vec<u64>,
    accesses: Vec<Access>,
    sectors: Vec<u64>,
    /// Whether the running instruction is a step that is kept.
    is_kept: bool,
    /// The first sector of the running instruction, and its wavefronts.
    pending: (usize, u32),
}

impl Trace {
    /// That of a block with so many warps.
    pub fn new(block: u64, warps: usize) -> Self {
        Self { block, warps: vec![Vec::new(); warps], executed: vec![0; warps], ..Self::default() }
    }

    /// A warp executes an instruction.
    pub fn step(&mut self, warp: u32, pc: u32) {
        self.executed[warp as usize] += 1;
        self.sectors.truncate(self.pending.0);
        self.pending.1 = 0;
        let steps = &mut self.warps[warp as usize];
        self.is_kept = steps.len() < MOST_STEPS;
        if self.is_kept {
            steps.push(Step { pc, access: NONE });
        }
    }

    /// The instruction accesses sectors of global memory, from one to the other.
    pub fn touch(&mut self, low: u64, high: u64) {
        self.sectors.extend(low..=high);
    }

    /// The instruction takes so many passes over the banks of L1 or shared memory.
    pub fn pass(&mut self, wavefronts: u32) {
        self.pending.1 += wavefronts;
    }

    /// The accesses of the instruction are complete.
    pub fn finish(&mut self, warp: u32) {
        let steps = &mut self.warps[warp as usize];
        let Some(last) = steps.last_mut().filter(|_| self.is_kept) else { return };
        last.access = self.accesses.len() as u32;
        let (first_sector, wavefronts) = self.pending;
        self.accesses.push(Access { wavefronts, first_sector: first_sector as u32 });
        self.pending = (self.sectors.len(), 0);
    }

    /// The accesses of a step.
    pub fn access(&self, step: Step) -> Option<Accesses<'_>> {
        let at = step.access as usize;
        let access = self.accesses.get(at)?;
        let end =
            self.accesses.get(at + 1).map_or(self.pending.0, |next| next.first_sector as usize);
        let sectors = &self.sectors[access.first_sector as usize..end];
        Some(Accesses { wavefronts: access.wavefronts, sectors })
    }

    /// Distinct sectors of global memory that it touched, as far as they are kept, or groups of
    /// 2^`shift` of them.
    pub fn distinct(&self, shift: u32) -> u64 {
        let mut sectors: Vec<u64> = self.sectors.iter().map(|sector| sector >> shift).collect();
        sectors.sort_unstable();
        sectors.dedup();
        sectors.len() as u64
    }

    /// The step of a warp that first touches each sector, as far as they are kept.
    pub fn first_touches(&self) -> HashMap<u64, usize> {
        let mut first = HashMap::new();
        for steps in &self.warps {
            for (at, &step) in steps.iter().enumerate() {
                for &sector in self.access(step).map_or(&[][..], |access| access.sectors) {
                    let known = first.entry(sector).or_insert(at);
                    *known = at.min(*known);
                }
            }
        }
        first
    }

    /// Steps that are kept.
    pub fn kept(&self) -> u64 {
        self.warps.iter().map(|steps| steps.len() as u64).sum()
    }
}
