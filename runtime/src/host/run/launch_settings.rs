//! The extents and shared memory of the launches of a series function.
//!
//! Input: the axes `grid`, `block`, `shared` and `cluster`, and the function's own settings, which
//! apply without such an axis. Output: the launch configuration.

use gpuprof_model::configuration::Configuration;

use crate::host::driver::cluster;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::{Launch, LaunchShape};
use crate::host::values::axis_type::AxisType;
use crate::host::values::extent::Extent;

/// The settings of the function.
#[derive(Default, Clone, Copy)]
pub(crate) struct LaunchSettings {
    pub(crate) grid: Option<[u32; 3]>,
    pub(crate) block: Option<[u32; 3]>,
    pub(crate) shared: u32,
    pub(crate) cluster: Option<[u32; 3]>,
}

impl LaunchSettings {
    /// The launch configuration of a `configuration` on the device, which may be `emulated`.
    ///
    /// # Errors
    /// A value of an axis that no launch can have; a cluster on the emulated device.
    pub(crate) fn resolve(&self, configuration: &Configuration, emulated: bool) -> Result<Launch> {
        let axis = |name: &str| -> Result<Option<[u32; 3]>> {
            match configuration.get(name) {
                Some(value) => Extent::from_axis(name, value)?.launch(name).map(Some),
                None => Ok(None),
            }
        };
        let grid = axis("grid")?.or(self.grid);
        let block = axis("block")?.or(self.block);
        let shared = match configuration.get("shared") {
            Some(value) => u32::from_axis("shared", value)?,
            None => self.shared,
        };
        let cluster = axis("cluster")?.or(self.cluster);
        if emulated && cluster.is_some_and(|extents| !cluster::is_trivial(extents)) {
            return Err(Error::invalid("the emulated driver has no thread block clusters"));
        }
        let shape = grid.zip(block).map(|(grid, block)| LaunchShape { grid, block, shared });
        Ok(Launch { shape, cluster })
    }
}
