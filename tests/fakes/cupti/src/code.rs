//! The codes that a call answers.

use cudarc::cupti::sys::CUptiResult;

/// The result of a call that does not succeed.
pub type Code = u32;

pub const INVALID_PARAMETER: Code = CUptiResult::CUPTI_ERROR_INVALID_PARAMETER as Code;
pub const INVALID_CONTEXT: Code = CUptiResult::CUPTI_ERROR_INVALID_CONTEXT as Code;
pub const INVALID_OPERATION: Code = CUptiResult::CUPTI_ERROR_INVALID_OPERATION as Code;
pub const INVALID_METRIC_NAME: Code = CUptiResult::CUPTI_ERROR_INVALID_METRIC_NAME as Code;
pub const MAX_LIMIT_REACHED: Code = CUptiResult::CUPTI_ERROR_MAX_LIMIT_REACHED as Code;
pub const NOT_INITIALIZED: Code = CUptiResult::CUPTI_ERROR_NOT_INITIALIZED as Code;
pub const HARDWARE_BUSY: Code = CUptiResult::CUPTI_ERROR_HARDWARE_BUSY as Code;
pub const NOT_SUPPORTED: Code = CUptiResult::CUPTI_ERROR_NOT_SUPPORTED as Code;
pub const MULTIPLE_SUBSCRIBERS: Code =
    CUptiResult::CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED as Code;
pub const UNKNOWN: Code = CUptiResult::CUPTI_ERROR_UNKNOWN as Code;
