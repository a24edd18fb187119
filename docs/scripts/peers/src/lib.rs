//! Copies and kernels that use the memory of another GPU, and managed memory, to compare the bytes
//! of the links with the moved bytes, and with Nsight Compute's.
//!
//! The series call them for gpuprof, and the program `one-call` for ncu.

mod operation;

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Error, Run};
pub use operation::{Failure, Operation};

/// The operation of this `name`, on `stream` of the first GPU.
///
/// # Errors
/// An unknown name; the driver's.
pub fn make(name: &str, stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    match name {
        "copy" => operation::copy(stream),
        "read" => operation::read(stream),
        "write" => operation::write(stream),
        "own" => operation::own(stream),
        "upload" => operation::upload(stream),
        "pinned" => operation::pinned(stream),
        "managed" => operation::managed(stream),
        "pooled" => operation::pooled(stream),
        "elsewhere" => operation::elsewhere(stream),
        _ => Err(format!("no operation is named {name}").into()),
    }
}

fn measure(run: &mut Run<'_>, name: &str, join: bool) -> gpuprof::Result<()> {
    let failed = |error: Failure| Error::from(error.to_string());
    let mut operation = make(name, &run.stream()).map_err(failed)?;
    for stream in operation.streams.iter().filter(|_| join) {
        run.join(stream)?;
    }
    run.measure(|_| (operation.call)().map_err(failed))
}

macro_rules! series {
    ($($name:ident)*) => {
        $(
            #[gpuprof::series(mebibytes = [64])]
            fn $name(run: &mut Run<'_>) -> gpuprof::Result<()> {
                measure(run, stringify!($name), true)
            }
        )*
    };
}

series! { copy read write own upload pinned managed pooled elsewhere }

/// The second GPU's work is not joined
#[gpuprof::series(mebibytes = [64])]
fn unjoined(run: &mut Run<'_>) -> gpuprof::Result<()> {
    measure(run, "elsewhere", false)
}
