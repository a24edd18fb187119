//! Occupancy: how many warps a multiprocessor holds, their limits, and the effect of smaller needs.
//!
//! Input: a configuration with its launch facts, and the device. Output: the blocks that fit by
//! each resource, and the next smaller need of registers and of shared memory with which one more
//! block fits. If NVIDIA's rules do not give the limits of the driver's launch facts, nothing is
//! predicted.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::occupancy::{Multiprocessor, Needs, WARP};
use gpuprof_model::run::ConfigurationResult;

use crate::view::best::value;

/// The shared memory that a kernel may use where it did not opt in to more.
const DEFAULT_DYNAMIC: u64 = 48 << 10;

const KIB: u64 = 1 << 10;

/// A resource and the blocks that it has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// `registers` …
    pub resource: &'static str,
    /// Blocks.
    pub blocks: u64,
}

/// A smaller need, and its effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Less {
    /// `registers a thread` or `bytes of shared memory`.
    pub of: &'static str,
    /// The launch's need now.
    pub now: u64,
    /// The most that it may need for more blocks.
    pub needed: u64,
    /// The blocks with that.
    pub blocks: u64,
    /// The occupancy with that, in percent.
    pub occupancy: f64,
    /// Whether the smallest step, one register or one kilobyte, is enough.
    pub one_step: bool,
}

/// The occupancy of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    /// Percent of the warps that a multiprocessor could hold.
    pub theoretical: Option<f64>,
    /// The occupancy measured over the launch.
    pub achieved: Option<f64>,
    /// Each resource, in one order.
    pub rooms: Vec<Room>,
    /// The resources that limit it.
    pub limiters: Vec<&'static str>,
    /// Smaller needs that would help; empty if neither registers nor shared memory limit, or if the
    /// rules do not apply.
    pub less: Vec<Less>,
}

const ROOMS: [(&str, &str); 5] = [
    ("warps", "launch__occupancy_limit_warps"),
    ("blocks", "launch__occupancy_limit_blocks"),
    ("registers", "launch__occupancy_limit_registers"),
    ("shared memory", "launch__occupancy_limit_shared_mem"),
    ("barriers", "launch__occupancy_limit_barriers"),
];

/// The occupancy of `row`; none if nothing of it is known.
pub fn occupancy(row: &ConfigurationResult, device: Option<&DeviceRecord>) -> Option<Occupancy> {
    let theoretical = value(row, "theoretical_occupancy");
    let achieved = value(row, "sm__warps_active.avg.pct_of_peak_sustained_active");
    let room = |(resource, metric)| Some(Room { resource, blocks: whole(row, metric)? });
    let rooms: Vec<Room> = ROOMS.into_iter().filter_map(room).collect();
    if rooms.is_empty() && theoretical.is_none() && achieved.is_none() {
        return None;
    }
    let fewest = rooms.iter().map(|room| room.blocks).min();
    let tight = rooms.iter().filter(|room| Some(room.blocks) == fewest);
    let limiters: Vec<&'static str> = tight.map(|room| room.resource).collect();
    let less = fewest.zip(device).and_then(|(fewest, device)| less(row, device, &rooms, fewest));
    let less = less.unwrap_or_default();
    Some(Occupancy { theoretical, achieved, limiters, rooms, less })
}

/// The effect of fewer registers and less shared memory.
fn less(
    row: &ConfigurationResult,
    device: &DeviceRecord,
    rooms: &[Room],
    fewest: u64,
) -> Option<Vec<Less>> {
    let on = multiprocessor(device)?;
    let dynamic_shared = whole(row, "dynamic_shared")?;
    let needs = Needs {
        threads: whole(row, "launch__block_size")?,
        registers: whole(row, "registers")?,
        static_shared: whole(row, "static_shared")?,
        dynamic_shared,
        most_dynamic_shared: dynamic_shared.max(DEFAULT_DYNAMIC),
        carveout: None,
        barriers: 1,
    };
    // The rules must agree with the launch facts.
    let driver_blocks =
        |resource| rooms.iter().find(|room| room.resource == resource).map(|r| r.blocks);
    let limits = on.limits(&needs);
    let of_registers = limits.registers.map(u64::from);
    let of_shared = limits.shared_memory.map(u64::from);
    if of_registers != driver_blocks("registers") || of_shared != driver_blocks("shared memory") {
        return None;
    }
    let fits = |needs: &Needs| fewest_blocks(&on, needs);
    let gives = |of, now, needed, step: u64, with: &Needs| Less {
        of,
        now,
        needed,
        blocks: fits(with),
        occupancy: occupied(&on, with, fits(with)),
        one_step: now - needed <= step,
    };
    let registers = (1..needs.registers).rev().map(|registers| Needs { registers, ..needs });
    let registers = registers
        .into_iter()
        .find(|with| fits(with) > fewest)
        .map(|with| gives("registers a thread", needs.registers, with.registers, 1, &with));
    let all_shared = needs.static_shared + needs.dynamic_shared;
    let with_shared = |bytes: u64| Needs { static_shared: 0, dynamic_shared: bytes, ..needs };
    let steps = (1..=all_shared.div_ceil(KIB)).map(|step| all_shared.saturating_sub(step * KIB));
    let shared = steps.into_iter().find(|&bytes| fits(&with_shared(bytes)) > fewest);
    let shared = shared
        .map(|bytes| gives("bytes of shared memory", all_shared, bytes, KIB, &with_shared(bytes)));
    Some(registers.into_iter().chain(shared).collect())
}

/// The blocks that fit by all resources.
fn fewest_blocks(on: &Multiprocessor, needs: &Needs) -> u64 {
    let limits = on.limits(needs);
    let optional = [limits.registers, limits.shared_memory, limits.barriers];
    let all = [limits.warps, limits.blocks].into_iter().chain(optional.into_iter().flatten());
    all.min().map_or(0, u64::from)
}

fn occupied(on: &Multiprocessor, needs: &Needs, blocks: u64) -> f64 {
    let warps = blocks * needs.threads.div_ceil(WARP);
    #[expect(clippy::cast_precision_loss, reason = "a few dozen warps")]
    let percent = 100.0 * warps as f64 / (on.threads / WARP).max(1) as f64;
    percent
}

/// The resources of a multiprocessor of `device`, if the run has all of them.
fn multiprocessor(device: &DeviceRecord) -> Option<Multiprocessor> {
    let attribute = |name: &str| u64::try_from(*device.attributes.get(name)?).ok();
    Some(Multiprocessor {
        capability: device.compute_capability,
        threads_per_block: attribute("max_threads_per_block")?,
        threads: attribute("max_threads_per_multiprocessor")?,
        blocks: attribute("max_blocks_per_multiprocessor")?,
        registers_per_block: attribute("max_registers_per_block")?,
        registers: attribute("max_registers_per_multiprocessor")?,
        shared: attribute("max_shared_memory_per_multiprocessor")?,
        shared_per_block: attribute("max_shared_memory_per_block")?,
        shared_per_block_optin: attribute("max_shared_memory_per_block_optin")?,
        reserved_shared: attribute("reserved_shared_memory_per_block")?,
    })
}

fn whole(row: &ConfigurationResult, metric: &str) -> Option<u64> {
    let value = value(row, metric).filter(|value| *value >= 0.0 && value.fract() == 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not below 0"
    )]
    let value = value as u64;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{h200, measured};

    fn device() -> DeviceRecord {
        let attributes = [
            ("max_threads_per_block", 1024),
            ("max_threads_per_multiprocessor", 2048),
            ("max_blocks_per_multiprocessor", 32),
            ("max_registers_per_block", 65536),
            ("max_registers_per_multiprocessor", 65536),
            ("max_shared_memory_per_multiprocessor", 233_472),
            ("max_shared_memory_per_block", 49152),
            ("max_shared_memory_per_block_optin", 232_448),
            ("reserved_shared_memory_per_block", 1024),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value)).into();
        DeviceRecord { attributes, ..h200() }
    }

    fn row(registers: f64, shared: f64, limits: [f64; 4]) -> ConfigurationResult {
        let [warps, blocks, by_registers, by_shared] = limits;
        measured(
            256,
            &[
                ("launch__block_size", 256.0),
                ("registers", registers),
                ("static_shared", shared),
                ("dynamic_shared", 0.0),
                ("launch__occupancy_limit_warps", warps),
                ("launch__occupancy_limit_blocks", blocks),
                ("launch__occupancy_limit_registers", by_registers),
                ("launch__occupancy_limit_shared_mem", by_shared),
                ("theoretical_occupancy", 75.0),
            ],
        )
    }

    #[test]
    fn occupancy_names_the_registers_that_allow_another_block() {
        // 40 registers: 1,280 a warp, 51 warps, 6 blocks of 8; 32 of them make it 8.
        let found = occupancy(&row(40.0, 0.0, [8.0, 32.0, 6.0, 228.0]), Some(&device())).unwrap();
        assert_eq!(found.limiters, ["registers"]);
        let [less] = found.less.as_slice() else { panic!("{:?}", found.less) };
        assert_eq!((less.now, less.needed, less.blocks), (40, 32, 8));
        assert_eq!((less.occupancy, less.one_step), (100.0, false));
        let found = occupancy(&row(33.0, 0.0, [8.0, 32.0, 6.0, 228.0]), Some(&device())).unwrap();
        assert!(found.less[0].one_step, "{:?}", found.less);
    }

    #[test]
    fn occupancy_names_the_shared_memory_that_allows_another_block() {
        // 228 KiB hold five blocks of 40 KiB with the driver's one, and six of 37.
        let row = row(32.0, 40.0 * 1024.0, [8.0, 32.0, 8.0, 5.0]);
        let found = occupancy(&row, Some(&device())).unwrap();
        assert_eq!(found.limiters, ["shared memory"]);
        let less = found.less[0];
        assert_eq!((less.of, less.needed, less.blocks), ("bytes of shared memory", 37 << 10, 6));
    }

    #[test]
    fn limits_that_contradict_the_rules_give_no_prediction() {
        let found = occupancy(&row(40.0, 0.0, [8.0, 32.0, 5.0, 228.0]), Some(&device())).unwrap();
        assert_eq!((found.less.len(), found.theoretical), (0, Some(75.0)));
        let found = occupancy(&row(40.0, 0.0, [8.0, 32.0, 6.0, 228.0]), None).unwrap();
        assert!(found.less.is_empty());
        assert_eq!(occupancy(&measured(64, &[]), None), None);
    }
}
