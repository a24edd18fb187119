//! Memory that graphs allocate and free.
//!
//! A node that allocates has an address from the start, as on a GPU, so that later nodes can have
//! it as an argument. Memory is there only from the node's work until it is freed: by the graph, by
//! another one, or by the program.

use super::code::Code;
use super::state::{Driver, Work};
use std::sync::Arc;

/// The work that allocates `bytes`, and its address.
pub fn allocation(driver: &mut Driver, bytes: usize) -> Result<(Work, u64), Code> {
    if bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let address = driver.device.memory.reserve(bytes as u64).ok_or(Code::OUT_OF_MEMORY)?;
    driver.graphs.memory.insert(address, bytes);
    Ok((Work::Allocate { address, bytes: bytes as u64 }, address))
}

/// The work that frees the allocation of a graph at `address`.
pub fn release(driver: &mut Driver, address: u64) -> Result<Work, Code> {
    if !driver.graphs.memory.contains_key(&address) {
        let why = format!(
            "a graph frees memory at {address:#x} that no graph allocates: free it without the graph"
        );
        driver.note("invalid_argument", &why);
        return Err(Code::INVALID_VALUE);
    }
    Ok(Work::Device(Arc::new(move |driver, _| {
        driver.device.memory.free(address).map_err(|_| {
            let why = format!("a graph frees memory at {address:#x} that is not allocated");
            driver.note("invalid_argument", &why);
            Code::INVALID_VALUE
        })
    })))
}
