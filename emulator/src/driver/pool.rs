//! Memory pools. The emulator frees memory at once, so a pool is only its settings.

use super::code::Code;
use super::current::{on_stream, with_context};
use super::exported::exported;
use super::pointers::{Handle, Out, Source, Target};
use super::state::Driver;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint};

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`; the three attributes before it are flags of four bytes.
const RELEASE_THRESHOLD: c_int = 4;

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const READ_AND_WRITE: c_uint = 3;

fn default_pool(driver: &mut Driver) -> Handle {
    if let Some(pool) = driver.pools.default {
        return pool;
    }
    let pool = driver.handle();
    driver.pools.all.insert(pool, HashMap::new());
    driver.pools.default = Some(pool);
    pool
}

fn settings(driver: &mut Driver, pool: Handle) -> Result<&mut HashMap<c_int, u64>, Code> {
    driver.pools.all.get_mut(&pool).ok_or(Code::INVALID_VALUE)
}

/// The bytes of an attribute's value. How much a pool reserves and uses is not known.
fn value_bytes(attribute: c_int) -> Result<usize, Code> {
    match attribute {
        1..=3 => Ok(4),
        RELEASE_THRESHOLD => Ok(8),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetMemPool(pool: Out<Handle>, _device: c_int) -> Code {
    with_context(|driver| {
        let default = default_pool(driver);
        pool.set(driver.pools.chosen.unwrap_or(default))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceSetMemPool(_device: c_int, pool: Handle) -> Code {
    with_context(|driver| {
        settings(driver, pool)?;
        driver.pools.chosen = Some(pool);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolCreate(pool: Out<Handle>, _properties: Source) -> Code {
    with_context(|driver| {
        let handle = driver.handle();
        driver.pools.all.insert(handle, HashMap::new());
        pool.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolDestroy(pool: Handle) -> Code {
    with_context(|driver| {
        settings(driver, pool)?;
        let pools = &mut driver.pools;
        if pools.default == Some(pool) {
            return Err(Code::INVALID_VALUE);
        }
        pools.chosen = pools.chosen.filter(|chosen| *chosen != pool);
        pools.all.remove(&pool);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Source) -> Code {
    with_context(|driver| {
        let mut bytes = [0; 8];
        let size = value_bytes(attribute)?;
        bytes[..size].copy_from_slice(value.bytes(size)?);
        settings(driver, pool)?.insert(attribute, u64::from_le_bytes(bytes));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Target) -> Code {
    with_context(|driver| {
        let size = value_bytes(attribute)?;
        let default = u64::from(attribute != RELEASE_THRESHOLD);
        let bits = settings(driver, pool)?.get(&attribute).copied().unwrap_or(default);
        value.bytes(size)?.copy_from_slice(&bits.to_le_bytes()[..size]);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolGetAccess(flags: Out<c_uint>, pool: Handle, _location: Source) -> Code {
    with_context(|driver| {
        settings(driver, pool)?;
        flags.set(READ_AND_WRITE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocFromPoolAsync(
    address: Out<u64>,
    bytes: usize,
    pool: Handle,
    stream: Handle,
) -> Code {
    let known = on_stream(stream, |driver, _| settings(driver, pool).map(drop));
    if known != Code::SUCCESS {
        return known;
    }
    super::memory::cuMemAllocAsync(address, bytes, stream)
}

exported! {
    fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, _device: c_int) =
        with_context(|driver| pool.set(default_pool(driver)));
    fn cuMemPoolTrimTo(pool: Handle, _bytes: usize) =
        with_context(|driver| settings(driver, pool).map(drop));
    fn cuMemPoolSetAccess(pool: Handle, _descriptions: Source, _count: usize) =
        with_context(|driver| settings(driver, pool).map(drop));
}
