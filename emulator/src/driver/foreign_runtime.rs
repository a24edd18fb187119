//! NVIDIA's CUDA runtime, which runs on NVIDIA's driver alone. It looks for the driver's functions
//! first, and then only says that the driver is too old. So this driver says what to do. If the
//! program has initialised the driver before, as a profiler's process has, only the reason of a
//! failure does: the program may be another one that looks for functions.

use super::code::Code;
use super::log::{FOREIGN_RUNTIME, Log};
use super::state::{is_initialised, unsupported, with};
use crate::device::fault_json;
use std::sync::Once;

/// The runtime looks for a function several times, and one message is enough.
static TOLD: Once = Once::new();

fn look_up(function: &'static str) -> Code {
    if is_initialised() {
        with(|driver| {
            driver.fault = Some(fault_json("unsupported", FOREIGN_RUNTIME, None));
            Ok(())
        });
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
