//! Pinned memory of the host, which kernels use at the host's address.

use crate::driver::{config, fault, session};
use cudarc::driver::{DriverError, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;
use std::ffi::c_uint;

/// `bump` adds one to the word at its argument, and `follow` to the word at the address there.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry bump(.param .u64 at) {
    .reg .u64 %a; .reg .u32 %v;
    ld.param.u64 %a, [at];
    ld.u32 %v, [%a]; add.u32 %v, %v, 1; st.u32 [%a], %v;
    ret;
}
.visible .entry follow(.param .u64 at) {
    .reg .u64 %a; .reg .u32 %v;
    ld.param.u64 %a, [at]; ld.u64 %a, [%a];
    ld.u32 %v, [%a]; add.u32 %v, %v, 1; st.u32 [%a], %v;
    ret;
}
";

/// A number in pinned memory of these flags.
fn pinned(value: u32, flags: c_uint) -> *mut u32 {
    let mut address = std::ptr::null_mut();
    // SAFETY: the driver writes the address of eight bytes, in which one number has room.
    unsafe {
        sys::cuMemHostAlloc(&raw mut address, 8, flags).result().expect("there is memory");
        let number = address.cast::<u32>();
        number.write(value);
        number
    }
}

#[test]
fn a_kernel_uses_pinned_memory_that_a_launch_names_and_faults_on_other() {
    let session = session();
    let stream = session.context.default_stream();
    let module = session.context.load_module(Ptx::from_src(PTX)).unwrap();
    let launch = |name: &str, at: u64| -> Result<(), DriverError> {
        let function = module.load_function(name).unwrap();
        let mut launch = stream.launch_builder(&function);
        launch.arg(&at);
        // SAFETY: the kernels read and write one word at an address that is the host's.
        unsafe { launch.launch(config(1, 1)) }?;
        stream.synchronize()
    };
    let (first, second) = (pinned(41, 0), pinned(7, 0));
    let holder = stream.clone_htod(&[first as u64, second as u64]).unwrap();
    let holder = cudarc::driver::DevicePtr::device_ptr(&holder, &stream).0;
    launch("bump", first as u64).unwrap();
    // SAFETY: `pinned` gave both, and no kernel runs.
    assert_eq!(unsafe { (*first, *second) }, (42, 7));
    // Now the device knows it, and reads it by an address in memory too.
    launch("follow", holder).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { *first }, 43);
    let mut on_device = 0;
    // SAFETY: the driver writes the address; `second` is memory that it gave.
    unsafe {
        sys::cuMemHostGetDevicePointer_v2(&raw mut on_device, second.cast(), 0).result().unwrap();
        assert_eq!(on_device, second as u64);
        sys::cuMemFreeHost(first.cast()).result().unwrap();
        sys::cuMemFreeHost(second.cast()).result().unwrap();
    }
    let third = pinned(1, 0);
    let holder = stream.clone_htod(&[third as u64]).unwrap();
    let holder = cudarc::driver::DevicePtr::device_ptr(&holder, &stream).0;
    launch("follow", holder).unwrap_err();
    let told = fault();
    assert!(told.contains("it is pinned memory of the host, which the emulated device"), "{told}");
}
