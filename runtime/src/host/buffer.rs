//! Device buffers of a kernel's arguments, whatever their element type.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError};

use super::arena::{Arena, Placed};
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

    /// Puts its initial elements back, if the kernel or another configuration writes there.
    fn restore(&mut self) -> Result<()>;

    /// Lets it lie in `arena` from `start` on.
    fn place(&mut self, arena: &Rc<Arena>, start: u64);
}

/// A [`Buffer`] of `T`.
pub(crate) struct TypedBuffer<T> {
    name: &'static str,
    initial: Vec<T>,
    place: Place<T>,
    written: bool,
    stream: Arc<CudaStream>,
}

enum Place<T> {
    /// In memory of its own.
    Own(CudaSlice<T>),
    /// In memory that other configurations use as well.
    Arena(Placed<T>),
    /// Nowhere yet.
    None,
}

impl<T: Element> TypedBuffer<T> {
    /// Knows `initial`, and lies nowhere until it is placed.
    pub(crate) fn unplaced(
        name: &'static str,
        initial: Vec<T>,
        written: bool,
        stream: &Arc<CudaStream>,
    ) -> Self {
        Self { name, initial, place: Place::None, written, stream: stream.clone() }
    }

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
        Ok(Self { name, initial, place: Place::Own(device), written, stream: stream.clone() })
    }
}

impl<T: Element> Buffer for TypedBuffer<T> {
    fn pointer(&self) -> u64 {
        match &self.place {
            Place::Own(device) => device.device_ptr(&self.stream).0,
            Place::Arena(placed) => placed.device.device_ptr(&self.stream).0,
            Place::None => 0,
        }
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
        let device = match &self.place {
            Place::Own(device) => self.stream.clone_dtoh(device)?,
            Place::Arena(placed) => self.stream.clone_dtoh(&*placed.device)?,
            Place::None => return Err(not_placed(self.name)),
        };
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
        if self.initial.is_empty() {
            return Ok(());
        }
        match &mut self.place {
            Place::Own(device) if self.written => self.stream.memcpy_htod(&self.initial, device)?,
            Place::Own(_) => {}
            Place::Arena(placed) => {
                self.stream.memcpy_htod(&self.initial, &mut *placed.device)?;
            }
            Place::None => return Err(not_placed(self.name)),
        }
        Ok(())
    }

    fn place(&mut self, arena: &Rc<Arena>, start: u64) {
        // An empty buffer still needs an address.
        self.place = Place::Arena(arena.place(start, self.initial.len().max(1)));
    }
}

fn not_placed(name: &str) -> Error {
    Error::failed(format!("`{name}` has no memory on the device yet"))
}
