//! The emulator's exports beyond CUDA's API.
//!
//! Strings are JSON, NUL-terminated, and go back through `gpuemu_free`.

use super::code::Code;
use super::current::with_context;
use super::function::kernel;
use super::pointers::{Handle, Source, Text, free_text, give_text};
use super::state::{Driver, peek};
use crate::device::{Device, listing_json, refusal_json};
use crate::machine::Holds;
use crate::timing::Machine;
use fatbin::code::MachineCode;
use std::ffi::{c_char, c_int};

/// The version of this contract.
const ABI_VERSION: u32 = 1;

#[unsafe(no_mangle)]
extern "C" fn gpuemu_abi_version() -> u32 {
    ABI_VERSION
}

/// The device and the launches that ended well since the previous call. Before `cuInit`: no
/// launches.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_take_report() -> *mut c_char {
    let report = peek(|driver| {
        driver.order.begin_report();
        Some(driver.device.take_report())
    });
    give_text(report.unwrap_or_else(|| Device::default().take_report()))
}

/// The number of a stream with work since the previous report that the stream of this handle has
/// not waited for; -1 if there is none.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_missed_stream(stream: Handle) -> i64 {
    let missed = peek(|driver| {
        let number = driver.streams.get(&stream).map_or(0, |(number, ..)| *number);
        driver.order.missed_by(number)
    });
    missed.and_then(|number| i64::try_from(number).ok()).unwrap_or(-1)
}

/// How many launches were accepted so far, reported or not.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_launch_count() -> u64 {
    peek(|driver| Some(driver.device.launch_count())).unwrap_or(0)
}

/// The last fault since the previous call, or null.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_take_fault() -> *mut c_char {
    match peek(|driver| driver.fault.take()) {
        Some(fault) => give_text(fault),
        None => std::ptr::null_mut(),
    }
}

/// Takes the last refused launch (the device or the kernel did not allow it), if no call has failed
/// and nothing was launched since; otherwise null.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_take_refused_launch() -> *mut c_char {
    match peek(|driver| driver.refused.take()) {
        Some(refused) => give_text(refusal_json(&refused.kernel, refused.config, &refused.message)),
        None => std::ptr::null_mut(),
    }
}

/// Says that the allocation at `address` is the argument `name` of a kernel, and whether the kernel
/// takes it to read only: a store to it is then a fault. 0, or a code of CUDA's.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_label_argument(address: u64, name: Text, read_only: c_int) -> Code {
    let label = |driver: &mut Driver| {
        let holds = Holds::Argument { name: name.get()?.to_owned(), read_only: read_only != 0 };
        driver.device.memory.label(address, holds).map_err(|_| Code::NOT_FOUND)
    };
    with_context(label)
}

/// Says how many registers ptxas assigned to a thread of `function`. 0, or a code of CUDA's.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_set_registers(function: Handle, registers: u32) -> Code {
    with_context(|driver| {
        kernel(driver, function)?.set_registers(registers);
        Ok(())
    })
}

/// Takes the result of ptxas for `function`: the machine code in the cubin of these bytes. 0, or a
/// code of CUDA's: of a cubin that cannot be read, or that does not have the function.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_set_machine_code(function: Handle, cubin: Source, bytes: usize) -> Code {
    with_context(|driver| {
        let kernel = kernel(driver, function)?;
        let code = MachineCode::read(cubin.bytes(bytes)?, kernel.name());
        let code = code.map_err(|_| Code::INVALID_IMAGE)?.ok_or(Code::NOT_FOUND)?;
        kernel.set_machine(Machine::new(&code));
        Ok(())
    })
}

/// The lines of `kernel` in the module of this PTX, or null if the emulator cannot read it.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_listing(ptx: Text, kernel: Text) -> *mut c_char {
    let listing = || {
        let (ptx, kernel) = (ptx.get().ok()?, kernel.get().ok()?);
        let module = Device::default().load(ptx).ok()?;
        Some(listing_json(module.kernel(kernel)?.listing()))
    };
    listing().map_or(std::ptr::null_mut(), give_text)
}

#[unsafe(no_mangle)]
extern "C" fn gpuemu_free(text: *mut c_char) {
    free_text(text);
}
