//! The units of a quarter of a multiprocessor, barriers, and the clock under load.

use crate::characterization::{Results, Sizes};
use crate::constant::Constant;
use crate::gpu::{Buffer, Gpu, Kernel, Problem, Times};

pub const PTX: &str = include_str!("unit.ptx");

/// Threads of the block, and its warps on each quarter.
const THREADS: u32 = 1024;
const WARPS: f64 = 8.0;

/// Independent chains of a thread, and the instructions of each in a round.
const CHAINS: u32 = 4;
const LENGTH: u32 = 32;

/// An instruction of which many are executed.
struct Instruction {
    constant: Constant,
    /// `D` is replaced by the accumulators; `%one` is a register with [`Self::one`].
    text: &'static str,
    /// Bits of a register.
    bits: u32,
    /// Registers of the result.
    accumulators: u32,
    /// One, in the type of the inputs; twice or more where a register holds several.
    one: u64,
    /// The accumulators after so many instructions.
    expected: fn(u32) -> u64,
    /// The multiplications of a matrix product.
    products: Option<f64>,
}

const FLOAT: Instruction = Instruction {
    constant: Constant::FloatBusy,
    text: "fma.rn.f32 D, D, %one, %one;",
    bits: 32,
    accumulators: 1,
    one: 0x3f80_0000,
    expected: |count| (count as f32).to_bits().into(),
    products: None,
};

const INSTRUCTIONS: [Instruction; 9] = [
    FLOAT,
    Instruction {
        constant: Constant::HalfBusy,
        text: "fma.rn.f16x2 D, D, %one, %one;",
        one: 0x3c00_3c00,
        expected: |count| u64::from((count.ilog2() + 15) << 10) * 0x1_0001,
        ..FLOAT
    },
    Instruction {
        constant: Constant::DoubleBusy,
        text: "fma.rn.f64 D, D, %one, %one;",
        bits: 64,
        one: 0x3ff0_0000_0000_0000,
        expected: |count| f64::from(count).to_bits(),
        ..FLOAT
    },
    Instruction {
        constant: Constant::TensorHalf,
        text: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
               D, {%one, %one, %one, %one}, {%one, %one}, D;",
        accumulators: 4,
        one: 0x3c00_3c00,
        expected: |count| (16.0 * count as f32).to_bits().into(),
        products: Some(2048.0),
        ..FLOAT
    },
    Instruction {
        constant: Constant::TensorTf32,
        text: "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 \
               D, {%one, %one, %one, %one}, {%one, %one}, D;",
        accumulators: 4,
        expected: |count| (8.0 * count as f32).to_bits().into(),
        products: Some(1024.0),
        ..FLOAT
    },
    Instruction {
        constant: Constant::TensorDouble,
        text: "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 D, {%one}, {%one}, D;",
        bits: 64,
        accumulators: 2,
        one: 0x3ff0_0000_0000_0000,
        expected: |count| (4.0 * f64::from(count)).to_bits(),
        products: Some(256.0),
    },
    Instruction {
        constant: Constant::TensorByte,
        text: "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 \
               D, {%one, %one, %one, %one}, {%one, %one}, D;",
        accumulators: 4,
        one: 0x0101_0101,
        expected: |count| (32 * count).into(),
        products: Some(4096.0),
        ..FLOAT
    },
    Instruction {
        constant: Constant::TensorBit,
        text: "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc \
               D, {%one, %one, %one, %one}, {%one, %one}, D;",
        accumulators: 4,
        one: 0xffff_ffff,
        expected: |count| (256 * count).into(),
        products: Some(32_768.0),
        ..FLOAT
    },
    Instruction { constant: Constant::Barrier, text: "bar.sync 0;", accumulators: 0, ..FLOAT },
];

impl Instruction {
    /// A kernel of many of them.
    fn ptx(&self) -> String {
        let count = self.accumulators;
        let each = |line: fn(u32, u32) -> String| -> String {
            (0..CHAINS * count).map(|register| line(register, self.bits)).collect()
        };
        let chain = |chain: u32| {
            let names = (chain * count..(chain + 1) * count).map(|at| format!("%x{at}"));
            match count {
                1 => names.collect(),
                _ => format!("{{{}}}", names.collect::<Vec<_>>().join(", ")),
            }
        };
        let round = (0..CHAINS).map(|at| self.text.replace('D', &chain(at)) + "\n");
        let (version, target) = match self.products {
            Some(_) => ("7.1", "sm_80"),
            None => ("6.0", "sm_70"),
        };
        let compare = |register, bits| {
            format!(
                "setp.eq.b{bits} %is_equal, %x{register}, %expected;\n\
                 selp.u32 %equal, %equal, 0, %is_equal;\n"
            )
        };
        PTX.replace("$VERSION", version)
            .replace("$TARGET", target)
            .replace("$BITS", &self.bits.to_string())
            .replace("$ZERO", &each(|register, bits| format!("mov.b{bits} %x{register}, 0;\n")))
            .replace("$INSTRUCTIONS", &round.collect::<String>().repeat(LENGTH as usize))
            .replace("$COMPARE", &each(compare))
    }

    /// Launches `blocks` with `rounds`; the clocks and nanoseconds of the first one.
    fn run(
        &self,
        gpu: &Gpu,
        kernel: &Kernel,
        out: &mut Buffer,
        blocks: u32,
        rounds: u32,
    ) -> Result<(f64, f64), Problem> {
        gpu.zero(out)?;
        let expected = (self.expected)(rounds * LENGTH);
        let arguments = [out.address, rounds.into(), self.one, expected];
        gpu.launch(kernel, (blocks, THREADS), &arguments)?;
        let out = gpu.read(out, 0, 6)?;
        if out[4] != blocks * THREADS {
            return Err(Problem::Result(self.constant.name()));
        }
        let value = |at: usize| f64::from(out[at + 1]) * 2_f64.powi(32) + f64::from(out[at]);
        Ok((value(0), value(2)))
    }
}

/// Measures all of them, each on one multiprocessor, and the clock while all are busy.
pub fn measure(gpu: &Gpu, sizes: &Sizes, results: &mut Results) -> Result<(), Problem> {
    let mut out = gpu.allocate(6)?;
    let kernel = gpu.compile(&FLOAT.ptx(), "unit")?;
    let (blocks, rounds) = (sizes.multiprocessors, 32 * sizes.rounds);
    let periods = gpu.repeat(|| {
        let (clocks, nanoseconds) = FLOAT.run(gpu, &kernel, &mut out, blocks, rounds)?;
        Ok(nanoseconds / clocks)
    })?;
    results.add(Constant::ClockGhz, 1.0 / periods.least, periods);
    for it in &INSTRUCTIONS {
        if it.products.is_some() && gpu.compute_capability < (8, 0) {
            let reason = "mma.sync of these types needs compute capability 8.0".to_owned();
            results.missing.push((it.constant, reason));
            continue;
        }
        let kernel = match gpu.compile(&it.ptx(), "unit") {
            Ok(kernel) => kernel,
            Err(problem) => {
                results.missing.push((it.constant, problem.to_string()));
                continue;
            }
        };
        let mut clocks = |rounds| -> Result<Times, Problem> {
            gpu.repeat(|| Ok(it.run(gpu, &kernel, &mut out, 1, rounds)?.0))
        };
        let (few, many) = (clocks(sizes.rounds / 4)?, clocks(sizes.rounds)?);
        let count = f64::from((sizes.rounds - sizes.rounds / 4) * CHAINS * LENGTH);
        let each = (many.least - few.least) / count;
        let value = match (it.products, it.accumulators) {
            (Some(products), _) => products * WARPS / each,
            (None, 0) => each,
            (None, _) => each / WARPS,
        };
        results.add(it.constant, value, many);
    }
    Ok(())
}
