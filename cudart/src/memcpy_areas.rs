//! Memory of three dimensions: extents, copies and fills.

use crate::driver::driver;
use crate::error::Error;
use crate::macros::{on_stream, runtime};
use crate::memory::{Rows, allocate_pitched, fill_rows, finished};
use crate::pointers::{Address, Handle, In, Out};
use crate::structures::{Copy3D, Extent, Pitched};
use std::ffi::c_int;

fn copy(copy: In<Copy3D>, stream: Handle) -> Result<(), Error> {
    driver()?.cuMemcpy3DAsync_v2(In::new(&copy.get()?.for_driver()?), stream)
}

fn fill(memory: Pitched, value: c_int, extent: Extent, stream: Handle) -> Result<(), Error> {
    let Pitched { address, pitch, height, .. } = memory;
    let mut planes = (0..extent.depth).map(|plane| address + (plane * pitch * height) as Address);
    let rows = Rows { pitch, width: extent.width, height: extent.height };
    planes.try_for_each(|plane| fill_rows(plane, value, rows, stream))
}

runtime! {
    fn cudaMalloc3D(memory: Out<Pitched>, extent: Extent) {
        let (mut address, mut pitch) = (0, 0);
        let Extent { width, height, depth } = extent;
        let rows = height.saturating_mul(depth);
        allocate_pitched(Out::new(&mut address), Out::new(&mut pitch), width, rows)?;
        memory.set(Pitched { address, pitch, width, height })
    }
    fn cudaMemcpy3D | cudaMemcpy3D_ptds(parameters: In<Copy3D>) {
        finished(copy(parameters, Handle::NULL))
    }
    fn cudaMemset3D | cudaMemset3D_ptds(memory: Pitched, value: c_int, extent: Extent) {
        finished(fill(memory, value, extent, Handle::NULL))
    }
}

on_stream! {
    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(
        parameters: In<Copy3D>, stream: Handle,
    ) on stream { copy(parameters, stream) }
    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz(
        memory: Pitched, value: c_int, extent: Extent, stream: Handle,
    ) on stream { fill(memory, value, extent, stream) }
}
