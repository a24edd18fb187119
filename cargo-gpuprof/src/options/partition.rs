//! Options that divide a plan into slices, each for a separate machine or job.

use camino::Utf8PathBuf;
use clap::Args;

use super::word::word;
use gpuprof_engine::divide::Cut;
use gpuprof_engine::schedule::partition::{Partition, PartitionBy};

/// The slice of a plan to take.
#[derive(Debug, Clone, Default, Args)]
pub struct PartitionOptions {
    /// Take one of N slices, after all filters: slice:M/N balances them, hash:M/N keeps each series
    /// in its slice when others are added; `cargo gpuprof merge` combines the slices into one run
    #[arg(long, value_name = "METHOD:M/N", env = "GPUPROF_PARTITION", help_heading = "Slices")]
    pub partition: Option<Partition>,
    /// The unit that --partition distributes
    #[arg(
        long,
        value_parser = word::<PartitionBy>(),
        default_value_t,
        value_name = "UNIT",
        env = "GPUPROF_PARTITION_BY",
        help_heading = "Slices"
    )]
    pub partition_by: PartitionBy,
    /// Balance slice:M/N by how long the series took in this run: a baseline, a file with a run, or
    /// the id of a stored one; the same for every slice of a plan
    #[arg(long, value_name = "NAME|FILE|RUN", requires = "partition", help_heading = "Slices")]
    pub partition_costs: Option<String>,
}

/// The slice to measure, and its folder.
#[derive(Debug, Clone, Default, Args)]
pub struct SliceOptions {
    /// The slice.
    #[command(flatten)]
    pub part: PartitionOptions,
    /// Folder with a subfolder for each slice, on a file system that all machines share [default
    /// with --partition: gpuprof/slices in the target folder]
    #[arg(
        long,
        value_name = "DIR",
        env = "GPUPROF_SLICES",
        conflicts_with_all = ["save_baseline", "load_baseline"],
        help_heading = "Slices"
    )]
    pub slices: Option<Utf8PathBuf>,
}

impl PartitionOptions {
    /// The slice that `partition` is.
    pub fn cut(&self, partition: Partition) -> Cut {
        Cut { partition, by: self.partition_by, costs: self.partition_costs.clone() }
    }
}

impl SliceOptions {
    /// The measured slice; none if the run is not a slice.
    pub fn wanted(&self) -> Option<Cut> {
        let partition = self.part.partition.or(self.slices.as_ref().map(|_| Partition::WHOLE));
        partition.map(|partition| self.part.cut(partition))
    }
}
