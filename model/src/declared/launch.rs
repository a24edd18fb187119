//! The constraints on launches of a declared kernel.
//!
//! Input: the constraints of its PTX and its declaration, and the known facts of a launch. Output:
//! the reason why the launch is impossible, if it is. The runner knows the axes of a configuration,
//! the harness the whole launch.

use serde::{Deserialize, Serialize};

/// The constraints that a declaration adds to those of the PTX.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The only block that it is launched with.
    #[serde(default)]
    pub block: Option<[u32; 3]>,
    /// The most threads of a block.
    #[serde(default)]
    pub max_threads: Option<u64>,
    /// How many dimensions grid and block have; the extents behind them are 1.
    #[serde(default)]
    pub dimensions: Option<u8>,
    /// The least and the most bytes of dynamic shared memory.
    #[serde(default)]
    pub shared: Option<(u64, u64)>,
    /// The lowest compute capability.
    #[serde(default)]
    pub capability: Option<(u32, u32)>,
    /// The only cluster that it is launched in.
    #[serde(default)]
    pub cluster: Option<[u32; 3]>,
}

impl Contract {
    /// Nothing is promised.
    pub const NONE: Self = Self {
        block: None,
        max_threads: None,
        dimensions: None,
        shared: None,
        capability: None,
        cluster: None,
    };
}

/// What is known of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnownLaunch {
    /// The grid.
    pub grid: Option<[u32; 3]>,
    /// The block.
    pub block: Option<[u32; 3]>,
    /// The bytes of dynamic shared memory.
    pub shared: Option<u64>,
    /// The cluster that is asked for.
    pub cluster: Option<[u32; 3]>,
    /// The device's compute capability.
    pub capability: Option<(u32, u32)>,
}

/// A limit on the threads of a block, by its origin.
#[derive(Debug, Clone, Copy)]
pub enum BlockLimit<'k> {
    /// The device.
    Device,
    /// The code of the kernel: its registers, or launch bounds that only the driver knows.
    Code,
    /// The launch bounds of `kernel`, with the word that they are written with.
    Bounds {
        /// The kernel; empty for that of the annotation.
        kernel: &'k str,
        /// `.maxntid`, `launch_bounds` or `max_block`.
        written: &'static str,
    },
}

impl BlockLimit<'_> {
    /// Why no block has so many `threads` where this limit is `most`, if it has not.
    pub fn refusal(self, threads: u64, most: u64) -> Option<String> {
        let limit = || match self {
            Self::Device => format!("the device's limit of {most}"),
            Self::Code => {
                format!("this kernel's limit of {most}, set by its registers or its launch bounds")
            }
            Self::Bounds { kernel: "", written } => {
                format!(
                    "this kernel's launch bounds of {most}, for which it is compiled ({written})"
                )
            }
            Self::Bounds { kernel, written } => format!(
                "the launch bounds of `{kernel}`, {most}, for which it is compiled ({written})"
            ),
        };
        (threads > most).then(|| format!("a block of {threads} threads exceeds {}", limit()))
    }
}

impl Contract {
    /// Why a launch of `kernel` breaks the promise, if it does.
    pub fn refusal(&self, kernel: &str, launch: &KnownLaunch) -> Option<String> {
        self.block(kernel, launch)
            .or_else(|| self.extents(kernel, launch))
            .or_else(|| self.shared(kernel, launch))
            .or_else(|| self.capability(kernel, launch))
            .or_else(|| self.cluster(kernel, launch))
    }

    fn block(&self, kernel: &str, launch: &KnownLaunch) -> Option<String> {
        let block = launch.block?;
        if let Some(only) = self.block.filter(|only| *only != block) {
            return Some(format!(
                "`{kernel}` is declared for blocks of {} alone (launch_contract), and this block is \
                 {}",
                format_extents(only),
                format_extents(block)
            ));
        }
        let limit = BlockLimit::Bounds { kernel, written: "launch_bounds" };
        limit.refusal(threads(block), self.max_threads?)
    }

    fn extents(&self, kernel: &str, launch: &KnownLaunch) -> Option<String> {
        let dimensions = self.dimensions?;
        let all = [("grid", launch.grid), ("block", launch.block)];
        all.into_iter().find_map(|(what, extents)| {
            let extents = extents?;
            let behind = extents.iter().skip(usize::from(dimensions));
            behind.into_iter().any(|&extent| extent != 1).then(|| {
                format!(
                    "`{kernel}` is declared for {dimensions} {} (launch_contract), and this {what} \
                     is {}",
                    if dimensions == 1 { "dimension" } else { "dimensions" },
                    format_extents(extents)
                )
            })
        })
    }

    fn shared(&self, kernel: &str, launch: &KnownLaunch) -> Option<String> {
        let (bytes, (least, most)) = (launch.shared?, self.shared?);
        if (least..=most).contains(&bytes) {
            return None;
        }
        let declared =
            if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Some(format!(
            "`{kernel}` is declared for {declared} bytes of dynamic shared memory \
             (launch_contract), and this launch has {bytes}"
        ))
    }

    fn capability(&self, kernel: &str, launch: &KnownLaunch) -> Option<String> {
        let ((major, minor), (has, more)) = (self.capability?, launch.capability?);
        ((has, more) < (major, minor)).then(|| {
            format!(
                "`{kernel}` is declared for compute capability {major}.{minor} and above, and this \
                 device has {has}.{more}"
            )
        })
    }

    fn cluster(&self, kernel: &str, launch: &KnownLaunch) -> Option<String> {
        let cluster = self.cluster?;
        if let Some(other) = launch.cluster.filter(|other| *other != cluster) {
            return Some(format!(
                "`{kernel}` is compiled for clusters of {} blocks alone, and this launch asks for {}",
                format_extents(cluster),
                format_extents(other)
            ));
        }
        let grid = launch.grid?;
        let fits = grid
            .iter()
            .zip(cluster)
            .all(|(&grid, cluster)| cluster != 0 && grid.is_multiple_of(cluster));
        (!fits).then(|| {
            format!(
                "a grid of {} blocks is not a multiple of the cluster of {} that `{kernel}` is \
                 compiled for",
                format_extents(grid),
                format_extents(cluster)
            )
        })
    }
}

/// `16x8x1`.
pub(super) fn format_extents([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// The threads of a block.
pub fn threads(block: [u32; 3]) -> u64 {
    block.iter().map(|&extent| u64::from(extent)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: KnownLaunch = KnownLaunch {
        grid: Some([6, 1, 1]),
        block: Some([128, 1, 1]),
        shared: Some(1024),
        cluster: None,
        capability: Some((8, 0)),
    };

    fn refusal_text(contract: Contract, launch: KnownLaunch) -> String {
        contract.refusal("k", &launch).unwrap_or_default()
    }

    #[test]
    fn a_launch_that_keeps_the_contract_is_made() {
        let contract = Contract {
            block: Some([128, 1, 1]),
            max_threads: Some(128),
            dimensions: Some(1),
            shared: Some((0, 1024)),
            capability: Some((8, 0)),
            cluster: Some([2, 1, 1]),
        };
        assert_eq!(contract.refusal("k", &WHOLE), None);
        assert_eq!(contract.refusal("k", &KnownLaunch::default()), None);
        assert_eq!(Contract::NONE.refusal("k", &WHOLE), None);
    }

    #[test]
    fn a_broken_contract_is_reported_with_both_sides() {
        let none = Contract::NONE;
        for (contract, launch, message) in [
            (
                Contract { block: Some([64, 2, 1]), ..none },
                WHOLE,
                "`k` is declared for blocks of 64x2x1 alone (launch_contract), and this block is 128x1x1",
            ),
            (
                Contract { max_threads: Some(64), ..none },
                WHOLE,
                "a block of 128 threads exceeds the launch bounds of `k`, 64, for which it is \
                 compiled (launch_bounds)",
            ),
            (
                Contract { dimensions: Some(1), ..none },
                KnownLaunch { grid: Some([6, 2, 1]), ..WHOLE },
                "`k` is declared for 1 dimension (launch_contract), and this grid is 6x2x1",
            ),
            (
                Contract { dimensions: Some(2), ..none },
                KnownLaunch { block: Some([8, 8, 2]), ..WHOLE },
                "`k` is declared for 2 dimensions (launch_contract), and this block is 8x8x2",
            ),
            (
                Contract { shared: Some((0, 0)), ..none },
                WHOLE,
                "`k` is declared for 0 bytes of dynamic shared memory (launch_contract), and this \
                 launch has 1024",
            ),
            (
                Contract { shared: Some((2048, 4096)), ..none },
                WHOLE,
                "`k` is declared for 2048 to 4096 bytes of dynamic shared memory (launch_contract), \
                 and this launch has 1024",
            ),
            (
                Contract { capability: Some((9, 0)), ..none },
                WHOLE,
                "`k` is declared for compute capability 9.0 and above, and this device has 8.0",
            ),
            (
                Contract { cluster: Some([4, 1, 1]), ..none },
                WHOLE,
                "a grid of 6x1x1 blocks is not a multiple of the cluster of 4x1x1 that `k` is compiled for",
            ),
            (
                Contract { cluster: Some([2, 1, 1]), ..none },
                KnownLaunch { cluster: Some([3, 1, 1]), ..WHOLE },
                "`k` is compiled for clusters of 2x1x1 blocks alone, and this launch asks for 3x1x1",
            ),
        ] {
            assert_eq!(refusal_text(contract, launch), message);
        }
    }
}
