//! A device with a module loaded, and the little that every test of kernels needs.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use gpuprof_emulator::counters::{LineCounts, Profile};
use gpuprof_emulator::device::{Checks, Device, LaunchConfig, LaunchError, LaunchRecord, Module};

/// A device with the fixture loaded.
pub struct Bench {
    pub device: Device,
    pub module: Module,
}

/// One kernel argument, by its bytes.
pub trait Argument {
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! argument {
    ($($ty:ty)*) => {
        $(impl Argument for $ty {
            fn bytes(&self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        })*
    };
}

argument! { i32 u32 u64 f32 f64 i16 u16 }

impl Bench {
    pub fn new(ptx: &str) -> Self {
        Self::with_threads(ptx, 2)
    }

    pub fn with_threads(ptx: &str, threads: usize) -> Self {
        let mut device = Device::default().with_host_threads(threads);
        let module = device.load(ptx).unwrap();
        Self { device, module }
    }

    /// For kernels with races, of which only the accesses are counted.
    pub fn unchecked(ptx: &str) -> Self {
        let mut device = Device::default().with_checks(Checks::NONE);
        let module = device.load(ptx).unwrap();
        Self { device, module }
    }

    pub fn upload<T: Argument>(&mut self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(Argument::bytes).collect();
        let address = self.device.memory.allocate(bytes.len() as u64).unwrap();
        self.device.memory.write(address, &bytes).unwrap();
        address
    }

    pub fn download<const N: usize, T>(
        &self,
        address: u64,
        count: usize,
        from: fn([u8; N]) -> T,
    ) -> Vec<T> {
        let mut bytes = vec![0; count * N];
        self.device.memory.read(address, &mut bytes).unwrap();
        bytes.chunks_exact(N).map(|chunk| from(chunk.try_into().unwrap())).collect()
    }

    pub fn floats(&self, address: u64, count: usize) -> Vec<f32> {
        self.download(address, count, f32::from_le_bytes)
    }

    pub fn ints(&self, address: u64, count: usize) -> Vec<i32> {
        self.download(address, count, i32::from_le_bytes)
    }

    pub fn try_launch(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        args: &[&dyn Argument],
    ) -> Result<LaunchRecord, LaunchError> {
        let kernel = self.module.kernel(kernel).unwrap().clone();
        let mut params = Vec::new();
        for (arg, &(offset, _)) in args.iter().zip(kernel.params()) {
            params.resize(offset as usize, 0);
            params.extend(arg.bytes());
        }
        self.device.launch(&kernel, LaunchConfig { grid, block, shared_bytes }, &params, 0).cloned()
    }

    pub fn launch(
        &mut self,
        kernel: &str,
        grid: u32,
        block: u32,
        args: &[&dyn Argument],
    ) -> LaunchRecord {
        self.device.take_profiles();
        let record = self.try_launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args).unwrap();
        lines_add_up(&self.device.take_profiles(), &record);
        record
    }

    pub fn fault(&mut self, kernel: &str, grid: u32, block: u32, args: &[&dyn Argument]) -> String {
        self.try_launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args).unwrap_err().to_string()
    }
}

/// The counts of all lines add up to those of the launch, as far as the launch has them.
fn lines_add_up(profiles: &[Profile], record: &LaunchRecord) {
    let [profile] = profiles else { panic!("{} profiles of a launch", profiles.len()) };
    let mut sum = LineCounts::default();
    profile.counts.iter().for_each(|counts| sum += *counts);
    let total = |names: &[String]| names.iter().map(|name| record.counter(name)).sum();
    let totals = |names: &[&str]| total(&names.iter().map(|&name| name.into()).collect::<Vec<_>>());
    let sectors = ["ld", "st", "red", "atom"]
        .map(|op| format!("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{op}.sum"));
    let copies = record.counter("ptx__async_copy_sectors.sum").unwrap_or(0);
    let conflicts = ["ld", "st"].map(|op| format!("ptx__shared_bank_conflicts_op_{op}.sum"));
    let of_matrices = ["load", "store"].map(|op| format!("ptx__matrix_{op}_bank_conflicts.sum"));
    let of_matrices: u64 = of_matrices.iter().filter_map(|name| record.counter(name)).sum();
    let divisions = profile.listing.lines.iter().zip(&profile.counts);
    let divisions = divisions.filter(|(line, _)| divides_doubles(&line.text));
    let divisions: u64 = divisions.map(|(_, counts)| counts.fp64_operations).sum();
    let of_doubles = ["dadd", "dmul", "dfma", "dfma"]
        .map(|op| format!("ptx__thread_inst_executed_op_{op}_pred_on.sum"));
    let expected: [(&str, u64, Option<u64>); 10] = [
        ("local loads", sum.local_loads, totals(&["ptx__local_ld.sum"])),
        ("local stores", sum.local_stores, totals(&["ptx__local_st.sum"])),
        ("doubles", sum.fp64_operations - divisions, total(&of_doubles)),
        ("instructions", sum.instructions, totals(&["ptx__inst_executed.sum"])),
        ("threads", sum.threads, totals(&["ptx__thread_inst_executed.sum"])),
        ("threads on", sum.threads_on, totals(&["ptx__thread_inst_executed_pred_on.sum"])),
        ("branches", sum.branches, totals(&["ptx__branches.sum"])),
        ("divergent", sum.divergent_branches, totals(&["ptx__branches_divergent.sum"])),
        ("sectors", sum.sectors, total(&sectors).map(|all: u64| all + copies)),
        (
            "conflicts",
            sum.wavefronts - sum.ideal_wavefronts,
            total(&conflicts).map(|all: u64| all + of_matrices),
        ),
    ];
    for (what, lines, launch) in expected {
        assert_eq!(Some(lines), launch.or(Some(lines)), "{what} of {}", record.kernel);
    }
    assert!(sum.ideal_sectors <= sum.sectors && sum.bytes >= sum.ideal_sectors);
}

/// Whether a line of PTX has an operation on doubles that no counter counts.
fn divides_doubles(text: &str) -> bool {
    let divides = ["div.", "sqrt.", "rcp.", "rsqrt."].iter().any(|it| text.contains(it));
    divides && text.contains(".f64")
}

/// Noise of a fixed seed.
pub fn noise(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..count).map(step).collect()
}

/// Noise in [0, 1).
pub fn unit(count: usize, seed: u32) -> Vec<f32> {
    noise(count, seed).into_iter().map(|bits| (bits >> 8) as f32 / (1 << 24) as f32).collect()
}
