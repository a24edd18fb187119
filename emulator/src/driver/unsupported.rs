//! Functions that exist so that callers get CUDA's `NOT_SUPPORTED` instead of a missing symbol.

/// Exports functions that report their names as unsupported. They ignore the caller's arguments.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> $crate::driver::code::Code {
                $crate::driver::state::unsupported(stringify!($name))
            }
        )*
    };
}
pub(super) use unsupported;

// Multi-device launches, clusters.
unsupported! {
    cuLaunchCooperativeKernelMultiDevice cuOccupancyMaxActiveClusters
    cuOccupancyMaxPotentialClusterSize cuFuncSetSharedMemConfig cuCtxEnablePeerAccess
    cuCtxDisablePeerAccess
}

// Virtual memory and copies of peers.
unsupported! {
    cuMemcpyPeer cuMemcpyPeerAsync cuMemCreate cuMemRelease cuMemMap
    cuMemUnmap cuMemAddressReserve cuMemAddressFree cuMemSetAccess cuMemGetAllocationGranularity
}

// Captures and callbacks.
unsupported! {
    cuStreamGetCaptureInfo_v2 cuStreamAddCallback
}
