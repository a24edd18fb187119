//! Memory: allocation, copies, fills. Everything is done when the call returns, whatever the
//! stream.

use super::code::Code;
use super::context::wait_for_all;
use super::current::{on_stream, with_context, with_healthy};
use super::exported::exported;
use super::graph::enqueue;
use super::graph_memory;
use super::pointers::{Handle, Out, Source, Target};
use super::state::Driver;
use crate::device::MoveKind;
use crate::lower::address::GLOBAL_BASE;
use std::ffi::{c_int, c_uint};

/// The stream of calls that name none.
const DEFAULT: Handle = Handle::NULL;

/// Beyond this an address is the device's, below it the host's: user addresses on Linux end at
/// 2^47.
fn is_device(driver: &Driver, address: u64) -> bool {
    address >= GLOBAL_BASE && driver.device.memory.find(address).is_some()
}

/// Turns a range that is not allocated into CUDA's error, and says where it is.
fn refuse(driver: &mut Driver, verb: &str, address: u64, bytes: u64) -> Code {
    let place = driver.device.memory.locate(address);
    driver.note(
        "invalid_argument",
        &format!("a host call {verb} {bytes} bytes of device memory at {address:#x}, {place}"),
    );
    Code::INVALID_VALUE
}

fn allocate(address: Out<u64>, bytes: usize, stream: Handle) -> Code {
    on_stream(stream, |driver, _| {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if let Some(&(graph, _)) = driver.graphs.captures.get(&stream) {
            let (work, at) = graph_memory::allocation(driver, bytes)?;
            driver.append(graph, work)?;
            return address.set(at);
        }
        address.set(driver.device.memory.allocate(bytes as u64).ok_or(Code::OUT_OF_MEMORY)?)
    })
}

fn free(address: u64, stream: Handle) -> Code {
    on_stream(stream, |driver, _| {
        if address == 0 {
            return Ok(());
        }
        if let Some(&(graph, _)) = driver.graphs.captures.get(&stream) {
            let work = graph_memory::release(driver, address)?;
            return driver.append(graph, work);
        }
        if driver.device.memory.free(address).is_ok() {
            driver.managed.remove(address);
            return Ok(());
        }
        let place = match driver.device.memory.find(address) {
            Some(allocation) => {
                let (base, bytes) = (allocation.base, allocation.bytes);
                let inside = address - base;
                format!(
                    "{inside} bytes into a {bytes}-byte allocation: free its first address, {base:#x}"
                )
            }
            None => driver.device.memory.locate(address),
        };
        let text = format!("a host call frees device memory at {address:#x}, {place}");
        driver.note("invalid_argument", &text);
        Err(Code::INVALID_VALUE)
    })
}

fn upload(to: u64, from: Source, bytes: usize, stream: Handle) -> Code {
    let from = from.address();
    enqueue(stream, move |driver, _| upload_now(driver, to, from, bytes))
}

fn upload_now(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result<(), Code> {
    let source = Source::from_address(from).bytes(bytes)?;
    driver.device.note_move(MoveKind::Upload, bytes as u64);
    let written = driver.device.memory.write(to, source);
    written.map_err(|_| refuse(driver, "writes", to, bytes as u64))
}

fn download(to: Target, from: u64, bytes: usize, stream: Handle) -> Code {
    let to = to.address();
    let code = enqueue(stream, move |driver, _| download_now(driver, to, from, bytes));
    // A copy to memory that is not pinned is over when the call returns.
    if code == Code::SUCCESS { host_waits(stream) } else { code }
}

fn host_waits(stream: Handle) -> Code {
    on_stream(stream, |driver, number| {
        if !driver.graphs.captures(stream) {
            driver.order.wait_on_host(number);
        }
        Ok(())
    })
}

fn download_now(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result<(), Code> {
    let target = Target::from_address(to).bytes(bytes)?;
    driver.device.note_move(MoveKind::Download, bytes as u64);
    let read = driver.device.memory.read(from, target);
    read.map_err(|_| refuse(driver, "reads", from, bytes as u64))
}

fn copy(to: u64, from: u64, bytes: usize, stream: Handle) -> Code {
    enqueue(stream, move |driver, _| copy_now(driver, to, from, bytes))
}

fn copy_now(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result<(), Code> {
    driver.device.note_move(MoveKind::Copy, bytes as u64);
    let copied = driver.device.memory.copy(to, from, bytes as u64);
    copied.map_err(|_| refuse(driver, "copies", from, bytes as u64))
}

/// Copies between addresses of the host or the device.
pub fn copy_between(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result<(), Code> {
    match (is_device(driver, to), is_device(driver, from)) {
        (true, true) => copy_now(driver, to, from, bytes),
        (true, false) => upload_now(driver, to, from, bytes),
        (false, true) => download_now(driver, to, from, bytes),
        (false, false) => {
            let source = Source::from_address(from).bytes(bytes)?.to_vec();
            Target::from_address(to).bytes(bytes)?.copy_from_slice(&source);
            Ok(())
        }
    }
}

fn fill(address: u64, pattern: &[u8], count: usize, stream: Handle) -> Code {
    let pattern = pattern.to_vec();
    enqueue(stream, move |driver, _| fill_now(driver, address, &pattern, count))
}

/// Fills `height` rows of `width` values that are `pitch` bytes apart.
pub fn fill_rows(
    driver: &mut Driver,
    (address, pitch): (u64, usize),
    pattern: &[u8],
    (width, height): (usize, usize),
) -> Result<(), Code> {
    let mut rows = (0..height).map(|row| address + (row * pitch) as u64);
    rows.try_for_each(|row| fill_now(driver, row, pattern, width))
}

fn fill_now(driver: &mut Driver, address: u64, pattern: &[u8], count: usize) -> Result<(), Code> {
    let width = pattern.len() as u64;
    if !address.is_multiple_of(width) {
        let text = format!(
            "a host call fills device memory at {address:#x} with values of {width} bytes; the \
             address must be a multiple of {width}"
        );
        driver.note("invalid_argument", &text);
        return Err(Code::INVALID_VALUE);
    }
    let total = (count as u64).saturating_mul(width);
    driver.device.note_move(MoveKind::Fill, total);
    let filled = driver.device.memory.fill(address, pattern, count as u64);
    filled.map_err(|_| refuse(driver, "fills", address, total))
}

/// The alignment of rows, as NVIDIA's driver has it.
const PITCH: usize = 512;

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocPitch_v2(
    address: Out<u64>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    _element_bytes: c_uint,
) -> Code {
    let row = width.next_multiple_of(PITCH);
    match allocate(address, row.saturating_mul(height), DEFAULT) {
        Code::SUCCESS => pitch.set(row).into(),
        refused => refused,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> Code {
    let code = free(address, DEFAULT);
    if code == Code::SUCCESS { wait_for_all() } else { code }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Code {
    with_context(|driver| {
        let (available, capacity) = driver.device.memory.available();
        free.set(available as usize)?;
        total.set(capacity as usize)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) -> Code {
    with_context(|driver| {
        let allocation = driver.device.memory.find(address).ok_or(Code::NOT_FOUND)?;
        base.set_if_wanted(allocation.base);
        size.set_if_wanted(allocation.bytes as usize);
        Ok(())
    })
}

fn allocate_host(pointer: Out<u64>, bytes: usize, flags: c_uint) -> Code {
    with_healthy(|driver| {
        let address = if flags & DEVICE_MAP == 0 {
            let pinned = driver.managed.pin(bytes, &mut driver.device.memory);
            pinned.ok_or(Code::OUT_OF_MEMORY)?
        } else {
            driver.share(bytes)?
        };
        driver.host_memory.insert(address, bytes);
        pointer.set(address)
    })
}

/// `CU_MEMHOSTALLOC_DEVICEMAP`: kernels use the memory too.
const DEVICE_MAP: c_uint = 2;

#[unsafe(no_mangle)]
extern "C" fn cuMemHostGetDevicePointer_v2(
    address: Out<u64>,
    pointer: Source,
    _flags: c_uint,
) -> Code {
    with_context(|driver| {
        let pointer = pointer.address();
        if driver.managed.share(pointer, &mut driver.device.memory) {
            return address.set(pointer);
        }
        let why = "the emulated device shares host memory of cudaHostAlloc and cudaMallocHost \
                   (cuMemHostAlloc, cuMemAllocHost) alone";
        driver.note("unsupported", why);
        Err(Code::NOT_SUPPORTED)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(pointer: Target) -> Code {
    with_context(|driver| {
        let address = pointer.address();
        driver.host_memory.remove(&address).ok_or(Code::INVALID_VALUE)?;
        // After a reset the device has none.
        let _ = driver.unshare(address);
        Ok(())
    })
}

/// The kinds of memory of `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const HOST: u64 = 1;
const DEVICE: u64 = 2;

/// Simple attributes of device memory, and the kind of host memory that the driver allocated.
#[unsafe(no_mangle)]
extern "C" fn cuPointerGetAttribute(value: Target, attribute: c_int, pointer: u64) -> Code {
    with_context(|driver| {
        let size = if matches!(attribute, 2 | 8 | 9) { 4 } else { 8 };
        let set = |bits: u64| {
            value.bytes(size)?.copy_from_slice(&bits.to_le_bytes()[..size]);
            Ok(())
        };
        let mut pinned = driver.host_memory.iter();
        if pinned.any(|(at, bytes)| (*at..at + *bytes as u64).contains(&pointer)) {
            return if attribute == 2 { set(HOST) } else { Err(Code::NOT_SUPPORTED) };
        }
        let allocation = driver.device.memory.find(pointer).ok_or(Code::INVALID_VALUE)?;
        set(match attribute {
            // CONTEXT, MEMORY_TYPE, DEVICE_POINTER, IS_MANAGED, DEVICE_ORDINAL, RANGE_START,
            // RANGE_SIZE.
            1 => super::state::PRIMARY.0 as u64,
            2 => DEVICE,
            3 => pointer,
            8 => u64::from(driver.managed.has(pointer)),
            9 => 0,
            11 => allocation.base,
            12 => allocation.bytes,
            _ => return Err(Code::NOT_SUPPORTED),
        })
    })
}

exported! {
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) = allocate(address, bytes, DEFAULT);
    pub fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) =
        allocate(address, bytes, stream);
    fn cuMemFreeAsync(address: u64, stream: Handle) = free(address, stream);
    fn cuMemcpyHtoD_v2(to: u64, from: Source, bytes: usize) = upload(to, from, bytes, DEFAULT);
    fn cuMemcpyHtoDAsync_v2(to: u64, from: Source, bytes: usize, stream: Handle) =
        upload(to, from, bytes, stream);
    fn cuMemcpyDtoH_v2(to: Target, from: u64, bytes: usize) = download(to, from, bytes, DEFAULT);
    fn cuMemcpyDtoHAsync_v2(to: Target, from: u64, bytes: usize, stream: Handle) =
        download(to, from, bytes, stream);
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) = copy(to, from, bytes, DEFAULT);
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) =
        copy(to, from, bytes, stream);
    fn cuMemcpy(to: u64, from: u64, bytes: usize) = cuMemcpyAsync(to, from, bytes, DEFAULT);
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) =
        enqueue(stream, move |driver, _| copy_between(driver, to, from, bytes));
    fn cuMemsetD8_v2(address: u64, value: u8, count: usize) =
        fill(address, &[value], count, DEFAULT);
    fn cuMemsetD8Async(address: u64, value: u8, count: usize, stream: Handle) =
        fill(address, &[value], count, stream);
    fn cuMemsetD16_v2(address: u64, value: u16, count: usize) =
        fill(address, &value.to_le_bytes(), count, DEFAULT);
    fn cuMemsetD16Async(address: u64, value: u16, count: usize, stream: Handle) =
        fill(address, &value.to_le_bytes(), count, stream);
    fn cuMemsetD32_v2(address: u64, value: u32, count: usize) =
        fill(address, &value.to_le_bytes(), count, DEFAULT);
    fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Handle) =
        fill(address, &value.to_le_bytes(), count, stream);
    fn cuMemHostAlloc(pointer: Out<u64>, bytes: usize, flags: c_uint) =
        allocate_host(pointer, bytes, flags);
    fn cuMemAllocHost_v2(pointer: Out<u64>, bytes: usize) = allocate_host(pointer, bytes, 0);
    pub(super) fn cuMemHostRegister_v2(_pointer: Source, _bytes: usize, _flags: c_uint) =
        with_context(|_| Ok(()));
    fn cuMemHostUnregister(_pointer: Source) = with_context(|_| Ok(()));
}
