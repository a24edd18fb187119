//! How many blocks a multiprocessor could hold by each of its resources alone.
//!
//! Input: the resources of a multiprocessor and the needs of a block. Output: the limits, by the
//! rules of NVIDIA's occupancy calculator (`cuda_occupancy.h` of CUDA 13.0, capabilities 7.0 to
//! 12.1). A test compares them in every combination that `tests/occupancy/record.c` recorded.

use crate::measurement::BlockLimits;

/// Threads of a warp on every device so far.
pub const WARP: u64 = 32;

/// Registers are given to a warp in units of this many.
const REGISTER_UNIT: u64 = 256;

/// Each of a multiprocessor's partitions has its own registers and warps.
const PARTITIONS: u64 = 4;

/// The maximum of a thread.
const MOST_REGISTERS: u64 = 256;

const KIB: u64 = 1024;

/// A multiprocessor. Sizes are bytes.
#[derive(Debug, Clone, Copy)]
pub struct Multiprocessor {
    /// The compute capability.
    pub capability: (u32, u32),
    /// Threads that a block can have.
    pub threads_per_block: u64,
    /// Threads that it holds.
    pub threads: u64,
    /// Blocks that it holds.
    pub blocks: u64,
    /// Registers that a block can have.
    pub registers_per_block: u64,
    /// Registers that it has.
    pub registers: u64,
    /// Shared memory that it has.
    pub shared: u64,
    /// Of a block, without opting in.
    pub shared_per_block: u64,
    /// Of a block with a function that opted in.
    pub shared_per_block_optin: u64,
    /// The part of each block's shared memory that the driver reserves.
    pub reserved_shared: u64,
}

/// The needs of a block. Sizes are bytes.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Threads.
    pub threads: u64,
    /// A thread's.
    pub registers: u64,
    /// Shared memory that the kernel declares.
    pub static_shared: u64,
    /// Shared memory that the launch asks for.
    pub dynamic_shared: u64,
    /// The maximum that an attribute of the function allows.
    pub most_dynamic_shared: u64,
    /// The percentage of shared memory that the function prefers, as an attribute says; none
    /// without a preference.
    pub carveout: Option<u64>,
    /// Named barriers. The driver does not report them; the calculator assumes one.
    pub barriers: u64,
}

impl Multiprocessor {
    /// The blocks that fit by each resource alone; `None` where a block needs nothing of it.
    pub fn limits(&self, needs: &Needs) -> BlockLimits {
        let narrow = |blocks: u64| u32::try_from(blocks).unwrap_or(u32::MAX);
        BlockLimits {
            warps: narrow(self.by_warps(needs)),
            blocks: narrow(self.blocks),
            registers: self.by_registers(needs).map(narrow),
            shared_memory: self.by_shared_memory(needs).map(narrow),
            barriers: self.barriers().and_then(|all| all.checked_div(needs.barriers)).map(narrow),
            reserved_shared_bytes: narrow(self.reserved_shared),
        }
    }

    fn by_warps(&self, needs: &Needs) -> u64 {
        let warps = needs.threads.div_ceil(WARP);
        let fits = (self.threads / WARP).checked_div(warps).unwrap_or(0);
        if needs.threads > self.threads_per_block { 0 } else { fits }
    }

    /// A partition's registers go to its own warps, so what is left in each cannot be put together.
    fn by_registers(&self, needs: &Needs) -> Option<u64> {
        let warps = needs.threads.div_ceil(WARP);
        let per_warp = (needs.registers * WARP).next_multiple_of(REGISTER_UNIT);
        // The hardware checks a block as if it took registers of all partitions.
        let assumed = per_warp * warps.next_multiple_of(PARTITIONS);
        if assumed > self.registers_per_block || needs.registers > MOST_REGISTERS {
            return Some(0);
        }
        let per_partition = (self.registers / PARTITIONS).checked_div(per_warp)?;
        Some((per_partition * PARTITIONS).checked_div(warps).unwrap_or(0))
    }

    fn by_shared_memory(&self, needs: &Needs) -> Option<u64> {
        let fixed = needs.static_shared + self.reserved_shared;
        let unit = if self.capability.0 < 8 { 256 } else { 128 };
        let allocated = (fixed + needs.dynamic_shared).next_multiple_of(unit);
        let opted_in = fixed + needs.most_dynamic_shared > self.shared_per_block;
        let of_block = if opted_in { self.shared_per_block_optin } else { self.shared_per_block };
        if needs.dynamic_shared > needs.most_dynamic_shared
            || allocated > of_block + self.reserved_shared
        {
            return Some(0);
        }
        let preferred = needs.carveout.map_or(self.shared, |percent| percent * self.shared / 100);
        self.configured(preferred.max(allocated)).checked_div(allocated)
    }

    /// The configured shared memory of a multiprocessor for a need of `bytes`; L1 gets the rest.
    fn configured(&self, bytes: u64) -> u64 {
        let sizes: &[u64] = match self.capability {
            (7, 5) => &[32, 64],
            (7, _) => &[0, 8, 16, 32, 64, 96],
            (8, 0 | 7) => &[0, 8, 16, 32, 64, 100, 132, 164],
            (8 | 12, _) => &[0, 8, 16, 32, 64, 100],
            (9..=11, _) => &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
            _ => &[],
        };
        sizes.iter().map(|size| size * KIB).find(|&size| size >= bytes).unwrap_or(self.shared)
    }

    /// They are as good as unlimited before Hopper: the calculator leaves them out.
    fn barriers(&self) -> Option<u64> {
        match self.capability {
            (..=8, _) => None,
            (10, 1) | (11, 0) | (12, _) => Some(self.blocks),
            _ => Some(2 * self.blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `tests/occupancy/record.c`.
    const RECORDED: &[u8] = include_bytes!("../tests/occupancy/recorded.zst");

    fn numbers<T: std::str::FromStr>(words: &str) -> Vec<T> {
        words.split(' ').filter_map(|word| word.parse().ok()).collect()
    }

    /// `AT:LIMIT` pairs, each of which holds up to the next one.
    struct Steps(Vec<(u64, Option<u32>)>);

    impl Steps {
        fn read(words: &str) -> Self {
            let step = |word: &str| {
                let (at, limit) = word.split_once(':')?;
                Some((at.parse().unwrap(), limit.parse().ok()))
            };
            Self(words.split(' ').filter_map(step).collect())
        }

        fn at(&self, input: u64) -> Option<u32> {
            let after = self.0.partition_point(|(at, _)| *at <= input);
            self.0[after - 1].1
        }
    }

    fn device(line: &str) -> Multiprocessor {
        let [
            major,
            minor,
            threads_per_block,
            threads,
            registers_per_block,
            registers,
            shared_per_block,
            shared,
            shared_per_block_optin,
            reserved_shared,
        ] = numbers(line).try_into().unwrap();
        Multiprocessor {
            capability: (u32::try_from(major).unwrap(), u32::try_from(minor).unwrap()),
            threads_per_block,
            threads,
            blocks: 0,
            registers_per_block,
            registers,
            shared,
            shared_per_block,
            shared_per_block_optin,
            reserved_shared,
        }
    }

    fn needs(threads: u64, registers: u64) -> Needs {
        Needs {
            threads,
            registers,
            static_shared: 0,
            dynamic_shared: 0,
            most_dynamic_shared: 49152,
            carveout: None,
            barriers: 1,
        }
    }

    /// Compares one line of the recording with the rules; the combinations that it holds.
    fn compare(on: &Multiprocessor, kind: &str, rest: &str) -> u64 {
        let steps = Steps::read(rest);
        let limits = |needs: Needs| on.limits(&needs);
        match kind {
            "warps" => (32..=1024)
                .inspect(|&n| {
                    assert_eq!(Some(limits(needs(n, 16)).warps), steps.at(n), "{on:?} {n}")
                })
                .count() as u64,
            "barriers" => (0..=16)
                .inspect(|&barriers| {
                    let found = limits(Needs { barriers, ..needs(32, 16) }).barriers;
                    assert_eq!(found, steps.at(barriers), "{on:?} {barriers}");
                })
                .count() as u64,
            "registers" => {
                let registers = numbers(rest)[0];
                (32..=1024)
                    .inspect(|&n| {
                        let found = limits(needs(n, registers)).registers;
                        assert_eq!(found, steps.at(n), "{on:?}: {registers} registers, block {n}");
                    })
                    .count() as u64
            }
            "shared" => shared(on, rest, &steps),
            _ => panic!("{kind}"),
        }
    }

    /// Every size at which the recorded limit changes, the sizes around it, and every 16th other.
    fn shared(on: &Multiprocessor, rest: &str, steps: &Steps) -> u64 {
        let [carveout, static_shared, most] = numbers::<i64>(rest).try_into().unwrap();
        let [static_shared, most] = [static_shared, most].map(|n| u64::try_from(n).unwrap());
        let around = steps.0.iter().flat_map(|&(at, _)| [at.saturating_sub(1), at, at + 1]);
        let sizes = around.chain((0..=most).step_by(16)).filter(|&size| size <= most);
        sizes
            .inspect(|&dynamic_shared| {
                let found = on.limits(&Needs {
                    static_shared,
                    dynamic_shared,
                    most_dynamic_shared: dynamic_shared.max(on.shared_per_block - static_shared),
                    carveout: u64::try_from(carveout).ok(),
                    ..needs(32, 16)
                });
                let recorded = steps.at(dynamic_shared);
                assert_eq!(found.shared_memory, recorded, "{on:?}: {rest}, {dynamic_shared}");
            })
            .count() as u64
    }

    #[test]
    fn every_limit_is_that_of_nvidias_calculator() {
        let text = String::from_utf8(zstd::decode_all(RECORDED).unwrap()).unwrap();
        let (mut on, mut capabilities, mut compared) = (None::<Multiprocessor>, Vec::new(), 0);
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap();
            match (kind, &mut on) {
                ("device", on) => {
                    let device = on.insert(device(rest));
                    capabilities.push(device.capability);
                }
                ("blocks", Some(on)) => on.blocks = Steps::read(rest).at(0).unwrap().into(),
                (kind, on) => compared += compare(on.as_ref().unwrap(), kind, rest),
            }
        }
        let expected = [(7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];
        assert_eq!(capabilities, expected);
        assert!(compared > 8 * 240 * 993, "{compared}");
    }
}
