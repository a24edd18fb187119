//! Bandwidths of device memory and L2, and rates of atomics.

use crate::characterization::{Results, Sizes};
use crate::constant::Constant;
use crate::gpu::{Buffer, Gpu, KERNELS, Problem};
use crate::latency;

pub const PTX: &str = include_str!("access.ptx");

/// Threads of a block; as many blocks as are resident on any chip.
const THREADS: u32 = 1024;

/// How the words of a region are accessed.
struct Access {
    constant: Constant,
    text: &'static str,
    region: Region,
    /// Bytes, lines or atomics of an access of a thread.
    counts: f64,
    /// Accesses of each thread, with the usual sizes.
    rounds: u32,
    /// Whether the kernel has done its work.
    is_right: fn(&Left) -> bool,
}

/// Which words are accessed.
enum Region {
    /// All bytes that stay in L2, 16 after the other.
    Whole,
    /// The first 4 of each line.
    Lines,
    /// A million words in no order.
    Words,
    /// One word.
    Word,
}

/// The memory after the last launch.
struct Left {
    accesses: u64,
    rounds: u32,
    region: Vec<u32>,
    sums: Vec<u32>,
}

impl Left {
    fn total(&self) -> u64 {
        self.region.iter().copied().map(u64::from).sum()
    }
}

/// Stores come first: the loads after them read sevens.
const ACCESSES: [Access; 7] = [
    Access {
        constant: Constant::L2StoredBytesPerNs,
        text: "st.global.v4.u32 [%at], {%seven, %seven, %seven, %seven};",
        region: Region::Whole,
        counts: 16.0,
        rounds: 256,
        is_right: |of| of.region.iter().all(|word| *word == 7),
    },
    Access {
        constant: Constant::L2BytesPerNs,
        text: "ld.global.cg.v4.u32 {%v0, %v1, %v2, %v3}, [%at];\n\
               add.u32 %v0, %v0, %v1;\nadd.u32 %v2, %v2, %v3;\n\
               add.u32 %sum, %sum, %v0;\nadd.u32 %sum, %sum, %v2;",
        region: Region::Whole,
        counts: 16.0,
        rounds: 256,
        is_right: |of| of.sums.iter().all(|sum| *sum == 28 * of.rounds),
    },
    Access {
        constant: Constant::L2LinesPerNs,
        text: "ld.global.cg.u32 %v0, [%at];\nadd.u32 %sum, %sum, %v0;",
        region: Region::Lines,
        counts: 1.0,
        rounds: 64,
        is_right: |of| of.sums.iter().all(|sum| *sum == 7 * of.rounds),
    },
    Access {
        constant: Constant::UpdatesPerNs,
        text: "red.global.add.u32 [%at], 1;",
        region: Region::Words,
        counts: 1.0,
        rounds: 64,
        is_right: |of| of.total() == of.accesses,
    },
    Access {
        constant: Constant::ReturningUpdatesPerNs,
        text: "atom.global.add.u32 %v0, [%at], 1;\nadd.u32 %sum, %sum, %v0;",
        region: Region::Words,
        counts: 1.0,
        rounds: 64,
        is_right: |of| of.total() == of.accesses,
    },
    Access {
        constant: Constant::SliceUpdatesPerNs,
        text: "red.global.add.u32 [%at], 1;",
        region: Region::Word,
        counts: 1.0,
        rounds: 4,
        is_right: |of| of.total() == of.accesses,
    },
    Access {
        constant: Constant::SliceFloatSumsPerNs,
        text: "red.global.add.f32 [%at], 0f3F800000;",
        region: Region::Word,
        counts: 1.0,
        rounds: 4,
        is_right: |of| f32::from_bits(of.region[0]) == of.accesses as f32,
    },
];

/// Measures them.
pub fn measure(
    gpu: &Gpu,
    sizes: &Sizes,
    memory: &[Buffer; 2],
    results: &mut Results,
) -> Result<(), Problem> {
    copy(gpu, sizes, memory, results)?;
    // A third of L2: some chips hold data twice, once in each half.
    let bytes = 1 << (gpu.l2_bytes / 3).min(sizes.bytes).ilog2();
    let blocks = 2 * sizes.multiprocessors;
    let mut of = Accessed {
        blocks,
        bytes,
        region: gpu.allocate(bytes as usize / 4)?,
        sums: gpu.allocate((blocks * THREADS) as usize)?,
    };
    ACCESSES.iter().try_for_each(|access| access.measure(gpu, sizes, &mut of, results))
}

/// What is accessed, by so many blocks.
struct Accessed {
    blocks: u32,
    bytes: u32,
    region: Buffer,
    /// A word of each thread.
    sums: Buffer,
}

impl Access {
    fn measure(
        &self,
        gpu: &Gpu,
        sizes: &Sizes,
        of: &mut Accessed,
        results: &mut Results,
    ) -> Result<(), Problem> {
        let (blocks, bytes) = (of.blocks, of.bytes);
        let in_order = (1, blocks * THREADS);
        let (words, stride, (scatter, step)) = match self.region {
            Region::Whole => (bytes / 16, 16, in_order),
            Region::Lines => (bytes / 128, 128, in_order),
            Region::Words => ((bytes / 4).min(1 << 20), 4, (2_654_435_761, 40_503)),
            Region::Word => (1, 4, in_order),
        };
        let is_update = matches!(self.region, Region::Words | Region::Word);
        let kernel = gpu.compile(&PTX.replace("$ACCESS", self.text), "access")?;
        let place = [of.region.address, (words - 1).into(), stride, scatter, step.into()];
        let place = [&place[..], &[of.sums.address]].concat();
        let mut time = |rounds: u32| {
            let arguments = [&place[..], &[rounds.into()]].concat();
            let before = || if is_update { gpu.zero(&mut of.region) } else { Ok(()) };
            gpu.time(before, || gpu.launch(&kernel, (blocks, THREADS), &arguments))
        };
        let rounds = (self.rounds * sizes.rounds / 64).max(4);
        let (few, many) = (time(rounds / 4)?, time(rounds)?);
        let left = Left {
            accesses: u64::from(blocks * THREADS) * u64::from(rounds),
            rounds,
            region: gpu.read(&of.region, 0, bytes as usize / 4)?,
            sums: gpu.read(&of.sums, 0, (blocks * THREADS) as usize)?,
        };
        if !(self.is_right)(&left) {
            return Err(Problem::Result(self.constant.name()));
        }
        let count = f64::from(blocks * THREADS) * f64::from(rounds - rounds / 4) * self.counts;
        results.add(self.constant, count / (many.least - few.least), many);
        Ok(())
    }
}

/// Copies the first buffer to the second.
fn copy(
    gpu: &Gpu,
    sizes: &Sizes,
    [from, to]: &[Buffer; 2],
    results: &mut Results,
) -> Result<(), Problem> {
    latency::link(gpu, from, sizes.bytes)?;
    let copy = gpu.compile(KERNELS, "copy")?;
    let times = gpu.time(
        || Ok(()),
        || gpu.launch(&copy, (sizes.bytes / 16 / 256, 256), &[from.address, to.address]),
    )?;
    let line = |of: &Buffer| gpu.read(of, sizes.bytes as usize / 4 - 32, 32);
    if line(from)? != line(to)? || line(to)?[..2] == [0, 0] {
        return Err(Problem::Result(Constant::DramBytesPerNs.name()));
    }
    results.add(Constant::DramBytesPerNs, 2.0 * f64::from(sizes.bytes) / times.least, times);
    Ok(())
}
