//! The emulated device: one chip, its memory, its modules, its launches.
//!
//! This is the safe Rust interface; the driver layer is a thin skin over it. A [`Device`] owns
//! everything; modules and addresses belong to the device that made them.

pub mod chip;
mod error;
pub mod module;
mod occupancy;
mod record;
mod report;

pub use crate::machine::checks::Checks;
pub use chip::{Chip, GH100};
pub use error::LaunchError;
pub use module::{Kernel, Module};
pub use occupancy::{Occupancy, occupancy};
pub use record::{LaunchConfig, LaunchRecord};
pub use report::{fault_json, launch_json, quote, refusal_json};

use crate::counters::{self, Reported};
use crate::driver::host_cpu;
use crate::machine::watch::Watch;
use crate::machine::{Launch, Memory};
use crate::ptx::PtxError;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// An emulated GPU.
#[derive(Debug)]
pub struct Device {
    /// Its chip.
    pub chip: &'static Chip,
    /// Its memory.
    pub memory: Memory,
    launches: Vec<LaunchRecord>,
    launch_count: u64,
    host_threads: usize,
    checks: Checks,
    instruction_limit: Option<u64>,
    /// Where a launch that takes long tells how far it is.
    place_file: Option<PathBuf>,
}

impl Default for Device {
    fn default() -> Self {
        Self::new(&GH100)
    }
}

impl Device {
    /// A device with empty memory. It runs blocks on as many host threads as the host has, or as
    /// `GPUEMU_THREADS` says. `GPUEMU_CHECK` may be `all` or `off`: the accesses of which blocks to
    /// shared memory are checked.
    pub fn new(chip: &'static Chip) -> Self {
        let host_threads = std::env::var("GPUEMU_THREADS")
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .filter(|threads| *threads > 0)
            .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
            .unwrap_or(1);
        Self {
            chip,
            memory: Memory::new(chip.memory_bytes),
            launches: Vec::new(),
            launch_count: 0,
            host_threads,
            checks: match std::env::var("GPUEMU_CHECK").as_deref().map(str::trim) {
                Ok("off") => Checks::Off,
                Ok("all") => Checks::All,
                _ => Checks::Some,
            },
            instruction_limit: None,
            place_file: std::env::var_os("GPUEMU_WHERE")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
        }
    }

    /// Sets which blocks are checked for races and for reads of what nobody wrote.
    #[must_use]
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// Stops a launch of which a block has executed so many warp instructions, roughly.
    #[must_use]
    pub fn with_instruction_limit(mut self, instructions: u64) -> Self {
        self.instruction_limit = Some(instructions);
        self
    }

    /// Limits the host threads that a launch may use.
    #[must_use]
    pub fn with_host_threads(mut self, threads: usize) -> Self {
        self.host_threads = threads.max(1);
        self
    }

    /// Loads PTX text.
    ///
    /// # Errors
    /// The first thing in the text that is not PTX, or that the emulator does not execute.
    pub fn load(&mut self, ptx: &str) -> Result<Module, PtxError> {
        Module::load(ptx, &mut self.memory)
    }

    /// Runs a kernel to its end. `params` is its parameter buffer, laid out as the kernel declares.
    ///
    /// # Errors
    /// [`LaunchError::Config`] if the device or the kernel does not allow the launch;
    /// [`LaunchError::Fault`] if the kernel did something that stops it.
    pub fn launch(
        &mut self,
        kernel: &Kernel,
        config: LaunchConfig,
        params: &[u8],
        stream: u64,
    ) -> Result<&LaunchRecord, LaunchError> {
        self.check(kernel, config, params)?;
        let program: &crate::lower::Program = &Arc::clone(&kernel.program);
        let mut padded = params.to_vec();
        padded.resize((program.param_bytes as usize).next_multiple_of(8), 0);
        let words = padded
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        self.launch_count += 1;
        let launch = Launch {
            program,
            memory: &self.memory,
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.shared_bytes,
            params: words.collect(),
            sm_count: self.chip.sm_count,
            resident_blocks: self.resident_blocks(kernel, config),
            grid_id: self.launch_count,
            host_threads: self.host_threads,
            runner: host_cpu::runner(),
            checks: self.checks,
            instruction_limit: self.instruction_limit,
            watch: self.place_file.clone().map(Watch::begin),
        };
        let (ran, said) = launch.run();
        say(&said);
        let counts = ran.map_err(LaunchError::Fault)?;
        let Reported { counters, unclaimed } = counters::report(program, kernel.claims(), &counts);
        let kernel = program.name.clone();
        self.launches.push(LaunchRecord { kernel, config, stream, counters, unclaimed });
        Ok(self.launches.last().expect("just pushed"))
    }

    /// Blocks of a launch that the device holds at once.
    pub fn resident_blocks(&self, kernel: &Kernel, config: LaunchConfig) -> u64 {
        let threads = config.block.iter().product();
        let held = occupancy(self.chip, kernel, threads, config.shared_bytes).blocks;
        u64::from(held) * u64::from(self.chip.sm_count)
    }

    fn check(
        &self,
        kernel: &Kernel,
        config: LaunchConfig,
        params: &[u8],
    ) -> Result<(), LaunchError> {
        let LaunchConfig { grid, block, shared_bytes } = config;
        let name = kernel.name();
        let refuse = |why: String| {
            Err(LaunchError::Config(format!("kernel '{name}' cannot be launched: {why}")))
        };
        let chip = self.chip;
        if grid.contains(&0) || block.contains(&0) {
            return refuse(format!("grid {grid:?} and block {block:?} must not have a zero"));
        }
        let axes = || ["x", "y", "z"].into_iter().zip(0..3);
        if let Some((axis, at)) = axes().find(|(_, at)| grid[*at] > chip.max_grid[*at]) {
            return refuse(format!(
                "grid.{axis} is {} but the device allows {}",
                grid[at], chip.max_grid[at]
            ));
        }
        if let Some((axis, at)) = axes().find(|(_, at)| block[*at] > chip.max_block[*at]) {
            return refuse(format!(
                "block.{axis} is {} but the device allows {}",
                block[at], chip.max_block[at]
            ));
        }
        let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
        if threads > u64::from(chip.max_threads_per_block) {
            let limit = chip.max_threads_per_block;
            return refuse(format!(
                "a block of {threads} threads exceeds the device's limit of {limit}"
            ));
        }
        if let Some(why) = beyond_bounds(kernel, block, threads) {
            return refuse(why);
        }
        if let Some(why) = beyond_shared(kernel, chip, shared_bytes) {
            return refuse(why);
        }
        if params.len() < kernel.program.param_bytes as usize {
            return refuse(format!(
                "it takes {} bytes of parameters, not {}",
                kernel.program.param_bytes,
                params.len()
            ));
        }
        Ok(())
    }

    /// How many launches it has accepted.
    pub fn launch_count(&self) -> u64 {
        self.launch_count
    }

    /// The launches since the previous call.
    pub fn take_launches(&mut self) -> Vec<LaunchRecord> {
        std::mem::take(&mut self.launches)
    }

    /// The device and its launches since the previous call, as JSON.
    pub fn take_report(&mut self) -> String {
        let launches = self.take_launches();
        report::report(self.chip, &launches)
    }
}

/// Writes what a kernel printed where the driver of a GPU writes it.
fn say(text: &str) {
    if text.is_empty() {
        return;
    }
    // Whoever does not read it does not get it.
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Why the kernel cannot have its static shared memory, or so much of it dynamic.
fn beyond_shared(kernel: &Kernel, chip: &Chip, dynamic: u32) -> Option<String> {
    let (fixed, limit) = (kernel.static_shared(), chip.shared_per_block);
    if fixed > limit {
        return Some(format!(
            "{fixed} bytes of static shared memory exceed the limit of {limit}; \
             only dynamic shared memory can be larger"
        ));
    }
    let allowed = kernel.max_dynamic_shared(chip);
    (dynamic > allowed).then(|| {
        format!(
            "{dynamic} bytes of dynamic shared memory exceed the {allowed} that are allowed beside its {fixed} static \
             bytes; beyond {limit} in all, MAX_DYNAMIC_SHARED_SIZE_BYTES must be raised first"
        )
    })
}

/// Why a block is not one that the kernel was compiled for.
fn beyond_bounds(kernel: &Kernel, block: [u32; 3], threads: u64) -> Option<String> {
    let bounds = kernel.program.bounds;
    if let Some(most) = bounds.max_threads.map(|most| most.iter().product::<u32>())
        && threads > u64::from(most)
    {
        return Some(format!(
            "a block of {threads} threads exceeds the {most} that it was compiled for (.maxntid)"
        ));
    }
    if let Some(required) = bounds.required.filter(|required| *required != block) {
        return Some(format!(
            "block {block:?} is not the {required:?} that it was compiled for (.reqntid)"
        ));
    }
    None
}
