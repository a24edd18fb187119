//! The traffic between the units of memory.
//!
//! Input: a configuration with the metrics of the section MemoryChart, or of the emulated driver,
//! which counts instructions, sectors and wavefronts. Output: the links with their traffic and how
//! near they are to their peaks, and the hit rates of the caches. A link without a value is present
//! and marked: unmeasured must not look idle.

use gpuprof_model::run::ConfigurationResult;

use crate::view::best::value;

/// A unit, or a kind of memory that a kernel names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// The kernel.
    Kernel,
    /// Global memory.
    Global,
    /// Local memory.
    Local,
    /// Shared memory, as a kernel names it.
    Shared,
    /// Asynchronous copies from global to shared memory.
    Copies,
    /// The L1 cache.
    L1,
    /// The memory of a multiprocessor that is shared.
    SharedMemory,
    /// The L2 cache.
    L2,
    /// The memory of the device.
    Device,
}

/// The traffic of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficUnit {
    /// Instructions of warps.
    Instructions,
    /// Sectors of 32 bytes.
    Sectors,
    /// Wavefronts: cycles in which a memory of banks is accessed.
    Wavefronts,
    /// Bytes.
    Bytes,
}

/// Something that moves from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its source.
    pub from: Node,
    /// Its destination.
    pub to: Node,
    /// The kind and amount of the traffic; none if it was not measured.
    pub volume: Option<(f64, TrafficUnit)>,
    /// Percent of the peak of this way.
    pub percent: Option<f64>,
    /// The metrics that it is made of.
    pub metrics: Vec<&'static str>,
}

/// The traffic of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// The links.
    pub links: Vec<Link>,
    /// Sectors found in L1, in percent.
    pub l1_hits: Option<f64>,
    /// Sectors found in L2, in percent.
    pub l2_hits: Option<f64>,
}

impl Traffic {
    /// How many of the links were looked at.
    pub fn measured(&self) -> usize {
        self.links.iter().filter(|link| link.volume.is_some()).count()
    }
}

/// The sums that a link may be counted by, the first that has a value; and its percent of peak.
struct LinkCounters {
    from: Node,
    to: Node,
    volume: &'static [(TrafficUnit, &'static [&'static str])],
    percent: &'static [&'static str],
}

use TrafficUnit::{Bytes, Instructions, Sectors, Wavefronts};

const LINKS: &[LinkCounters] = &[
    LinkCounters {
        from: Node::Kernel,
        to: Node::Global,
        volume: &[(
            Instructions,
            &[
                "smsp__sass_inst_executed_op_global_ld.sum",
                "smsp__sass_inst_executed_op_global_st.sum",
                "smsp__sass_inst_executed_op_global_red.sum",
                "smsp__sass_inst_executed_op_global_atom.sum",
            ],
        )],
        percent: &[],
    },
    LinkCounters {
        from: Node::Kernel,
        to: Node::Local,
        volume: &[
            (
                Instructions,
                &[
                    "smsp__sass_inst_executed_op_local_ld.sum",
                    "smsp__sass_inst_executed_op_local_st.sum",
                ],
            ),
            // On the emulated driver those of the PTX: later spills of the compiler are not
            // included.
            (Instructions, &["ptx__local_ld.sum", "ptx__local_st.sum"]),
        ],
        percent: &[],
    },
    LinkCounters {
        from: Node::Kernel,
        to: Node::Shared,
        volume: &[
            (
                Instructions,
                &[
                    "smsp__sass_inst_executed_op_shared_ld.sum",
                    "smsp__sass_inst_executed_op_shared_st.sum",
                    "smsp__sass_inst_executed_op_shared_atom.sum",
                ],
            ),
            // The emulated driver names no shared atomics.
            (
                Instructions,
                &[
                    "smsp__sass_inst_executed_op_shared_ld.sum",
                    "smsp__sass_inst_executed_op_shared_st.sum",
                ],
            ),
        ],
        percent: &[],
    },
    LinkCounters {
        from: Node::Kernel,
        to: Node::Copies,
        volume: &[(
            Instructions,
            &[
                "smsp__sass_inst_executed_op_ldgsts_cache_access.sum",
                "smsp__sass_inst_executed_op_ldgsts_cache_bypass.sum",
            ],
        )],
        percent: &[],
    },
    LinkCounters {
        from: Node::Global,
        to: Node::L1,
        volume: &[
            (Sectors, &["global_sectors"]),
            (
                Sectors,
                &[
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
                ],
            ),
        ],
        percent: &[
            "l1tex__data_pipe_lsu_wavefronts_mem_lgds.sum.pct_of_peak_sustained_elapsed",
            "l1tex__data_pipe_lsu_wavefronts_mem_lg.sum.pct_of_peak_sustained_elapsed",
        ],
    },
    LinkCounters {
        from: Node::Shared,
        to: Node::SharedMemory,
        volume: &[
            (Wavefronts, &["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]),
            (Wavefronts, &["shared_wavefronts"]),
        ],
        percent: &["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"],
    },
    LinkCounters {
        from: Node::L2,
        to: Node::L1,
        volume: &[(Bytes, &["l1tex__m_xbar2l1tex_read_bytes.sum"])],
        percent: &["l1tex__m_xbar2l1tex_read_bytes.sum.pct_of_peak_sustained_elapsed"],
    },
    LinkCounters {
        from: Node::L1,
        to: Node::L2,
        volume: &[(Bytes, &["l1tex__m_l1tex2xbar_write_bytes.sum"])],
        percent: &["l1tex__m_l1tex2xbar_req_cycles_active.sum.pct_of_peak_sustained_elapsed"],
    },
    LinkCounters {
        from: Node::Device,
        to: Node::L2,
        volume: &[(Bytes, &["dram__bytes_read.sum"]), (Bytes, &["dram__bytes_op_read.sum"])],
        percent: &[
            "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
            "dram__bytes_op_read.sum.pct_of_peak_sustained_elapsed",
        ],
    },
    LinkCounters {
        from: Node::L2,
        to: Node::Device,
        volume: &[(Bytes, &["dram__bytes_write.sum"]), (Bytes, &["dram__bytes_op_write.sum"])],
        percent: &[
            "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
            "dram__bytes_op_write.sum.pct_of_peak_sustained_elapsed",
        ],
    },
];

/// The hit rates of L1 and L2.
const HITS: [&str; 2] = ["l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"];

/// The traffic of `row`; none if nothing of it is known.
pub fn traffic(row: &ConfigurationResult) -> Option<Traffic> {
    let links: Vec<Link> = LINKS.iter().map(|counted| link(row, counted)).collect();
    let [l1_hits, l2_hits] = HITS.map(|metric| value(row, metric));
    let any = links.iter().any(|link| link.volume.is_some() || link.percent.is_some());
    any.then_some(Traffic { links, l1_hits, l2_hits })
}

fn link(row: &ConfigurationResult, counted: &LinkCounters) -> Link {
    let sum = |(carried, metrics): &(TrafficUnit, &'static [&'static str])| {
        let values: Option<Vec<f64>> = metrics.iter().map(|metric| value(row, metric)).collect();
        Some((values?.iter().sum::<f64>(), *carried, *metrics))
    };
    let volume = counted.volume.iter().find_map(sum);
    let percent = counted.percent.iter().find_map(|metric| Some((value(row, metric)?, *metric)));
    let mut metrics = volume.map(|(_, _, metrics)| metrics.to_vec()).unwrap_or_default();
    metrics.extend(percent.map(|(_, metric)| metric));
    Link {
        from: counted.from,
        to: counted.to,
        volume: volume.map(|(value, carried, _)| (value, carried)),
        percent: percent.map(|(percent, _)| percent),
        metrics,
    }
}

/// Every hardware counter that the chart asks for, on some chip.
pub fn counters() -> impl Iterator<Item = &'static str> {
    let metrics_of = |counted: &'static LinkCounters| {
        counted.volume.iter().flat_map(|(_, metrics)| metrics.iter()).chain(counted.percent)
    };
    LINKS.iter().flat_map(metrics_of).copied().chain(HITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{emulated, measured};

    fn find_link(traffic: &Traffic, from: Node, to: Node) -> Link {
        traffic.links.iter().find(|link| (link.from, link.to) == (from, to)).unwrap().clone()
    }

    #[test]
    fn links_sum_their_counters_and_unmeasured_links_have_no_volume() {
        let row = measured(
            64,
            &[
                ("smsp__sass_inst_executed_op_local_ld.sum", 3.0),
                ("smsp__sass_inst_executed_op_local_st.sum", 4.0),
                ("dram__bytes_read.sum", 4096.0),
                ("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", 71.5),
                ("lts__t_sector_hit_rate.pct", 33.0),
            ],
        );
        let found = traffic(&row).unwrap();
        let local = find_link(&found, Node::Kernel, Node::Local);
        assert_eq!((local.volume, local.percent), (Some((7.0, Instructions)), None));
        let read = find_link(&found, Node::Device, Node::L2);
        assert_eq!((read.volume, read.percent), (Some((4096.0, Bytes)), Some(71.5)));
        assert_eq!(read.metrics.len(), 2);
        assert_eq!(find_link(&found, Node::Kernel, Node::Global).volume, None);
        assert_eq!((found.l1_hits, found.l2_hits), (None, Some(33.0)));
        assert_eq!(traffic(&measured(64, &[])), None);
    }

    #[test]
    fn the_emulated_driver_gives_instructions_and_sectors() {
        let found = traffic(&emulated(64, 1 << 20)).unwrap();
        let global = find_link(&found, Node::Global, Node::L1);
        assert!(matches!(global.volume, Some((sectors, Sectors)) if sectors > 0.0), "{global:?}");
        assert_eq!(find_link(&found, Node::Device, Node::L2).volume, None);
    }
}
