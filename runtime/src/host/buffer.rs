//! Device buffers of a kernel's arguments, whatever their element type.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError};

use super::arguments::Element;
use super::error::{Error, Result};
use super::reference::{HostArguments, compare};

/// A buffer on the device that knows what it held before the first launch.
pub(crate) trait Buffer {
    /// Its device address.
    fn pointer(&self) -> u64;

    /// How many bytes it has.
    fn bytes(&self) -> u64;

    /// A copy of its initial elements, a `Vec` of its element type.
    fn initial(&self) -> Box<dyn Any>;

    /// Compares it with the reference's buffer at `position`, if the kernel writes it.
    fn compare(
        &self,
        host: &mut HostArguments,
        position: usize,
        tolerance: Option<f64>,
    ) -> Result<()>;

    /// Puts its initial elements back, if the kernel writes it.
    fn restore(&mut self) -> Result<()>;
}

/// A [`Buffer`] of `T`.
pub(crate) struct TypedBuffer<T> {
    name: &'static str,
    initial: Vec<T>,
    device: CudaSlice<T>,
    written: bool,
    stream: Arc<CudaStream>,
}

impl<T: Element> TypedBuffer<T> {
    /// Copies `initial` to the device.
    pub(crate) fn upload(
        name: &'static str,
        initial: Vec<T>,
        written: bool,
        stream: &Arc<CudaStream>,
    ) -> std::result::Result<Self, DriverError> {
        // The driver refuses an allocation of no bytes, and an empty buffer still needs an address.
        let device = if initial.is_empty() {
            stream.clone_htod(&[T::from_index(0)])?
        } else {
            stream.clone_htod(&initial)?
        };
        Ok(Self { name, initial, device, written, stream: stream.clone() })
    }
}

impl<T: Element> Buffer for TypedBuffer<T> {
    fn pointer(&self) -> u64 {
        self.device.device_ptr(&self.stream).0
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.initial) as u64
    }

    fn initial(&self) -> Box<dyn Any> {
        Box::new(self.initial.clone())
    }

    fn compare(
        &self,
        host: &mut HostArguments,
        position: usize,
        tolerance: Option<f64>,
    ) -> Result<()> {
        if !self.written || self.initial.is_empty() {
            return Ok(());
        }
        let device = self.stream.clone_dtoh(&self.device)?;
        let expected = host.take::<T>(position);
        if expected.len() != device.len() {
            return Err(Error::failed(format!(
                "verify changed the length of `{}` from {} to {}",
                self.name,
                device.len(),
                expected.len()
            )));
        }
        compare(self.name, &device, &expected, tolerance.unwrap_or(T::TOLERANCE))
    }

    fn restore(&mut self) -> Result<()> {
        if self.written && !self.initial.is_empty() {
            self.stream.memcpy_htod(&self.initial, &mut self.device)?;
        }
        Ok(())
    }
}
