//! The emulated device: one chip, its memory, its modules, its launches.
//!
//! This is the safe Rust interface; the driver layer is a thin skin over it. A [`Device`] owns
//! everything; modules and addresses belong to the device that made them.

pub mod chip;
mod error;
pub mod module;
mod moves;
mod occupancy;
mod rates;
mod record;
mod report;

pub use crate::machine::checks::{CheckedBlocks, Checks};
pub use chip::{Chip, GH100, H100};
pub use error::LaunchError;
pub use module::{Kernel, Module};
pub use moves::{MoveKind, MoveRecord};
pub use occupancy::{Occupancy, occupancy};
pub use record::{LaunchConfig, LaunchRecord, Profiler};
pub use report::{fault_json, launch_json, listing_json, quote, refusal_json};

use crate::counters::{self, Counts, Profile, Reported};
use crate::machine::global_shadow::GlobalShadow;
use crate::machine::host_cpu;
use crate::machine::watch::Watch;
use crate::machine::{Launch, Memory};
use crate::ptx::PtxError;
use crate::timing;
use moves::Moves;
use report::{Report, report_json};
use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// The checks that the caller of the program selects.
const CHECKS_ENV: &str = "GPUEMU_CHECK";

/// `0`: no times are estimated.
const ESTIMATE_ENV: &str = "GPUEMU_ESTIMATE";

/// The emulated chip, by its name in [`chip::BY_NAME`].
const CHIP_ENV: &str = "GPUEMU_CHIP";

/// How many threads of the host run a launch.
const THREADS_ENV: &str = "GPUEMU_THREADS";

/// The variables that choose between two words.
const WORDS: [(&str, [&str; 2]); 3] = [
    (ESTIMATE_ENV, ["0", "1"]),
    ("GPUEMU_EVENT_TIMES", ["host", "zero"]),
    ("GPUEMU_TELL", ["0", "1"]),
];

/// Bytes of stack of a thread, unless the program sets them.
const DEFAULT_STACK_BYTES: u32 = 1024;

/// Bytes of the device heap, unless the program sets them.
const DEFAULT_HEAP_BYTES: u64 = 8 << 20;

/// Bytes of the workspace of a cooperative launch.
const WORKSPACE_BYTES: u32 = 64;

/// An emulated GPU.
#[derive(Debug)]
pub struct Device {
    /// Its chip.
    pub chip: &'static Chip,
    /// Its memory.
    pub memory: Memory,
    launches: Vec<LaunchRecord>,
    moves: Moves,
    profiler: Profiler,
    /// How often the program started the profiler since the last report.
    profiler_starts: u64,
    profiles: Vec<Profile>,
    launch_count: u64,
    host_threads: usize,
    /// The checks, or why the environment selects none.
    checks: Result<Checks, String>,
    instruction_limit: Option<u64>,
    /// Whether to estimate how long launches take.
    estimates: bool,
    stack_bytes: u32,
    heap_bytes: u64,
    /// The file to which a long launch writes its progress.
    place_file: Option<PathBuf>,
    /// The workspace of cooperative launches, once there was one.
    workspace: Option<u64>,
    /// The memory of the search for races.
    shadow: GlobalShadow,
    /// The printed text of its kernels. `None` if it goes to standard output.
    kept_output: Option<String>,
}

/// The surroundings of a launch.
struct LaunchContext {
    stream: u64,
    /// The address of the workspace of cooperative groups; 0 if the launch is not cooperative.
    grid_workspace: u64,
    checks: Checks,
}

impl Default for Device {
    /// That of the chip that `GPUEMU_CHIP` names, or an H200.
    fn default() -> Self {
        let chip = std::env::var(CHIP_ENV).ok().and_then(|name| chip::named(&name));
        Self::new(chip.unwrap_or(&GH100))
    }
}

impl Device {
    /// A device with empty memory. It runs blocks on as many host threads as the host has, or as
    /// `GPUEMU_THREADS` says. `GPUEMU_CHECK` selects the checks of memory, by [`Checks::parse`]. If
    /// `GPUEMU_ESTIMATE` is `0`, no time is estimated. If one of the emulator's variables has a
    /// value that it does not know, every launch is refused with the variable's name.
    pub fn new(chip: &'static Chip) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let host_threads = variable(THREADS_ENV)
            .and_then(|text| text.to_str()?.trim().parse().ok())
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get);
        Self {
            chip,
            memory: Memory::new(chip.memory_bytes),
            launches: Vec::new(),
            moves: Moves::default(),
            profiler: Profiler::default(),
            profiler_starts: 0,
            profiles: Vec::new(),
            launch_count: 0,
            host_threads,
            checks: selected_checks(variable),
            instruction_limit: None,
            estimates: std::env::var_os(ESTIMATE_ENV).is_none_or(|value| value != "0"),
            stack_bytes: DEFAULT_STACK_BYTES,
            heap_bytes: DEFAULT_HEAP_BYTES,
            place_file: variable("GPUEMU_WHERE").map(PathBuf::from),
            workspace: None,
            shadow: GlobalShadow::default(),
            kept_output: None,
        }
    }

    /// Keeps the printed text of kernels for [`Device::take_output`], away from standard output.
    #[must_use]
    pub fn with_kept_output(mut self) -> Self {
        self.kept_output = Some(String::new());
        self
    }

    /// The printed text of kernels since the previous call. Empty if the device does not keep it.
    pub fn take_output(&mut self) -> String {
        self.kept_output.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sets the checks that can be switched off, and their blocks.
    #[must_use]
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = Ok(checks);
        self
    }

    /// Estimates no times, whatever the environment says.
    #[must_use]
    pub fn without_estimates(mut self) -> Self {
        self.estimates = false;
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

    /// Bytes of stack of a thread: CUDA's `CU_LIMIT_STACK_SIZE`.
    pub fn stack_bytes(&self) -> u32 {
        self.stack_bytes
    }

    /// Sets the bytes of stack of a thread. It binds recursion and `alloca`.
    pub fn set_stack_bytes(&mut self, bytes: u32) {
        self.stack_bytes = bytes;
    }

    /// Bytes of the device heap: CUDA's `CU_LIMIT_MALLOC_HEAP_SIZE`.
    pub fn heap_bytes(&self) -> u64 {
        self.heap_bytes
    }

    /// Sets the bytes of the device heap. `false`: a kernel that uses it was launched, so it keeps
    /// its size.
    pub fn set_heap_bytes(&mut self, bytes: u64) -> bool {
        let is_free = !self.memory.heap.is_open();
        if is_free {
            self.heap_bytes = bytes;
        }
        is_free
    }

    /// Loads PTX text.
    ///
    /// # Errors
    /// The first thing in the text that is not PTX, or that the emulator does not execute.
    pub fn load(&mut self, ptx: &str) -> Result<Module, PtxError> {
        Module::load(ptx, self.chip.target(), &mut self.memory)
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
        let checks = self.check(kernel, config, params)?;
        self.open_heap(kernel)?;
        self.run(kernel, config, params, LaunchContext { stream, grid_workspace: 0, checks })
    }

    /// The same for a cooperative kernel: its blocks all run together and may wait for each other.
    ///
    /// # Errors
    /// As [`Device::launch`], and [`LaunchError::CooperativeTooLarge`] if they do not fit.
    pub fn launch_cooperative(
        &mut self,
        kernel: &Kernel,
        config: LaunchConfig,
        params: &[u8],
        stream: u64,
    ) -> Result<&LaunchRecord, LaunchError> {
        let checks = self.check(kernel, config, params)?;
        let blocks = config.blocks();
        let held = self.resident_blocks(kernel, config);
        if blocks > held {
            let name = kernel.name();
            return Err(LaunchError::CooperativeTooLarge(format!(
                "kernel '{name}' cannot be launched cooperatively: its {blocks} blocks do not run \
                 together, the device holds {held} of them"
            )));
        }
        let grid_workspace = self.grid_workspace()?;
        self.open_heap(kernel)?;
        self.run(kernel, config, params, LaunchContext { stream, grid_workspace, checks })
    }

    /// The workspace of cooperative groups, cleared: its size and the barrier of the grid.
    fn grid_workspace(&mut self) -> Result<u64, LaunchError> {
        let held = self.workspace.or_else(|| self.memory.allocate(u64::from(WORKSPACE_BYTES)));
        self.workspace = held;
        let mut bytes = WORKSPACE_BYTES.to_le_bytes().to_vec();
        bytes.resize(WORKSPACE_BYTES as usize, 0);
        held.filter(|address| self.memory.write(*address, &bytes).is_ok()).ok_or_else(|| {
            LaunchError::Config("no memory for the workspace of a cooperative launch".to_owned())
        })
    }

    fn run(
        &mut self,
        kernel: &Kernel,
        config: LaunchConfig,
        params: &[u8],
        LaunchContext { stream, grid_workspace, checks }: LaunchContext,
    ) -> Result<&LaunchRecord, LaunchError> {
        let program: &crate::lower::Program = &Arc::clone(&kernel.program);
        let mut padded = params.to_vec();
        padded.resize((program.param_bytes as usize).next_multiple_of(8), 0);
        let words = padded.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
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
            grid_workspace,
            grid_id: self.launch_count,
            host_threads: self.host_threads,
            runner: host_cpu::runner(),
            checks,
            instruction_limit: self.instruction_limit,
            records_traffic: self.estimates,
            stack_bytes: self.stack_bytes,
            watch: self.place_file.clone().map(Watch::begin),
        };
        let (ran, printed) = launch.run(&mut self.shadow);
        let races_in_part = self.shadow.is_full();
        match &mut self.kept_output {
            Some(output) => output.push_str(&printed),
            None => print(&printed),
        }
        let counts = ran.map_err(LaunchError::Fault)?;
        let Reported { counters, unclaimed } = counters::report(program, kernel.claims(), &counts);
        if self.profiler != Profiler::Stopped {
            self.profile(kernel, &counts);
        }
        let estimate = self.estimate(kernel, config, &counts);
        let kernel = program.name.clone();
        self.launches.push(LaunchRecord {
            profiler: self.profiler,
            kernel,
            config,
            stream,
            checks,
            races_in_part,
            counters,
            unclaimed,
            estimate,
        });
        Ok(self.launches.last().expect("just pushed"))
    }

    /// The estimated time of a launch, if times are estimated.
    fn estimate(
        &self,
        kernel: &Kernel,
        config: LaunchConfig,
        counts: &Counts,
    ) -> Option<timing::Estimate> {
        let shape = self.shape(kernel, config);
        timing::estimate(&kernel.program, kernel.machine(), counts, shape, self.chip.rates)
    }

    /// Gives the device heap its memory, if the kernel is the first that uses it.
    fn open_heap(&mut self, kernel: &Kernel) -> Result<(), LaunchError> {
        let bytes = self.heap_bytes;
        if !kernel.program.uses_heap() || self.memory.heap.open(bytes).is_some() {
            return Ok(());
        }
        Err(LaunchError::Config(format!("no memory for the device heap of {bytes} bytes")))
    }

    /// Adds the counts of a launch to those of its kernel by line.
    fn profile(&mut self, kernel: &Kernel, counts: &Counts) {
        let listing = kernel.listing();
        let known = self.profiles.iter().position(|of| Arc::ptr_eq(&of.listing, listing));
        let at = known.unwrap_or_else(|| {
            self.profiles.push(Profile::new(Arc::clone(listing)));
            self.profiles.len() - 1
        });
        self.profiles[at].add(&kernel.program, counts);
    }

    /// Blocks of a launch that the device holds at once.
    pub fn resident_blocks(&self, kernel: &Kernel, config: LaunchConfig) -> u64 {
        let threads = config.block.iter().product();
        let held = occupancy(self.chip, kernel, threads, config.shared_bytes).blocks;
        u64::from(held) * u64::from(self.chip.sm_count)
    }

    /// The shape of a launch, as its time depends on it.
    fn shape(&self, kernel: &Kernel, config: LaunchConfig) -> timing::Shape {
        let threads: u32 = config.block.iter().product();
        timing::Shape {
            blocks: config.blocks(),
            warps: threads.div_ceil(32),
            resident: occupancy(self.chip, kernel, threads, config.shared_bytes).blocks,
            sms: self.chip.sm_count,
            shared_bytes: kernel.shared_bytes(config.shared_bytes),
            l1_bytes: self.chip.l1_bytes,
            l2_bytes: self.chip.l2_bytes,
            registers_known: kernel.registers().is_some(),
        }
    }

    /// Refuses a launch that the device or the kernel does not allow; returns its checks.
    fn check(
        &self,
        kernel: &Kernel,
        config: LaunchConfig,
        params: &[u8],
    ) -> Result<Checks, LaunchError> {
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
        if let Some(why) = beyond_registers(kernel, chip, threads) {
            return refuse(why);
        }
        if params.len() < kernel.program.param_bytes as usize {
            return refuse(format!(
                "it takes {} bytes of parameters, not {}",
                kernel.program.param_bytes,
                params.len()
            ));
        }
        self.checks.clone().or_else(refuse)
    }

    /// How many launches it has accepted.
    pub fn launch_count(&self) -> u64 {
        self.launch_count
    }

    /// The launches since the previous call.
    pub fn take_launches(&mut self) -> Vec<LaunchRecord> {
        std::mem::take(&mut self.launches)
    }

    /// Starts the profiler: counts by line begin here.
    pub fn start_profiler(&mut self) {
        if self.profiler == Profiler::Untouched {
            self.profiles.clear();
        }
        self.profiler = Profiler::Started;
        self.profiler_starts += 1;
    }

    /// Stops the profiler, if it was started: launches are no longer counted by line.
    pub fn stop_profiler(&mut self) {
        if self.profiler == Profiler::Started {
            self.profiler = Profiler::Stopped;
        }
    }

    /// Notes that the current call of the driver moved `bytes`.
    pub fn note_move(&mut self, kind: MoveKind, bytes: u64) {
        self.moves.note(kind, bytes);
    }

    /// Ends the current call of the driver, on the stream with this number.
    pub fn end_move(&mut self, stream: u64) {
        self.moves.end_call(stream, self.launches.len());
    }

    /// The first calls that moved bytes since the previous call, and how many there were in
    /// addition.
    pub fn take_moves(&mut self) -> (Vec<MoveRecord>, u64) {
        self.moves.take()
    }

    /// The counts of each kernel by line, summed over its launches since the previous call.
    pub fn take_profiles(&mut self) -> Vec<Profile> {
        std::mem::take(&mut self.profiles)
    }

    /// The device, its launches since the previous call, the copies and fills between them, and
    /// counts by line, as JSON.
    pub fn take_report(&mut self) -> String {
        let (moves, more_moves) = self.take_moves();
        self.profiler = Profiler::default();
        let report = Report {
            launches: self.take_launches(),
            moves,
            more_moves,
            profiler_starts: std::mem::take(&mut self.profiler_starts),
            profiles: self.take_profiles(),
        };
        report_json(self.chip, &report)
    }
}

/// The checks that the environment selects, or the variable with a value that is not known.
fn selected_checks(variable: impl Fn(&str) -> Option<OsString>) -> Result<Checks, String> {
    let variable = |name| Some(variable(name)?.to_string_lossy().into_owned());
    for (name, [one, other]) in WORDS {
        if let Some(value) = variable(name).filter(|value| value != one && value != other) {
            return Err(format!("{name}: `{value}` is neither {one} nor {other}"));
        }
    }
    if let Some(value) = variable(CHIP_ENV).filter(|value| chip::named(value).is_none()) {
        let names = chip::BY_NAME.map(|(name, _)| name).join(", ");
        return Err(format!("{CHIP_ENV}: `{value}` is none of {names}"));
    }
    let number = |text: &String| text.trim().parse::<NonZeroUsize>().is_ok();
    if let Some(text) = variable(THREADS_ENV).filter(|text| !number(text)) {
        return Err(format!("{THREADS_ENV}: `{text}` is not a positive number"));
    }
    let Some(checks) = variable(CHECKS_ENV) else { return Ok(Checks::default()) };
    Checks::parse(&checks).map_err(|why| format!("{CHECKS_ENV}: {why}"))
}

/// Writes a kernel's output to standard output, like the driver of a GPU.
fn print(text: &str) {
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
            "{dynamic} bytes of dynamic shared memory exceed the {allowed} that are allowed with its {fixed} static \
             bytes; beyond {limit} in all, MAX_DYNAMIC_SHARED_SIZE_BYTES must be raised first"
        )
    })
}

/// Why a block of so many threads does not get its registers.
fn beyond_registers(kernel: &Kernel, chip: &Chip, threads: u64) -> Option<String> {
    let (each, limit) = (kernel.registers()?, chip.registers_per_block);
    // The hardware checks a block as if it took registers of all four partitions.
    let warps = threads.div_ceil(32).next_multiple_of(4);
    (warps * u64::from(occupancy::registers_of_warp(each)) > u64::from(limit)).then(|| {
        format!(
            "{threads} threads with {each} registers each exceed the {limit} registers of a block"
        )
    })
}

/// Why the kernel was not compiled for blocks of this size.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_with_an_unknown_value_is_refused_by_name() {
        let refused = |name: &str, value: &str| {
            selected_checks(|asked| (asked == name).then(|| value.into())).unwrap_err()
        };
        let chip = "GPUEMU_CHIP: `a200` is none of a100, h100, h200, l4, rtx4090, b200";
        assert_eq!(refused("GPUEMU_CHIP", "a200"), chip);
        assert_eq!(refused("GPUEMU_ESTIMATE", "no"), "GPUEMU_ESTIMATE: `no` is neither 0 nor 1");
        assert_eq!(refused("GPUEMU_TELL", "yes"), "GPUEMU_TELL: `yes` is neither 0 nor 1");
        let times = refused("GPUEMU_EVENT_TIMES", "gpu");
        assert_eq!(times, "GPUEMU_EVENT_TIMES: `gpu` is neither host nor zero");
        let threads = refused("GPUEMU_THREADS", "0");
        assert_eq!(threads, "GPUEMU_THREADS: `0` is not a positive number");
        assert_eq!(selected_checks(|_| None), Ok(Checks::default()));
    }

    #[test]
    fn a_misspelt_check_refuses_every_launch() {
        let checks = selected_checks(|name| (name == CHECKS_ENV).then(|| "init,rase".into()));
        let mut device = Device { checks, ..Device::default() };
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\nret;\n}";
        let kernel = device.load(text).unwrap().kernel("k").unwrap().clone();
        let config = LaunchConfig { grid: [1; 3], block: [1; 3], shared_bytes: 0 };
        let refused = device.launch(&kernel, config, &[], 0).unwrap_err().to_string();
        let expected = "kernel 'k' cannot be launched: GPUEMU_CHECK: invalid checks `init,rase`; \
                        expected `all`, `none`, or some of `memory`, `sync`, `init` and `race`, \
                        separated by commas";
        assert_eq!(refused, expected);
    }
}
