//! The device and its attributes.

use super::code::Code;
use super::context::only;
use super::exported::exported;
use super::pointers::{Out, Target, Text};
use super::state::{chip_of, device_count, initialise, with};
use crate::device::Chip;
use std::ffi::{c_char, c_int, c_uint};

/// The CUDA version that this driver reports.
const DRIVER_VERSION: c_int = 13000;

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) -> Code {
    with(|driver| {
        chip_of(driver, ordinal)?;
        device.set(ordinal)
    })
}

/// Copies text with its NUL into a buffer, cut to fit.
fn put_text(buffer: Target, length: c_int, text: &str) -> Result<(), Code> {
    let length =
        usize::try_from(length).ok().filter(|length| *length > 0).ok_or(Code::INVALID_VALUE)?;
    let bytes = buffer.bytes(length)?;
    let kept = text.len().min(length - 1);
    bytes[..kept].copy_from_slice(&text.as_bytes()[..kept]);
    bytes[kept] = 0;
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceComputeCapability(
    major: Out<c_int>,
    minor: Out<c_int>,
    device: c_int,
) -> Code {
    with(|driver| {
        let (high, low) = chip_of(driver, device)?.compute_capability;
        major.set(high as c_int)?;
        minor.set(low as c_int)
    })
}

const BUS_ID: &str = "0000:00:00.0";

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetPCIBusId(text: Target, length: c_int, device: c_int) -> Code {
    with(|_| {
        only(device)?;
        put_text(text, length, BUS_ID)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) -> Code {
    with(|driver| {
        chip_of(driver, device)?;
        chip_of(driver, peer)?;
        can.set(c_int::from(device != peer))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetP2PAttribute(
    value: Out<c_int>,
    attribute: c_int,
    device: c_int,
    peer: c_int,
) -> Code {
    /// `CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK`: the best.
    const RANK: c_int = 1;
    with(|driver| {
        chip_of(driver, device)?;
        chip_of(driver, peer)?;
        if device == peer {
            Err(Code::INVALID_DEVICE)
        } else {
            value.set(c_int::from(attribute != RANK))
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) -> Code {
    with(|driver| {
        value.set(attribute_of(chip_of(driver, device)?, attribute).ok_or(Code::INVALID_VALUE)?)
    })
}

/// A device attribute by its number in `cuda.h`; 0 for features that the emulator lacks.
fn attribute_of(chip: &Chip, attribute: c_int) -> Option<c_int> {
    let (major, minor) = chip.compute_capability;
    let value = match attribute {
        1 => chip.max_threads_per_block,
        2..=4 => chip.max_block[attribute as usize - 2],
        5..=7 => chip.max_grid[attribute as usize - 5],
        8 => chip.shared_per_block,
        9 => chip.constant_bytes,
        // WARP_SIZE, then MAX_PITCH.
        10 => 32,
        11 => 0x7fff_ffff,
        12 => chip.registers_per_block,
        13 => chip.clock_khz,
        // TEXTURE_ALIGNMENT, GPU_OVERLAP.
        14 => 512,
        15 => 1,
        16 => chip.sm_count,
        // KERNEL_EXEC_TIMEOUT, INTEGRATED.
        17 | 18 => 0,
        // CAN_MAP_HOST_MEMORY, COMPUTE_MODE.
        19 => 1,
        20 => 0,
        // SURFACE_ALIGNMENT, CONCURRENT_KERNELS.
        30 => 512,
        31 => 1,
        // ECC_ENABLED.
        32 => 1,
        36 => chip.memory_clock_khz,
        37 => chip.memory_bus_bits,
        38 => chip.l2_bytes,
        39 => chip.threads_per_sm,
        // ASYNC_ENGINE_COUNT, UNIFIED_ADDRESSING.
        40 => 3,
        41 => 1,
        75 => major,
        76 => minor,
        // STREAM_PRIORITIES, GLOBAL_L1_CACHE, LOCAL_L1_CACHE.
        78..=80 => 1,
        81 => chip.shared_per_sm,
        82 => chip.registers_per_sm,
        // MANAGED_MEMORY, but not while a kernel runs (CONCURRENT_MANAGED_ACCESS, 89).
        83 => 1,
        // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO.
        87 => chip.rates.units.double_busy / chip.rates.units.float_busy,
        // COOPERATIVE_LAUNCH.
        95 => 1,
        97 => chip.shared_per_block_optin,
        106 => chip.blocks_per_sm,
        111 => chip.shared_reserved,
        // MEMORY_POOLS_SUPPORTED.
        115 => 1,
        // Every other attribute is a capability that the emulator does not have.
        21..=150 => 0,
        _ => return None,
    };
    c_int::try_from(value).ok()
}

exported! {
    fn cuInit(flags: c_uint) = if flags == 0 { initialise() } else { Code::INVALID_VALUE };
    fn cuGetErrorName(code: Code, text: Out<*const c_char>) =
        code.describe().map_or(Code::INVALID_VALUE, |(name, _)| text.set(name.as_ptr()).into());
    fn cuGetErrorString(code: Code, text: Out<*const c_char>) =
        code.describe().map_or(Code::INVALID_VALUE, |(_, about)| text.set(about.as_ptr()).into());
    fn cuDriverGetVersion(version: Out<c_int>) = version.set(DRIVER_VERSION).into();
    fn cuDeviceGetCount(count: Out<c_int>) = with(|_| count.set(device_count()));
    fn cuDeviceGetName(name: Target, length: c_int, device: c_int) =
        with(|driver| put_text(name, length, chip_of(driver, device)?.name));
    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: c_int) =
        with(|driver| uuid.set(chip_of(driver, device)?.uuid));
    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int) = cuDeviceGetUuid(uuid, device);
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) =
        with(|driver| bytes.set(chip_of(driver, device)?.memory_bytes as usize));
    fn cuDeviceGetByPCIBusId(device: Out<c_int>, text: Text) =
        with(|_| if text.get()? == BUS_ID { device.set(0) } else { Err(Code::INVALID_DEVICE) });
}
