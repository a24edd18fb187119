//! All other names of the runtime, of CUDA 12.8 and 13.0. Each function ignores its arguments,
//! returns `cudaErrorNotSupported`, and names itself once on standard error.

use crate::error::{Error, report};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Functions that were called, each of which is named once.
static NAMED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

fn unsupported(name: &'static str) -> Error {
    if NAMED.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        // A standard error that is closed loses what is said.
        let _ = writeln!(
            std::io::stderr(),
            "emulated CUDA runtime: {name} is not supported (cudaErrorNotSupported)"
        );
    }
    report(|| Err(Error::NOT_SUPPORTED))
}

macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> Error {
            unsupported(stringify!($name))
        }
    )*};
}

// Graphs and captures.
unsupported! {
    cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute
    cudaGraphAddDependencies_v2 cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
    cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol cudaGraphAddNode cudaGraphAddNode_v2
    cudaGraphChildGraphNodeGetGraph cudaGraphConditionalHandleCreate cudaGraphDebugDotPrint
    cudaGraphDestroyNode cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent
    cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent
    cudaGraphExecChildGraphNodeSetParams cudaGraphExecEventRecordNodeSetEvent
    cudaGraphExecEventWaitNodeSetEvent cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecGetFlags
    cudaGraphExecHostNodeSetParams cudaGraphExecMemcpyNodeSetParams
    cudaGraphExecMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecMemsetNodeSetParams
    cudaGraphExecNodeSetParams cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphGetEdges cudaGraphGetEdges_v2
    cudaGraphGetRootNodes cudaGraphHostNodeGetParams cudaGraphHostNodeSetParams
    cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz
    cudaGraphKernelNodeCopyAttributes cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams
    cudaGraphKernelNodeSetAttribute cudaGraphKernelNodeSetParams cudaGraphMemAllocNodeGetParams
    cudaGraphMemFreeNodeGetParams cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParams
    cudaGraphMemcpyNodeSetParams1D cudaGraphMemcpyNodeSetParamsFromSymbol
    cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphMemsetNodeGetParams cudaGraphMemsetNodeSetParams
    cudaGraphNodeFindInClone cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
    cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2 cudaGraphNodeGetEnabled
    cudaGraphNodeGetType cudaGraphNodeSetEnabled cudaGraphNodeSetParams cudaGraphReleaseUserObject
    cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2 cudaGraphRetainUserObject
    cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage
    cudaGraphicsMapResources cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface cudaStreamBeginCaptureToGraph
    cudaStreamBeginCaptureToGraph_ptsz cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz
    cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v2_ptsz cudaStreamGetCaptureInfo_v3
    cudaStreamGetCaptureInfo_v3_ptsz cudaStreamUpdateCaptureDependencies
    cudaStreamUpdateCaptureDependencies_ptsz cudaStreamUpdateCaptureDependencies_v2
    cudaStreamUpdateCaptureDependencies_v2_ptsz cudaUserObjectCreate cudaUserObjectRelease
    cudaUserObjectRetain
}

// Arrays, textures, surfaces and graphics.
unsupported! {
    cudaArrayGetInfo cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaCreateChannelDesc cudaCreateSurfaceObject cudaCreateTextureObject cudaDestroySurfaceObject
    cudaDestroyTextureObject cudaDeviceGetTexture1DLinearMaxWidth cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync
    cudaExternalMemoryGetMappedMipmappedArray cudaFreeArray cudaFreeMipmappedArray cudaGLGetDevices
    cudaGLMapBufferObject cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject
    cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice cudaGLUnmapBufferObject
    cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject cudaGetChannelDesc
    cudaGetMipmappedArrayLevel cudaGetSurfaceObjectResourceDesc cudaGetTextureObjectResourceDesc
    cudaGetTextureObjectResourceViewDesc cudaGetTextureObjectTextureDesc cudaMalloc3DArray
    cudaMallocArray cudaMallocMipmappedArray cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds
    cudaMemcpy2DFromArray cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz
    cudaMemcpy2DFromArray_ptds cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync
    cudaMemcpy2DToArrayAsync_ptsz cudaMemcpy2DToArray_ptds cudaMemcpyArrayToArray
    cudaMemcpyArrayToArray_ptds cudaMemcpyFromArray cudaMemcpyFromArrayAsync
    cudaMemcpyFromArrayAsync_ptsz cudaMemcpyFromArray_ptds cudaMemcpyToArray cudaMemcpyToArrayAsync
    cudaMemcpyToArrayAsync_ptsz cudaMemcpyToArray_ptds cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
}

// Other processes, devices and semaphores.
unsupported! {
    cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaDeviceFlushGPUDirectRDMAWrites
    cudaDeviceGetHostAtomicCapabilities cudaDeviceGetNvSciSyncAttributes
    cudaDeviceGetP2PAtomicCapabilities cudaDeviceGetP2PAttribute cudaDeviceRegisterAsyncNotification
    cudaDeviceUnregisterAsyncNotification cudaExternalMemoryGetMappedBuffer cudaImportExternalMemory
    cudaImportExternalSemaphore cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle
    cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
    cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
}

// Memory that is shared with the host, pools, batches and three dimensions.
unsupported! {
    cudaLibraryGetManaged cudaLogsDumpToMemory cudaMemDiscardAndPrefetchBatchAsync
    cudaMemDiscardAndPrefetchBatchAsync_ptsz cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz
    cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer
    cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz cudaMemRangeGetAttribute
    cudaMemRangeGetAttributes cudaMemSetMemPool cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
    cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz
}

// The rest.
unsupported! {
    __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable
    cudaCtxResetPersistingL2Cache cudaFuncGetParamInfo cudaGetDriverEntryPoint
    cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz
    cudaGetDriverEntryPoint_ptsz cudaGetExportTable cudaHostGetFlags cudaKernelSetAttributeForDevice
    cudaLaunchCooperativeKernelMultiDevice cudaLibraryEnumerateKernels cudaLibraryGetGlobal
    cudaLibraryGetKernel cudaLibraryGetKernelCount cudaLibraryGetUnifiedFunction cudaLibraryLoadData
    cudaLibraryLoadFromFile cudaLibraryUnload cudaLogsCurrent cudaLogsDumpToFile
    cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaOccupancyMaxActiveClusters
    cudaOccupancyMaxPotentialClusterSize cudaSetDoubleForDevice cudaSetDoubleForHost
    cudaStreamCopyAttributes cudaStreamCopyAttributes_ptsz cudaStreamGetAttribute
    cudaStreamGetAttribute_ptsz cudaStreamGetDevice cudaStreamGetDevice_ptsz cudaStreamGetId
    cudaStreamGetId_ptsz cudaStreamSetAttribute cudaStreamSetAttribute_ptsz
}

// The structure of these belongs to another version.
#[cfg(cudart_12)]
unsupported! {}
