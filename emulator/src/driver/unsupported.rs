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
    cuOccupancyMaxPotentialClusterSize cuFuncSetSharedMemConfig cuCtxEnablePeerAccess cuCtxDisablePeerAccess
}

// Memory that the host and the device would share, pools, virtual memory, pitched and peer copies.
unsupported! {
    cuMemAllocManaged cuMemPrefetchAsync cuMemPrefetchAsync_v2 cuMemAdvise cuMemAdvise_v2 cuMemHostGetDevicePointer_v2
    cuMemPoolCreate cuMemPoolDestroy cuMemPoolSetAttribute cuMemPoolGetAttribute cuMemPoolTrimTo
    cuMemAllocFromPoolAsync cuDeviceGetMemPool cuDeviceSetMemPool cuMemAllocPitch_v2 cuMemcpy2D_v2 cuMemcpy2DAsync_v2
    cuMemcpy3D_v2 cuMemcpyPeer cuMemcpyPeerAsync cuMemCreate cuMemRelease cuMemMap cuMemUnmap cuMemAddressReserve
    cuMemAddressFree cuMemSetAccess cuMemGetAllocationGranularity
}

// Capture and graphs.
unsupported! {
    cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamGetCaptureInfo_v2 cuGraphCreate cuGraphDestroy
    cuGraphInstantiateWithFlags cuGraphLaunch cuGraphExecDestroy cuGraphUpload cuStreamAddCallback
    cuStreamAttachMemAsync
}

// Linking of binary code.
unsupported! {
    cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy
}
