//! `one-call NAME` calls an operation between `cuProfilerStart` and `cuProfilerStop`, warmed up.

use cudarc::driver::{CudaContext, sys};
use peers::Failure;

fn main() -> Result<(), Failure> {
    let name = std::env::args().nth(1).ok_or("usage: one-call NAME")?;
    let context = CudaContext::new(0)?;
    let mut operation = peers::make(&name, &context.new_stream()?)?;
    for _ in 0..2 {
        (operation.call)()?;
        context.synchronize()?;
    }
    context.bind_to_thread()?;
    // SAFETY: the context is current on this thread.
    unsafe { sys::cuProfilerStart() }.result()?;
    (operation.call)()?;
    context.synchronize()?;
    // SAFETY: as above.
    unsafe { sys::cuProfilerStop() }.result()?;
    Ok(())
}
