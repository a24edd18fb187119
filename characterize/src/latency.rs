//! Latencies, by chains of loads, and sums of floats in shared memory.

use crate::characterization::{Results, Sizes};
use crate::constant::Constant;
use crate::gpu::{Buffer, Gpu, KERNELS, Problem};

pub const PTX: &str = include_str!("follow.ptx");

/// Bytes of a line.
const LINE: u32 = 128;

/// Measures them.
pub fn measure(
    gpu: &Gpu,
    sizes: &Sizes,
    memory: &mut [Buffer; 2],
    results: &mut Results,
) -> Result<(), Problem> {
    let past_l1 = "ld.global.cg.u64";
    for (constant, load, bytes) in [
        (Constant::L1Latency, "ld.global.u64", 16 << 10),
        // The warm-up follows the whole ring: the first load of a line is from device memory.
        (Constant::L2Latency, past_l1, sizes.steps.next_power_of_two() * LINE),
        (Constant::DramLatency, past_l1, sizes.bytes),
    ] {
        let ring = Ring { constant, load, bytes: bytes.min(sizes.bytes) };
        global(gpu, sizes, memory, ring, results)?;
    }
    let latency = SharedKernel {
        constant: Constant::SharedLatency,
        entry: "follow_shared",
        expected: |steps| u64::from(steps % 32),
    };
    shared(gpu, sizes, latency, results)?;
    let sum = SharedKernel {
        constant: Constant::SharedFloatSum,
        entry: "sum_shared",
        expected: |steps| (steps as f32).to_bits().into(),
    };
    shared(gpu, sizes, sum, results)
}

/// A kernel in shared memory.
struct SharedKernel {
    constant: Constant,
    entry: &'static str,
    /// Its result after so many steps.
    expected: fn(u32) -> u64,
}

/// Times the steps of a kernel in shared memory.
fn shared(
    gpu: &Gpu,
    sizes: &Sizes,
    SharedKernel { constant, entry, expected }: SharedKernel,
    results: &mut Results,
) -> Result<(), Problem> {
    let kernel = gpu.compile(KERNELS, entry)?;
    let state = gpu.allocate(4)?;
    let times = gpu.repeat(|| {
        gpu.launch(&kernel, (1, 32), &[state.address, sizes.steps.into()])?;
        let [end, clocks] = read_state(gpu, &state)?;
        match end == expected(sizes.steps) {
            true => Ok(clocks as f64),
            false => Err(Problem::Result(constant.name())),
        }
    })?;
    results.add(constant, times.least / f64::from(sizes.steps), times);
    Ok(())
}

/// Makes a ring of the lines of so many bytes.
pub fn link(gpu: &Gpu, memory: &Buffer, bytes: u32) -> Result<(), Problem> {
    let lines = bytes / LINE;
    let link = gpu.compile(KERNELS, "link")?;
    gpu.launch(&link, (lines / LINE, LINE), &[memory.address, u64::from(lines - 1)])
}

/// A ring of lines in global memory, each of which holds the address of another one.
struct Ring {
    constant: Constant,
    /// The instruction that follows it.
    load: &'static str,
    bytes: u32,
}

/// Times the steps around a ring.
fn global(
    gpu: &Gpu,
    sizes: &Sizes,
    [memory, other]: &mut [Buffer; 2],
    Ring { constant, load, bytes }: Ring,
    results: &mut Results,
) -> Result<(), Problem> {
    link(gpu, memory, bytes)?;
    if constant == Constant::DramLatency {
        // More than L2 holds, so no line of the ring stays there.
        gpu.zero(other)?;
    }
    let follow = gpu.compile(&PTX.replace("$LOAD", load), "follow")?;
    let mut state = gpu.allocate(4)?;
    gpu.write(&mut state, memory.address)?;
    let (lines, mut line) = (bytes / LINE, 0_u32);
    let times = gpu.repeat(|| {
        gpu.launch(&follow, (1, 1), &[state.address, sizes.steps.into()])?;
        for _ in 0..sizes.steps {
            line = line.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & (lines - 1);
        }
        let [at, clocks] = read_state(gpu, &state)?;
        match at == memory.address + u64::from(LINE) * u64::from(line) {
            true => Ok(clocks as f64),
            false => Err(Problem::Result(constant.name())),
        }
    })?;
    results.add(constant, times.least / f64::from(sizes.steps), times);
    Ok(())
}

/// The end of a chain, and its clocks.
fn read_state(gpu: &Gpu, state: &Buffer) -> Result<[u64; 2], Problem> {
    let words = gpu.read(state, 0, 4)?;
    Ok([0, 2].map(|at| u64::from(words[at + 1]) << 32 | u64::from(words[at])))
}
