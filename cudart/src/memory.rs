//! Memory: allocation, copies, fills, and the variables of the device.

use crate::device::only;
use crate::driver::driver;
use crate::error::Error;
use crate::macros::{on_stream, runtime};
use crate::pointers::{Address, Handle, Out};
use crate::registry;
use std::ffi::{c_int, c_uint};

/// The alignment of a row of `cudaMallocPitch`.
const PITCH: usize = 512;

/// The direction of a copy: `cudaMemcpyKind`.
type Kind = c_int;
const TO_DEVICE: Kind = 1;
const TO_HOST: Kind = 2;
const BETWEEN_DEVICES: Kind = 3;

fn copy(to: Address, from: Address, bytes: usize, kind: Kind, stream: Handle) -> Result<(), Error> {
    let driver = driver()?;
    match kind {
        _ if bytes == 0 => Ok(()),
        // Between the host's addresses, or as the driver finds them.
        0 | 4 => driver.cuMemcpyAsync(to, from, bytes, stream),
        TO_DEVICE => driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
        TO_HOST => driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
        BETWEEN_DEVICES => driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
        _ => Err(Error::INVALID_MEMCPY_DIRECTION),
    }
}

/// A copy between devices, of which there is only one.
fn copy_peer(
    (to, to_device): (Address, c_int),
    (from, from_device): (Address, c_int),
    bytes: usize,
    stream: Handle,
) -> Result<(), Error> {
    only(to_device)?;
    only(from_device)?;
    copy(to, from, bytes, BETWEEN_DEVICES, stream)
}

fn fill(address: Address, value: c_int, bytes: usize, stream: Handle) -> Result<(), Error> {
    let driver = driver()?;
    // The lowest byte, as `memset` has it.
    if bytes == 0 { Ok(()) } else { driver.cuMemsetD8Async(address, value as u8, bytes, stream) }
}

/// The rows of an area: how far apart they are in memory, and what is in each.
#[derive(Clone, Copy)]
pub struct Rows {
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

impl Rows {
    fn check(self) -> Result<Self, Error> {
        if self.width > self.pitch { Err(Error::INVALID_PITCH_VALUE) } else { Ok(self) }
    }

    /// The offset of each row.
    fn offsets(self) -> impl Iterator<Item = Address> {
        (0..self.height).map(move |row| (row * self.pitch) as Address)
    }
}

fn copy_rows(
    (to, to_pitch): (Address, usize),
    (from, pitch): (Address, usize),
    (width, height): (usize, usize),
    kind: Kind,
    stream: Handle,
) -> Result<(), Error> {
    let to_rows = Rows { pitch: to_pitch, width, height }.check()?;
    let from_rows = Rows { pitch, width, height }.check()?;
    let mut rows = to_rows.offsets().zip(from_rows.offsets());
    rows.try_for_each(|(into, at)| copy(to + into, from + at, width, kind, stream))
}

/// Fills rows with the lowest byte of a value.
pub fn fill_rows(address: Address, value: c_int, rows: Rows, stream: Handle) -> Result<(), Error> {
    rows.check()?.offsets().try_for_each(|at| fill(address + at, value, rows.width, stream))
}

/// `count` bytes at `offset` of a variable.
fn within(symbol: Address, offset: usize, count: usize) -> Result<Address, Error> {
    let (address, bytes) = registry::variable(symbol)?;
    let end = offset.checked_add(count).filter(|end| *end <= bytes);
    end.map(|_| address + offset as Address).ok_or(Error::INVALID_VALUE)
}

/// Waits for what was enqueued.
pub fn finished(enqueued: Result<(), Error>) -> Result<(), Error> {
    enqueued.and_then(|()| driver()?.cuStreamSynchronize(Handle::NULL))
}

/// Allocates rows, each of which begins at a multiple of the device's alignment.
pub fn allocate_pitched(
    address: Out<Address>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
) -> Result<(), Error> {
    let row = width.next_multiple_of(PITCH);
    driver()?.cuMemAlloc_v2(address, row.saturating_mul(height))?;
    pitch.set(row)
}

fn allocate_host(address: Out<Address>, bytes: usize, flags: c_uint) -> Result<(), Error> {
    driver()?.cuMemHostAlloc(address, bytes, flags)
}

runtime! {
    fn cudaMalloc(address: Out<Address>, bytes: usize) {
        let driver = driver()?;
        if bytes == 0 { address.set(0) } else { driver.cuMemAlloc_v2(address, bytes) }
    }
    fn cudaMallocPitch(address: Out<Address>, pitch: Out<usize>, width: usize, height: usize) {
        allocate_pitched(address, pitch, width, height)
    }
    fn cudaFree(address: Address) { driver()?.cuMemFree_v2(address) }
    fn cudaMallocHost(address: Out<Address>, bytes: usize) { allocate_host(address, bytes, 0) }
    fn cudaHostAlloc(address: Out<Address>, bytes: usize, flags: c_uint) {
        allocate_host(address, bytes, flags)
    }
    fn cudaFreeHost(address: Address) {
        let driver = driver()?;
        if address == 0 { Ok(()) } else { driver.cuMemFreeHost(address) }
    }
    fn cudaHostRegister(address: Address, bytes: usize, flags: c_uint) {
        driver()?.cuMemHostRegister_v2(address, bytes, flags)
    }
    fn cudaHostUnregister(address: Address) { driver()?.cuMemHostUnregister(address) }
    fn cudaHostGetDevicePointer(address: Out<Address>, host: Address, flags: c_uint) {
        driver()?.cuMemHostGetDevicePointer_v2(address, host, flags)
    }
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        driver()?.cuMemGetInfo_v2(free, total)
    }
    fn cudaMemcpy | cudaMemcpy_ptds(to: Address, from: Address, bytes: usize, kind: Kind) {
        finished(copy(to, from, bytes, kind, Handle::NULL))
    }
    fn cudaMemcpyPeer(
        to: Address, to_device: c_int, from: Address, from_device: c_int, bytes: usize,
    ) { finished(copy_peer((to, to_device), (from, from_device), bytes, Handle::NULL)) }
    fn cudaMemcpyPeerAsync(
        to: Address, to_device: c_int, from: Address, from_device: c_int, bytes: usize,
        stream: Handle,
    ) { copy_peer((to, to_device), (from, from_device), bytes, stream) }
    fn cudaMemset | cudaMemset_ptds(address: Address, value: c_int, bytes: usize) {
        finished(fill(address, value, bytes, Handle::NULL))
    }
    fn cudaMemcpy2D | cudaMemcpy2D_ptds(
        to: Address, to_pitch: usize, from: Address, pitch: usize, width: usize, height: usize,
        kind: Kind,
    ) {
        let copied = copy_rows((to, to_pitch), (from, pitch), (width, height), kind, Handle::NULL);
        finished(copied)
    }
    fn cudaMemset2D | cudaMemset2D_ptds(
        address: Address, pitch: usize, value: c_int, width: usize, height: usize,
    ) {
        finished(fill_rows(address, value, Rows { pitch, width, height }, Handle::NULL))
    }
    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds(
        symbol: Address, from: Address, bytes: usize, offset: usize, kind: Kind,
    ) {
        finished(copy(within(symbol, offset, bytes)?, from, bytes, kind, Handle::NULL))
    }
    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds(
        to: Address, symbol: Address, bytes: usize, offset: usize, kind: Kind,
    ) {
        finished(copy(to, within(symbol, offset, bytes)?, bytes, kind, Handle::NULL))
    }
    fn cudaGetSymbolAddress(address: Out<Address>, symbol: Address) {
        address.set(registry::variable(symbol)?.0)
    }
    fn cudaGetSymbolSize(bytes: Out<usize>, symbol: Address) {
        bytes.set(registry::variable(symbol)?.1)
    }
    fn cudaPointerGetAttributes(attributes: Out<PointerAttributes>, address: Address) {
        let get = |attribute| {
            let mut value: c_uint = 0;
            let place = (&raw mut value).cast();
            driver()?.cuPointerGetAttribute(place, attribute, address).map(|()| value)
        };
        driver()?;
        let kind = match (get(MEMORY_TYPE), get(IS_MANAGED)) {
            (Ok(_), Ok(1)) => Ok(MANAGED),
            (kind, _) => kind,
        };
        let known = PointerAttributes { device: 0, ..PointerAttributes::default() };
        attributes.set(match kind {
            Ok(ON_DEVICE) => {
                PointerAttributes { kind: ON_DEVICE, on_device: address, ..known }
            }
            Ok(kind) => PointerAttributes { kind, on_device: address, on_host: address, ..known },
            // Memory that the driver does not know is the host's.
            Err(_) => PointerAttributes { device: NO_DEVICE, on_host: address, ..known },
        })
    }
}

on_stream! {
    fn cudaMallocAsync | cudaMallocAsync_ptsz(
        address: Out<Address>, bytes: usize, stream: Handle,
    ) on stream {
        let driver = driver()?;
        if bytes == 0 { address.set(0) } else { driver.cuMemAllocAsync(address, bytes, stream) }
    }
    fn cudaFreeAsync | cudaFreeAsync_ptsz(address: Address, stream: Handle) on stream {
        driver()?.cuMemFreeAsync(address, stream)
    }
    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz(
        to: Address, from: Address, bytes: usize, kind: Kind, stream: Handle,
    ) on stream { copy(to, from, bytes, kind, stream) }
    fn cudaMemsetAsync | cudaMemsetAsync_ptsz(
        address: Address, value: c_int, bytes: usize, stream: Handle,
    ) on stream { fill(address, value, bytes, stream) }
    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(
        to: Address, to_pitch: usize, from: Address, pitch: usize, width: usize, height: usize,
        kind: Kind, stream: Handle,
    ) on stream { copy_rows((to, to_pitch), (from, pitch), (width, height), kind, stream) }
    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz(
        address: Address, pitch: usize, value: c_int, width: usize, height: usize, stream: Handle,
    ) on stream { fill_rows(address, value, Rows { pitch, width, height }, stream) }
    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz(
        symbol: Address, from: Address, bytes: usize, offset: usize, kind: Kind, stream: Handle,
    ) on stream { copy(within(symbol, offset, bytes)?, from, bytes, kind, stream) }
    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz(
        to: Address, symbol: Address, bytes: usize, offset: usize, kind: Kind, stream: Handle,
    ) on stream { copy(to, within(symbol, offset, bytes)?, bytes, kind, stream) }
}

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, and its value for memory of the device, which is the
/// runtime's too.
const MEMORY_TYPE: c_int = 2;
const ON_DEVICE: c_uint = 2;

/// `CU_POINTER_ATTRIBUTE_IS_MANAGED`, and `cudaMemoryTypeManaged`.
const IS_MANAGED: c_int = 8;
const MANAGED: c_uint = 3;

/// `cudaInvalidDeviceId`, for unregistered memory of the host.
const NO_DEVICE: c_int = -2;

/// `cudaPointerAttributes`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct PointerAttributes {
    kind: c_uint,
    device: c_int,
    on_device: Address,
    on_host: Address,
    #[cfg(not(cudart_12))]
    reserved: [u64; 8],
}
