//! Managed memory, which the host and the device have at one address.

use super::code::Code;
use super::current::{on_stream, with_context, with_healthy};
use super::exported::exported;
use super::pointers::{Handle, Out, Source};
use super::state::Driver;
use crate::machine::Holds;
use std::ffi::{c_int, c_uint};

impl Driver {
    /// Allocates memory that the host shares.
    pub fn share(&mut self, bytes: usize) -> Result<u64, Code> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let holds = Holds::Unknown;
        let base =
            self.device.memory.allocate_for(bytes as u64, holds).ok_or(Code::OUT_OF_MEMORY)?;
        if self.managed.add(base, bytes, &self.device.memory) {
            return Ok(base);
        }
        // It was just allocated.
        let _ = self.device.memory.free(base);
        Err(Code::OUT_OF_MEMORY)
    }

    /// Frees memory that the host shares.
    pub fn unshare(&mut self, address: u64) -> Result<(), Code> {
        match self.managed.remove(address) {
            None => Err(Code::INVALID_VALUE),
            Some(false) => Ok(()),
            Some(true) => self.device.memory.free(address).map_err(|_| Code::INVALID_VALUE),
        }
    }
}

/// Where memory is does not matter here, so advice changes nothing.
fn advise(address: u64) -> Code {
    with_context(|driver| {
        let is_known = driver.device.memory.find(address).is_some();
        if is_known { Ok(()) } else { Err(Code::INVALID_VALUE) }
    })
}

exported! {
    fn cuMemAllocManaged(address: Out<u64>, bytes: usize, _flags: c_uint) =
        with_healthy(|driver| address.set(driver.share(bytes)?));
    fn cuMemAdvise(address: u64, _bytes: usize, _advice: c_uint, _device: c_int) = advise(address);
    /// The place is a `CUmemLocation`, which is passed in a register.
    fn cuMemAdvise_v2(address: u64, _bytes: usize, _advice: c_uint, _place: u64) = advise(address);
    fn cuMemPrefetchAsync(address: u64, _bytes: usize, _device: c_int, _stream: Handle) =
        advise(address);
    fn cuMemPrefetchAsync_v2(
        address: u64, _bytes: usize, _place: u64, _flags: c_uint, _stream: Handle
    ) = advise(address);
    fn cuStreamAttachMemAsync(stream: Handle, _address: Source, _bytes: usize, _flags: c_uint) =
        on_stream(stream, |_, _| Ok(()));
}
