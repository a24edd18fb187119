//! A device with a module loaded, and the little that every test of kernels needs.

#![allow(dead_code, reason = "each test binary uses a part of it")]

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
        self.try_launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args).unwrap()
    }

    pub fn fault(&mut self, kernel: &str, grid: u32, block: u32, args: &[&dyn Argument]) -> String {
        self.try_launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args).unwrap_err().to_string()
    }
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
