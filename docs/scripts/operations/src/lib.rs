//! Operations of one or more launches, to compare their counters with Nsight Compute's.
//!
//! The series call them for gpuprof, and the program `one-call` for ncu.

mod libraries;
mod operation;
mod streams;

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Error, Run};
pub use operation::{Failure, Operation};

/// The operation of this `name`, which launches on `stream` if it is its own choice.
///
/// # Errors
/// An unknown name; those of the libraries.
pub fn make(name: &str, stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    match name {
        "concurrent" => streams::concurrent(stream),
        "graph" => streams::graph(stream),
        "threads" => streams::threads(stream),
        "own_stream" => streams::own_stream(stream),
        "cublas" => libraries::cublas(stream),
        "candle" => libraries::candle(),
        "training" => libraries::training(),
        "cubecl" => libraries::cubecl(),
        _ => Err(format!("no operation is named {name}").into()),
    }
}

fn measure(run: &mut Run<'_>, name: &str) -> gpuprof::Result<()> {
    let failed = |error: Failure| Error::from(error.to_string());
    let mut operation = make(name, &run.stream()).map_err(failed)?;
    for stream in &operation.streams {
        run.join(stream)?;
    }
    run.measure(|_| (operation.call)().map_err(failed))
}

macro_rules! series {
    ($($name:ident)*) => {
        $(
            #[gpuprof::series(calls = [1])]
            fn $name(run: &mut Run<'_>) -> gpuprof::Result<()> {
                measure(run, stringify!($name))
            }
        )*
    };
}

series! { concurrent graph threads own_stream cublas candle training cubecl }
