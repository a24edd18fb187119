//! CUPTI's result codes, as a type of our own.
//!
//! cudarc's `CUptiResult` is a Rust enum of the codes of one CUDA version; a newer library returns
//! others. Here any number is a [`Code`], and one without a name is [`Code::Other`].

use std::fmt;

macro_rules! codes {
    ($($number:literal $name:literal $variant:ident)*) => {
        /// A code that a CUPTI function returned.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $name, "`, ", $number)] $variant,)*
            /// A code newer than this list.
            Other(u32),
        }

        impl Code {
            /// Every code that has a name here.
            pub const NAMED: &[Self] = &[$(Self::$variant),*];

            /// The code of a number.
            #[must_use]
            pub const fn from_number(number: u32) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The number of the code, as in CUPTI's headers.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                    Self::Other(number) => number,
                }
            }

            /// The name of the code, as in CUPTI's headers.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(_) => "a code newer than gpuprof",
                }
            }
        }
    };
}

codes! {
    0 "CUPTI_SUCCESS" Success
    1 "CUPTI_ERROR_INVALID_PARAMETER" InvalidParameter
    2 "CUPTI_ERROR_INVALID_DEVICE" InvalidDevice
    3 "CUPTI_ERROR_INVALID_CONTEXT" InvalidContext
    4 "CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID" InvalidEventDomainId
    5 "CUPTI_ERROR_INVALID_EVENT_ID" InvalidEventId
    6 "CUPTI_ERROR_INVALID_EVENT_NAME" InvalidEventName
    7 "CUPTI_ERROR_INVALID_OPERATION" InvalidOperation
    8 "CUPTI_ERROR_OUT_OF_MEMORY" OutOfMemory
    9 "CUPTI_ERROR_HARDWARE" Hardware
    10 "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT" ParameterSizeNotSufficient
    11 "CUPTI_ERROR_API_NOT_IMPLEMENTED" ApiNotImplemented
    12 "CUPTI_ERROR_MAX_LIMIT_REACHED" MaxLimitReached
    13 "CUPTI_ERROR_NOT_READY" NotReady
    14 "CUPTI_ERROR_NOT_COMPATIBLE" NotCompatible
    15 "CUPTI_ERROR_NOT_INITIALIZED" NotInitialized
    16 "CUPTI_ERROR_INVALID_METRIC_ID" InvalidMetricId
    17 "CUPTI_ERROR_INVALID_METRIC_NAME" InvalidMetricName
    18 "CUPTI_ERROR_QUEUE_EMPTY" QueueEmpty
    19 "CUPTI_ERROR_INVALID_HANDLE" InvalidHandle
    20 "CUPTI_ERROR_INVALID_STREAM" InvalidStream
    21 "CUPTI_ERROR_INVALID_KIND" InvalidKind
    22 "CUPTI_ERROR_INVALID_EVENT_VALUE" InvalidEventValue
    23 "CUPTI_ERROR_DISABLED" Disabled
    24 "CUPTI_ERROR_INVALID_MODULE" InvalidModule
    25 "CUPTI_ERROR_INVALID_METRIC_VALUE" InvalidMetricValue
    26 "CUPTI_ERROR_HARDWARE_BUSY" HardwareBusy
    27 "CUPTI_ERROR_NOT_SUPPORTED" NotSupported
    28 "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED" UnifiedMemoryNotSupported
    29 "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE" UnifiedMemoryNotSupportedOnDevice
    30 "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES" UnifiedMemoryNotSupportedOnNonP2pDevices
    31 "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS" UnifiedMemoryNotSupportedWithMps
    32 "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED" DynamicParallelismNotSupported
    33 "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" VirtualizedDeviceNotSupported
    34 "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE" CudaCompilerNotCompatible
    35 "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" InsufficientPrivileges
    36 "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED" OldProfilerApiInitialized
    37 "CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE" OpenaccUndefinedRoutine
    38 "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED" LegacyProfilerNotSupported
    39 "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" MultipleSubscribersNotSupported
    40 "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES" VirtualizedDeviceInsufficientPrivileges
    41 "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" ConfidentialComputingNotSupported
    42 "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" CmpDeviceNotSupported
    43 "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" MigDeviceNotSupported
    44 "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED" SliDeviceNotSupported
    45 "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED" WslDeviceNotSupported
    46 "CUPTI_ERROR_INVALID_CHIP_NAME" InvalidChipName
    47 "CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS" HesTraceNotSupportedOnMps
    999 "CUPTI_ERROR_UNKNOWN" Unknown
}

impl Code {
    /// Whether it says that this machine does not give counters, at present or at all, whatever is
    /// asked for.
    #[must_use]
    pub const fn is_denial(self) -> bool {
        matches!(
            self,
            Self::HardwareBusy
                | Self::NotSupported
                | Self::InsufficientPrivileges
                | Self::VirtualizedDeviceNotSupported
                | Self::VirtualizedDeviceInsufficientPrivileges
                | Self::OldProfilerApiInitialized
                | Self::LegacyProfilerNotSupported
                | Self::MultipleSubscribersNotSupported
                | Self::ConfidentialComputingNotSupported
                | Self::CmpDeviceNotSupported
                | Self::MigDeviceNotSupported
                | Self::SliDeviceNotSupported
                | Self::WslDeviceNotSupported
        )
    }
}

impl Code {
    /// Whether it says that the device is a virtual GPU.
    #[must_use]
    pub const fn is_virtual_gpu(self) -> bool {
        matches!(
            self,
            Self::VirtualizedDeviceNotSupported | Self::VirtualizedDeviceInsufficientPrivileges
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives_the_round_trip() {
        for number in (0..64).chain([999, u32::MAX]) {
            assert_eq!(Code::from_number(number).number(), number);
        }
    }

    #[test]
    fn a_code_prints_name_and_number() {
        assert_eq!(Code::from_number(35).to_string(), "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)");
        assert_eq!(Code::from_number(77).to_string(), "a code newer than gpuprof (77)");
    }
}
