//! The properties of the device, most of which are attributes of the driver.

use crate::driver::driver;
use crate::error::Error;
use crate::macros::runtime;
use crate::pointers::Out;
use std::ffi::{c_char, c_int};

/// Declares the fields of `cudaDeviceProp` behind the first five: numbers, with the driver's
/// attribute of each.
macro_rules! properties {
    ($($(#[$version:meta])? $field:ident: $type:ty = [$($attribute:literal),*];)*) => {
        /// `cudaDeviceProp`.
        #[allow(non_snake_case, reason = "the names are CUDA's")]
        #[repr(C)]
        #[derive(Debug)]
        pub struct Properties {
            name: [c_char; 256],
            uuid: [u8; 16],
            luid: [u8; 8],
            luidDeviceNodeMask: u32,
            totalGlobalMem: usize,
            $($(#[$version])? $field: [$type; [$($attribute),*].len()],)*
            reserved: [c_int; RESERVED],
        }

        impl Properties {
            fn read(device: c_int) -> Result<Self, Error> {
                let driver = driver()?;
                let get = |attribute: c_int| -> Result<c_int, Error> {
                    let mut value = 0;
                    driver.cuDeviceGetAttribute(Out::new(&mut value), attribute, device)?;
                    Ok(value)
                };
                let (mut name, mut uuid, mut memory) = ([0; 256], [0; 16], 0);
                driver.cuDeviceGetName(name.as_mut_ptr(), 256, device)?;
                driver.cuDeviceGetUuid_v2(Out::new(&mut uuid), device)?;
                driver.cuDeviceTotalMem_v2(Out::new(&mut memory), device)?;
                Ok(Self {
                    name,
                    uuid,
                    luid: [0; 8],
                    luidDeviceNodeMask: 0,
                    totalGlobalMem: memory,
                    $($(#[$version])? $field: [$(get($attribute)? as $type),*],)*
                    reserved: [0; RESERVED],
                })
            }
        }
    };
}

const RESERVED: usize = if cfg!(cudart_12) { 63 } else { 56 };

properties! {
    sharedMemPerBlock: usize = [8];
    regsPerBlock: c_int = [12];
    warpSize: c_int = [10];
    memPitch: usize = [11];
    maxThreadsPerBlock: c_int = [1];
    maxThreadsDim: c_int = [2, 3, 4];
    maxGridSize: c_int = [5, 6, 7];
    #[cfg(cudart_12)] clockRate: c_int = [13];
    totalConstMem: usize = [9];
    major: c_int = [75];
    minor: c_int = [76];
    textureAlignment: usize = [14];
    texturePitchAlignment: usize = [51];
    #[cfg(cudart_12)] deviceOverlap: c_int = [15];
    multiProcessorCount: c_int = [16];
    #[cfg(cudart_12)] kernelExecTimeoutEnabled: c_int = [17];
    integrated: c_int = [18];
    canMapHostMemory: c_int = [19];
    #[cfg(cudart_12)] computeMode: c_int = [20];
    maxTexture1D: c_int = [21];
    maxTexture1DMipmap: c_int = [77];
    #[cfg(cudart_12)] maxTexture1DLinear: c_int = [69];
    maxTexture2D: c_int = [22, 23];
    maxTexture2DMipmap: c_int = [73, 74];
    maxTexture2DLinear: c_int = [70, 71, 72];
    maxTexture2DGather: c_int = [45, 46];
    maxTexture3D: c_int = [24, 25, 26];
    maxTexture3DAlt: c_int = [47, 48, 49];
    maxTextureCubemap: c_int = [52];
    maxTexture1DLayered: c_int = [42, 43];
    maxTexture2DLayered: c_int = [27, 28, 29];
    maxTextureCubemapLayered: c_int = [53, 54];
    maxSurface1D: c_int = [55];
    maxSurface2D: c_int = [56, 57];
    maxSurface3D: c_int = [58, 59, 60];
    maxSurface1DLayered: c_int = [61, 62];
    maxSurface2DLayered: c_int = [63, 64, 65];
    maxSurfaceCubemap: c_int = [66];
    maxSurfaceCubemapLayered: c_int = [67, 68];
    surfaceAlignment: usize = [30];
    concurrentKernels: c_int = [31];
    ECCEnabled: c_int = [32];
    pciBusID: c_int = [33];
    pciDeviceID: c_int = [34];
    pciDomainID: c_int = [50];
    tccDriver: c_int = [35];
    asyncEngineCount: c_int = [40];
    unifiedAddressing: c_int = [41];
    #[cfg(cudart_12)] memoryClockRate: c_int = [36];
    memoryBusWidth: c_int = [37];
    l2CacheSize: c_int = [38];
    persistingL2CacheMaxSize: c_int = [108];
    maxThreadsPerMultiProcessor: c_int = [39];
    streamPrioritiesSupported: c_int = [78];
    globalL1CacheSupported: c_int = [79];
    localL1CacheSupported: c_int = [80];
    sharedMemPerMultiprocessor: usize = [81];
    regsPerMultiprocessor: c_int = [82];
    managedMemory: c_int = [83];
    isMultiGpuBoard: c_int = [84];
    multiGpuBoardGroupID: c_int = [85];
    hostNativeAtomicSupported: c_int = [86];
    #[cfg(cudart_12)] singleToDoublePrecisionPerfRatio: c_int = [87];
    pageableMemoryAccess: c_int = [88];
    concurrentManagedAccess: c_int = [89];
    computePreemptionSupported: c_int = [90];
    canUseHostPointerForRegisteredMem: c_int = [91];
    cooperativeLaunch: c_int = [95];
    #[cfg(cudart_12)] cooperativeMultiDeviceLaunch: c_int = [96];
    sharedMemPerBlockOptin: usize = [97];
    pageableMemoryAccessUsesHostPageTables: c_int = [100];
    directManagedMemAccessFromHost: c_int = [101];
    maxBlocksPerMultiProcessor: c_int = [106];
    accessPolicyMaxWindowSize: c_int = [109];
    reservedSharedMemPerBlock: usize = [111];
    hostRegisterSupported: c_int = [99];
    sparseCudaArraySupported: c_int = [112];
    hostRegisterReadOnlySupported: c_int = [113];
    timelineSemaphoreInteropSupported: c_int = [114];
    memoryPoolsSupported: c_int = [115];
    gpuDirectRDMASupported: c_int = [116];
    gpuDirectRDMAFlushWritesOptions: c_int = [117];
    gpuDirectRDMAWritesOrdering: c_int = [118];
    memoryPoolSupportedHandleTypes: c_int = [119];
    deferredMappingCudaArraySupported: c_int = [121];
    ipcEventSupported: c_int = [125];
    clusterLaunch: c_int = [120];
    unifiedFunctionPointers: c_int = [129];
    #[cfg(not(cudart_12))] deviceNumaConfig: c_int = [130];
    #[cfg(not(cudart_12))] deviceNumaId: c_int = [131];
    #[cfg(not(cudart_12))] mpsEnabled: c_int = [133];
    #[cfg(not(cudart_12))] hostNumaId: c_int = [134];
    #[cfg(not(cudart_12))] gpuPciDeviceID: c_int = [139];
    #[cfg(not(cudart_12))] gpuPciSubsystemID: c_int = [140];
    #[cfg(not(cudart_12))] hostNumaMultinodeIpcSupported: c_int = [143];
}

// As the headers of CUDA 12.8 and 13.0 have it.
const _: () = assert!(size_of::<Properties>() == if cfg!(cudart_12) { SIZE_12 } else { SIZE_13 });
const SIZE_12: usize = 1032;
const SIZE_13: usize = 1008;

#[cfg(not(cudart_12))]
runtime! {
    fn cudaGetDeviceProperties(properties: Out<Properties>, device: c_int) {
        properties.set(Properties::read(device)?)
    }
}

// Programs of version 12 ask for this name; the older one has another structure.
#[cfg(cudart_12)]
runtime! {
    fn cudaGetDeviceProperties_v2(properties: Out<Properties>, device: c_int) {
        properties.set(Properties::read(device)?)
    }
}
