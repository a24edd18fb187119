//! Kernels: attributes, occupancy, launches.

use super::code::Code;
use super::current::{on_stream, with_context};
use super::exported::exported;
use super::pointers::{Extra, Handle, Out, Params, RawLaunchConfig, Structure};
use super::state::Driver;
use crate::device::{Kernel, LaunchConfig, occupancy};
use std::ffi::{c_char, c_int, c_uint};

/// The kernel of a handle.
pub(super) fn kernel(driver: &Driver, function: Handle) -> Result<&Kernel, Code> {
    driver.functions.get(&function).map(|(_, kernel)| kernel).ok_or(Code::INVALID_HANDLE)
}

const MAX_DYNAMIC_SHARED: c_int = 8;
const PREFERRED_CARVEOUT: c_int = 9;

#[unsafe(no_mangle)]
extern "C" fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: Handle) -> Code {
    with_context(|driver| {
        let kernel = kernel(driver, function)?;
        let chip = driver.device.chip;
        let (_, target) = kernel.versions();
        let (major, minor) = chip.compute_capability;
        value.set(match attribute {
            0 => kernel.max_threads(chip) as c_int,
            1 => kernel.static_shared() as c_int,
            2 => 0,
            3 => kernel.local_bytes() as c_int,
            // ptxas assigns registers, and the program may have told how many.
            4 => kernel.registers().ok_or(Code::NOT_SUPPORTED)? as c_int,
            5 => target as c_int,
            6 => (10 * major + minor) as c_int,
            7 => 0,
            MAX_DYNAMIC_SHARED => kernel.max_dynamic_shared(chip) as c_int,
            PREFERRED_CARVEOUT => -1,
            10..=15 => 0,
            _ => return Err(Code::INVALID_VALUE),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) -> Code {
    with_context(|driver| {
        let kernel = kernel(driver, function)?;
        match attribute {
            MAX_DYNAMIC_SHARED => {
                let bytes = u32::try_from(value).map_err(|_| Code::INVALID_VALUE)?;
                if kernel.opt_in_shared(driver.device.chip, bytes) {
                    Ok(())
                } else {
                    Err(Code::INVALID_VALUE)
                }
            }
            PREFERRED_CARVEOUT => Ok(()),
            _ => Err(Code::NOT_SUPPORTED),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncGetModule(module: Out<Handle>, function: Handle) -> Code {
    with_context(|driver| {
        module.set(driver.functions.get(&function).ok_or(Code::INVALID_HANDLE)?.0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<c_int>,
    function: Handle,
    threads: c_int,
    shared: usize,
) -> Code {
    with_context(|driver| {
        let threads = u32::try_from(threads).map_err(|_| Code::INVALID_VALUE)?;
        let shared = u32::try_from(shared).map_err(|_| Code::INVALID_VALUE)?;
        let kernel = kernel(driver, function)?;
        blocks.set(occupancy(driver.device.chip, kernel, threads, shared).blocks as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: Handle,
    blocks: c_int,
    _threads: c_int,
) -> Code {
    with_context(|driver| {
        let chip = driver.device.chip;
        let kernel = kernel(driver, function)?;
        let blocks =
            u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(Code::INVALID_VALUE)?;
        let each = (chip.shared_per_sm / blocks).saturating_sub(chip.shared_reserved) / 128 * 128;
        let free = each.saturating_sub(kernel.static_shared()).min(chip.shared_per_block_optin);
        bytes.set(free as usize)
    })
}

type SharedForBlock = Option<extern "C" fn(c_int) -> usize>;

fn best_block(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: Handle,
    shared_for: SharedForBlock,
    shared: usize,
    limit: c_int,
) -> Code {
    let mut found = None;
    let ready = with_context(|driver| {
        found = Some((driver.device.chip, kernel(driver, function)?.clone()));
        Ok(())
    });
    let Some((chip, kernel)) = found else { return ready };
    let limit = u32::try_from(limit).ok().filter(|limit| *limit > 0);
    let most = kernel.max_threads(chip).min(limit.unwrap_or(u32::MAX));
    let mut best = (0, 0, 0);
    for threads in (1..=most / 32).rev().map(|warps| 32 * warps) {
        // The program's function may call the driver, so no call may be under way here.
        let shared = shared_for.map_or(shared, |shared_for| shared_for(threads as c_int));
        let Ok(shared) = u32::try_from(shared) else { continue };
        let blocks = occupancy(chip, &kernel, threads, shared).blocks;
        if blocks * threads > best.0 {
            best = (blocks * threads, blocks, threads);
        }
    }
    with_context(|_| {
        grid.set((best.1 * chip.sm_count) as c_int)?;
        block.set(best.2 as c_int)
    })
}

/// The parameter buffer, from pointers to each parameter or as one piece.
fn gather(
    driver: &mut Driver,
    kernel: &Kernel,
    params: Params,
    extra: Extra,
) -> Result<Vec<u8>, Code> {
    let mut refuse = |why: &str| {
        let (name, count) = (kernel.name(), kernel.params().len());
        driver.note("invalid_argument", &format!("kernel '{name}' has {count} parameters, {why}"));
        Code::INVALID_VALUE
    };
    if let Some(pieces) = params.get(kernel.params().len()) {
        if !extra.is_null() {
            return Err(refuse("and the launch gives both 'kernelParams' and 'extra'; give one"));
        }
        let mut buffer = vec![0; kernel.param_bytes() as usize];
        for (&(offset, bytes), piece) in kernel.params().iter().zip(pieces) {
            buffer[offset as usize..(offset + bytes) as usize]
                .copy_from_slice(piece.bytes(bytes as usize)?);
        }
        return Ok(buffer);
    }
    match extra.buffer() {
        Some(buffer) => buffer.map(<[u8]>::to_vec),
        None if kernel.params().is_empty() => Ok(Vec::new()),
        None => Err(refuse("but the launch gives neither 'kernelParams' nor 'extra'")),
    }
}

/// Whether all blocks of a launch have to run together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Ordinary,
    Cooperative,
}

fn launch(
    function: Handle,
    (config, kind): (LaunchConfig, Kind),
    stream: Handle,
    params: Params,
    extra: Extra,
) -> Code {
    on_stream(stream, |driver, number| {
        let work = kernel_work(driver, function, (config, kind), params, extra)?;
        driver.submit((stream, number), work)
    })
}

/// A launch with the values that its arguments have now.
pub fn kernel_work(
    driver: &mut Driver,
    function: Handle,
    (config, kind): (LaunchConfig, Kind),
    params: Params,
    extra: Extra,
) -> Result<impl Fn(&mut Driver, u64) -> Result<(), Code> + Send + Sync + 'static, Code> {
    let kernel = kernel(driver, function)?.clone();
    let params = gather(driver, &kernel, params, extra)?;
    for word in params.as_chunks().0 {
        driver.managed.share(u64::from_le_bytes(*word), &mut driver.device.memory);
    }
    Ok(move |driver: &mut Driver, number| {
        let device = &mut driver.device;
        let outcome = match kind {
            Kind::Ordinary => device.launch(&kernel, config, &params, number).map(drop),
            Kind::Cooperative => {
                device.launch_cooperative(&kernel, config, &params, number).map(drop)
            }
        };
        driver.log_launches();
        outcome.or_else(|error| driver.refuse_launch(&kernel, config, error))
    })
}

/// `CU_LAUNCH_ATTRIBUTE_IGNORE` and `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
const IGNORE: u32 = 0;
const COOPERATIVE: u32 = 2;

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernelEx(
    config: Structure<RawLaunchConfig>,
    function: Handle,
    params: Params,
    extra: Extra,
) -> Code {
    let raw = match config.get() {
        Ok(raw) => raw,
        Err(code) => return code,
    };
    let mut kind = Kind::Ordinary;
    for attribute in raw.attributes() {
        match attribute.id {
            IGNORE => {}
            COOPERATIVE if attribute.value == 0 => kind = Kind::Ordinary,
            COOPERATIVE => kind = Kind::Cooperative,
            other => {
                return with_context(|driver| {
                    let text = format!("launch attribute {other} (clusters, …) is not supported");
                    driver.note("launch_config", &text);
                    Err(Code::NOT_SUPPORTED)
                });
            }
        }
    }
    let config = LaunchConfig { grid: raw.grid, block: raw.block, shared_bytes: raw.shared_bytes };
    launch(function, (config, kind), raw.stream, params, extra)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetName(name: Out<*const c_char>, function: Handle) -> Code {
    // A name that lives as long as the process: functions are few, and CUDA promises no less.
    with_context(|driver| {
        let text =
            std::ffi::CString::new(kernel(driver, function)?.name()).map_err(|_| Code::UNKNOWN)?;
        name.set(Box::leak(text.into_boxed_c_str()).as_ptr())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetParamInfo(
    function: Handle,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Code {
    with_context(|driver| {
        let params = kernel(driver, function)?.params();
        let &(at, bytes) = params.get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set(at as usize)?;
        size.set_if_wanted(bytes as usize);
        Ok(())
    })
}

exported! {
    fn cuFuncSetCacheConfig(function: Handle, _config: c_uint) =
        with_context(|driver| kernel(driver, function).map(drop));
    fn cuFuncLoad(function: Handle) = with_context(|driver| kernel(driver, function).map(drop));
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, function: Handle, threads: c_int, shared: usize, _flags: c_uint
    ) = cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>, block: Out<c_int>, function: Handle, shared_for: SharedForBlock,
        shared: usize, limit: c_int
    ) = best_block(grid, block, function, shared_for, shared, limit);
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>, block: Out<c_int>, function: Handle, shared_for: SharedForBlock,
        shared: usize, limit: c_int, _flags: c_uint
    ) = best_block(grid, block, function, shared_for, shared, limit);
    fn cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: Handle, params: Params,
        extra: Extra
    ) = {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let config = LaunchConfig { grid, block, shared_bytes };
        launch(function, (config, Kind::Ordinary), stream, params, extra)
    };
    fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: Handle, params: Params
    ) = {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let config = LaunchConfig { grid, block, shared_bytes };
        launch(function, (config, Kind::Cooperative), stream, params, Extra::NONE)
    };
}
