//! The panic handler of the device: a trap, since a kernel can neither unwind nor print.
//!
//! The launch then fails with a CUDA error, and the emulated driver names the source line.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `trap` ends the kernel; nothing runs after it.
    unsafe { core::arch::nvptx::trap() }
}
