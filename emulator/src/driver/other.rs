//! All other functions of `cuda.h`, by the names that programs link: none is supported.
//!
//! A program that is linked to the driver starts only if every function exists, even if it never
//! calls some of them. The names are those of CUDA 12.0 to 13.0 and of cudarc's bindings. The fake
//! driver of the tests implements some of them, so this list has its own file.

use super::unsupported::unsupported;

// Arrays and mipmapped arrays.
unsupported! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayCreate_v2 cuArrayDestroy
    cuArrayGetDescriptor_v2 cuArrayGetMemoryRequirements cuArrayGetPlane cuArrayGetSparseProperties
    cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel
    cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties
}

// Contexts, devices, logs and look-ups.
unsupported! {
    cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute
    cuCoredumpGetAttributeGlobal cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback
    cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal cuCtxAttach cuCtxCreate_v3 cuCtxDetach
    cuCtxFromGreenCtx cuCtxGetDevResource cuCtxGetDevice_v2 cuCtxGetExecAffinity
    cuCtxGetSharedMemConfig cuCtxRecordEvent cuCtxSetSharedMemConfig cuCtxSynchronize_v2
    cuCtxWaitEvent cuDevResourceGenerateDesc cuDevSmResourceSplit cuDevSmResourceSplitByCount
    cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetDevResource
    cuDeviceGetExecAffinitySupport cuDeviceGetFabricClusterUuid cuDeviceGetGraphMemAttribute
    cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid cuDeviceGetP2PAtomicCapabilities
    cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth
    cuDeviceRegisterAsyncNotification cuDeviceSetGraphMemAttribute
    cuDeviceUnregisterAsyncNotification cuGetExportTable cuGreenCtxCreate cuGreenCtxDestroy
    cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxStreamCreate
    cuGreenCtxWaitEvent cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback
    cuLogsUnregisterCallback cuPointerGetAttributes cuPointerSetAttribute cuProfilerInitialize
}

// Other processes and devices.
unsupported! {
    cuDestroyExternalMemory cuDestroyExternalSemaphore cuExternalMemoryGetMappedBuffer
    cuExternalMemoryGetMappedMipmappedArray cuFlushGPUDirectRDMAWrites cuImportExternalMemory
    cuImportExternalSemaphore cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle
    cuIpcOpenEventHandle cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 cuLogicalEndpointAddDevice
    cuLogicalEndpointBindAddr cuLogicalEndpointBindMem cuLogicalEndpointCreate
    cuLogicalEndpointDestroy cuLogicalEndpointExport cuLogicalEndpointGetLimits
    cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve cuLogicalEndpointImport
    cuLogicalEndpointQuery cuLogicalEndpointUnbind cuMulticastAddDevice cuMulticastBindAddr
    cuMulticastBindAddr_v2 cuMulticastBindMem cuMulticastBindMem_v2 cuMulticastCreate
    cuMulticastGetGranularity cuMulticastUnbind cuSignalExternalSemaphoresAsync
    cuWaitExternalSemaphoresAsync
}

// Kernels, libraries and launches of older and newer kinds.
unsupported! {
    cuFuncGetParamCount cuFuncIsLoaded cuFuncSetBlockShape cuFuncSetSharedSize cuKernelGetAttribute
    cuKernelGetParamCount cuKernelSetAttribute cuKernelSetCacheConfig cuLaunch cuLaunchGrid
    cuLaunchGridAsync cuLaunchHostFunc_v2 cuLibraryEnumerateKernels cuLibraryGetKernelCount
    cuLibraryGetManaged cuLibraryGetUnifiedFunction cuModuleEnumerateFunctions
    cuModuleGetFunctionCount cuModuleGetSurfRef cuModuleGetTexRef cuParamSetSize cuParamSetTexRef
    cuParamSetf cuParamSeti cuParamSetv cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide
    cuTensorMapEncodeTiled cuTensorMapReplaceAddress
}

// Graphs.
unsupported! {
    cuGraphAddBatchMemOpNode cuGraphAddDependencies_v2 cuGraphAddEventRecordNode
    cuGraphAddEventWaitNode cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode cuGraphAddKernelNode cuGraphAddNode cuGraphAddNode_v2
    cuGraphAddNode_v3
    cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams cuGraphChildGraphNodeGetGraph
    cuGraphConditionalHandleCreate cuGraphDebugDotPrint cuGraphDestroyNode
    cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent
    cuGraphEventWaitNodeSetEvent cuGraphExecBatchMemOpNodeSetParams
    cuGraphExecChildGraphNodeSetParams cuGraphExecEventRecordNodeSetEvent
    cuGraphExecEventWaitNodeSetEvent cuGraphExecExternalSemaphoresSignalNodeSetParams
    cuGraphExecExternalSemaphoresWaitNodeSetParams cuGraphExecGetFlags cuGraphExecGetId
    cuGraphExecHostNodeSetParams cuGraphExecKernelNodeSetParams cuGraphExecMemcpyNodeSetParams
    cuGraphExecMemsetNodeSetParams cuGraphExecNodeSetParams cuGraphExecUpdate
    cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
    cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams
    cuGraphGetEdges cuGraphGetEdges_v2 cuGraphGetId cuGraphGetRootNodes cuGraphHostNodeGetParams
    cuGraphHostNodeSetParams cuGraphInstantiateWithParams cuGraphInstantiate_v2
    cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute cuGraphKernelNodeGetParams
    cuGraphKernelNodeGetParams_v2 cuGraphKernelNodeSetAttribute cuGraphKernelNodeSetParams
    cuGraphKernelNodeSetParams_v2 cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams
    cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams
    cuGraphMemsetNodeSetParams cuGraphNodeFindInClone cuGraphNodeGetContainingGraph
    cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes
    cuGraphNodeGetDependentNodes_v2 cuGraphNodeGetEnabled cuGraphNodeGetLocalId cuGraphNodeGetParams
    cuGraphNodeGetToolsId cuGraphNodeGetType cuGraphNodeSetEnabled cuGraphNodeSetParams
    cuGraphNodeSetParams_v2 cuGraphReleaseUserObject cuGraphRemoveDependencies
    cuGraphRemoveDependencies_v2 cuGraphRetainUserObject
}

// Graphics interoperation, textures and surfaces.
unsupported! {
    cuGraphicsMapResources cuGraphicsResourceGetMappedMipmappedArray
    cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags
    cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources
    cuGraphicsUnregisterResource cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc
    cuSurfRefGetArray cuSurfRefSetArray cuTexObjectCreate cuTexObjectDestroy
    cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc cuTexObjectGetTextureDesc
    cuTexRefCreate cuTexRefDestroy cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray
    cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat
    cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
    cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress2D_v2
    cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray
    cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetFormat
    cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
    cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray
}

// Memory: pools, virtual addresses, batches, pitched copies.
unsupported! {
    cuMemBatchDecompressAsync cuMemDiscardAndPrefetchBatchAsync cuMemDiscardBatchAsync
    cuMemExportToShareableHandle cuMemGetAccess cuMemGetAllocationPropertiesFromHandle
    cuMemGetDefaultMemPool cuMemGetHandleForAddressRange cuMemGetLocationInfo cuMemGetMemPool
    cuMemHostGetFlags cuMemImportFromShareableHandle cuMemMapArrayAsync cuMemPoolExportPointer
    cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer
    cuMemPrefetchBatchAsync cuMemRangeGetAttribute cuMemRangeGetAttributes
    cuMemRetainAllocationHandle cuMemSetMemPool cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_v2
    cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpy3DWithAttributesAsync cuMemcpyAtoA_v2 cuMemcpyAtoD_v2
    cuMemcpyAtoHAsync_v2 cuMemcpyAtoH_v2 cuMemcpyBatchAsync cuMemcpyBatchAsync_v2 cuMemcpyDtoA_v2
    cuMemcpyDtoDAsync cuMemcpyHtoAAsync_v2 cuMemcpyHtoA_v2 cuMemcpyWithAttributesAsync
    cuMemsetD2D16Async cuMemsetD2D16_v2 cuMemsetD2D32Async cuMemsetD2D32_v2 cuMemsetD2D8Async
    cuMemsetD2D8_v2
}

// Streams: capture, memory operations, attributes.
unsupported! {
    cuStreamBatchMemOp cuStreamBatchMemOp_v2 cuStreamBeginCaptureToCig cuStreamBeginCaptureToGraph
    cuStreamBeginRecaptureToGraph cuStreamCopyAttributes cuStreamEndCaptureToCig
    cuStreamGetAttribute cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v3 cuStreamGetCtx_v2
    cuStreamGetDevResource cuStreamGetDevice cuStreamGetGreenCtx cuStreamGetId cuStreamSetAttribute
    cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2 cuStreamWaitValue32
    cuStreamWaitValue32_v2 cuStreamWaitValue64 cuStreamWaitValue64_v2 cuStreamWriteValue32
    cuStreamWriteValue32_v2 cuStreamWriteValue64 cuStreamWriteValue64_v2 cuUserObjectCreate
    cuUserObjectRelease cuUserObjectRetain
}
