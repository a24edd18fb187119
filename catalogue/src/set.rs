//! Sets of sections.

gpuprof_model::words! {
    /// A set of sections.
    pub enum Set = Basic {
        /// Speed of light, launch and occupancy.
        Basic = "basic",
        /// Basic with workloads, branches and the roofline.
        Detailed = "detailed",
        /// Every section of a kernel's counts.
        Full = "full",
        /// The metrics of the roofline.
        Roofline = "roofline",
        /// Memory in detail.
        Memory = "memory",
        /// The links to other GPUs and the host, and managed memory.
        Nvlink = "nvlink",
    }
}
