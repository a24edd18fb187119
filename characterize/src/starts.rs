//! The cost of launches, of blocks, and of a block that waits for another one.

use crate::characterization::{Results, Sizes};
use crate::constant::Constant;
use crate::gpu::{Gpu, KERNELS, Problem};

/// Launches of nothing that are timed together.
const LAUNCHES: u32 = 64;

/// Measures them.
pub fn measure(gpu: &Gpu, sizes: &Sizes, results: &mut Results) -> Result<(), Problem> {
    let empty = gpu.compile(KERNELS, "empty")?;
    let nothing = |blocks: u32, threads: u32| gpu.launch(&empty, (blocks, threads), &[]);
    // The device is busy until all launches are queued, so the host does not delay them.
    let times = gpu.time(
        || (0..2).try_for_each(|_| nothing(sizes.blocks, 1024)),
        || (0..LAUNCHES).try_for_each(|_| nothing(1, 32)),
    )?;
    let reason = format!(
        "events time launches in a row, {:.0} ns each, which is more than a launch alone",
        times.least / f64::from(LAUNCHES)
    );
    results.missing.push((Constant::LaunchNs, reason));

    for (constant, threads, each) in
        [(Constant::BlocksPerNs, 32, 1.0), (Constant::WarpsPerNs, 1024, 32.0)]
    {
        let few = gpu.time(|| Ok(()), || nothing(sizes.blocks / 16, threads))?;
        let many = gpu.time(|| Ok(()), || nothing(sizes.blocks, threads))?;
        let blocks = f64::from(sizes.blocks - sizes.blocks / 16);
        results.add(constant, each * blocks / (many.least - few.least), many);
    }
    turnaround(gpu, sizes, results)?;
    hand_over(gpu, sizes, results)
}

/// Clocks between the end of a block and the start of the next one in its place: the time of a wave
/// of blocks that spin for some clocks, beyond these clocks.
fn turnaround(gpu: &Gpu, sizes: &Sizes, results: &mut Results) -> Result<(), Problem> {
    let (threads, clocks) = (256, sizes.steps / 4);
    let held = sizes.multiprocessors * gpu.held_threads / threads;
    let spin = gpu.compile(KERNELS, "spin")?;
    let time = |waves: u32, clocks: u32| {
        gpu.time(|| Ok(()), || gpu.launch(&spin, (waves * held, threads), &[clocks.into()]))
    };
    let (few, many) = (time(2, clocks)?, time(20, clocks)?);
    let wave = (many.least - few.least) / 18.0;
    let longer = (time(20, 2 * clocks)?.least - time(2, 2 * clocks)?.least) / 18.0;
    // The device's own clock: spinning needs less power than arithmetic.
    let value = f64::from(clocks) * (wave / (longer - wave) - 1.0);
    results.add(Constant::Turnaround, value, many);
    Ok(())
}

/// A chain of blocks that are all resident.
fn hand_over(gpu: &Gpu, sizes: &Sizes, results: &mut Results) -> Result<(), Problem> {
    let chain = gpu.compile(KERNELS, "hand_over")?;
    let (few, many) = (sizes.multiprocessors, 8 * sizes.multiprocessors);
    let mut counts = gpu.allocate(many as usize)?;
    let address = counts.address;
    let mut time =
        |blocks| gpu.time(|| gpu.zero(&mut counts), || gpu.launch(&chain, (blocks, 1), &[address]));
    let (short, long) = (time(few)?, time(many)?);
    let last = gpu.read(&counts, many as usize - 1, 1)?;
    if last != [many] {
        return Err(Problem::Result(Constant::HandOverNs.name()));
    }
    results.add(Constant::HandOverNs, (long.least - short.least) / f64::from(many - few), long);
    Ok(())
}
