//! NVIDIA's CUDA runtime, which runs on NVIDIA's driver alone. It looks for the driver's functions
//! before it initialises the driver, and then only says that the driver is too old. So this driver
//! says what to do.

use super::code::Code;
use super::log::Log;
use super::state::{is_initialised, unsupported};
use std::sync::Once;

/// The runtime looks for a function several times, and one message is enough.
static TOLD: Once = Once::new();

fn look_up(function: &'static str) -> Code {
    if is_initialised() {
        return unsupported(function);
    }
    TOLD.call_once(|| Log::from_environment().refuses_runtime());
    Code::NOT_SUPPORTED
}

#[unsafe(no_mangle)]
extern "C" fn cuGetProcAddress() -> Code {
    look_up("cuGetProcAddress")
}

#[unsafe(no_mangle)]
extern "C" fn cuGetProcAddress_v2() -> Code {
    look_up("cuGetProcAddress_v2")
}
