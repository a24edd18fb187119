//! Device buffers of a kernel's arguments, whatever their element type.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError};

use crate::host::arguments::arena::{Arena, ArenaBuffer};
use crate::host::arguments::checks::Way;
use crate::host::arguments::elements::Element;
use crate::host::arguments::input_hash::InputHash;
use crate::host::arguments::reference::{
    ComparisonResult, HostArguments, Sides, compare, compare_by, unchanged,
};
use crate::host::arguments::tolerance::Tolerance;
use crate::host::collect::emulator;
use crate::host::error::{Error, Result};

/// A buffer on the device that knows its contents before the first launch.
pub(crate) trait Buffer {
    /// The kernel's name for it.
    fn name(&self) -> &'static str;

    /// Whether the kernel writes it.
    fn is_written(&self) -> bool;

    /// Its device address.
    fn pointer(&self) -> u64;

    /// How many bytes it has.
    fn bytes(&self) -> u64;

    /// How many scalars it has.
    fn length(&self) -> u64;

    /// A copy of its initial elements, a `Vec` of its element type.
    fn initial(&self) -> Box<dyn Any>;

    /// Adds its initial elements to `hash`.
    fn hash(&self, hash: &mut InputHash);

    /// Compares it with the reference's buffer at `position`, if the kernel writes it.
    fn compare(
        &self,
        host: &mut HostArguments,
        position: usize,
        way: Way<'_>,
    ) -> Result<ComparisonResult>;

    /// Fails where the kernel takes it to read only and did not leave it as it was.
    fn check_unchanged(&self) -> Result<()>;

    /// Puts its initial elements back, if the kernel or another configuration writes there.
    fn restore(&mut self) -> Result<()>;

    /// Lets it lie in `arena` from `start` on.
    fn place(&mut self, arena: &Rc<Arena>, start: u64);

    /// Keeps its initial elements available for [`Buffer::reset`]: on the device, of which it has
    /// them now, or on the host where the device has no room.
    fn keep(&mut self) -> Result<()>;

    /// Queues the restoring of the elements that [`Buffer::keep`] kept; nothing without such a
    /// call.
    fn reset(&mut self) -> Result<()>;
}

/// The source for restoring a buffer.
enum InitialContents<T> {
    Nothing,
    OnDevice(CudaSlice<T>),
    OnHost,
}

/// A [`Buffer`] of `T`.
pub(crate) struct TypedBuffer<T> {
    name: &'static str,
    initial: Vec<T>,
    place: DeviceMemory<T>,
    kept: InitialContents<T>,
    written: bool,
    stream: Arc<CudaStream>,
}

enum DeviceMemory<T> {
    /// In separate memory.
    Own(CudaSlice<T>),
    /// In memory that other configurations use as well.
    Arena(ArenaBuffer<T>),
    /// Nowhere yet.
    None,
}

impl<T> DeviceMemory<T> {
    fn device(&self) -> Option<&CudaSlice<T>> {
        match self {
            Self::Own(device) => Some(device),
            Self::Arena(placed) => Some(&placed.device),
            Self::None => None,
        }
    }
}

impl<T: Element> TypedBuffer<T> {
    /// Knows `initial`, and lies nowhere until it is placed.
    pub(crate) fn unplaced(
        name: &'static str,
        initial: Vec<T>,
        written: bool,
        stream: &Arc<CudaStream>,
    ) -> Self {
        Self {
            name,
            initial,
            place: DeviceMemory::None,
            kept: InitialContents::Nothing,
            written,
            stream: stream.clone(),
        }
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
        emulator::label_argument(device.device_ptr(stream).0, name, !written);
        Ok(Self {
            name,
            initial,
            place: DeviceMemory::Own(device),
            kept: InitialContents::Nothing,
            written,
            stream: stream.clone(),
        })
    }
}

impl<T: Element> Buffer for TypedBuffer<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_written(&self) -> bool {
        self.written
    }

    fn pointer(&self) -> u64 {
        self.place.device().map_or(0, |device| device.device_ptr(&self.stream).0)
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.initial) as u64
    }

    fn length(&self) -> u64 {
        self.initial.len() as u64
    }

    fn initial(&self) -> Box<dyn Any> {
        Box::new(self.initial.clone())
    }

    fn hash(&self, hash: &mut InputHash) {
        let (start, length) = (self.initial.as_ptr().cast(), size_of_val(&*self.initial));
        // SAFETY: the elements are numbers without padding, so all of their bytes are initialised.
        hash.add(unsafe { std::slice::from_raw_parts(start, length) });
    }

    fn compare(
        &self,
        host: &mut HostArguments,
        position: usize,
        way: Way<'_>,
    ) -> Result<ComparisonResult> {
        if !self.written || self.initial.is_empty() {
            return Ok(ComparisonResult::default());
        }
        let device = self.place.device().ok_or_else(|| not_placed(self.name))?;
        let device = self.stream.clone_dtoh(device)?;
        let expected = host.lanes::<T>(position);
        if expected.len() != device.len() {
            return Err(Error::failed(format!(
                "verify changed the length of `{}` from {} to {}",
                self.name,
                device.len(),
                expected.len()
            )));
        }
        let sides = Sides { initial: &self.initial, device: &device, host: &expected };
        match way {
            Way::Within(Some(tolerance)) => compare(self.name, sides, tolerance),
            Way::Within(None) => compare(self.name, sides, Tolerance::new(T::TOLERANCE)?),
            Way::By(by) => compare_by(self.name, sides, by),
        }
    }

    fn check_unchanged(&self) -> Result<()> {
        if self.written || self.initial.is_empty() {
            return Ok(());
        }
        let device = self.place.device().ok_or_else(|| not_placed(self.name))?;
        unchanged(self.name, &self.initial, &self.stream.clone_dtoh(device)?)
    }

    fn restore(&mut self) -> Result<()> {
        if self.initial.is_empty() {
            return Ok(());
        }
        match &mut self.place {
            DeviceMemory::Own(device) if self.written => {
                self.stream.memcpy_htod(&self.initial, device)?
            }
            DeviceMemory::Own(_) => {}
            DeviceMemory::Arena(placed) => {
                self.stream.memcpy_htod(&self.initial, &mut *placed.device)?;
            }
            DeviceMemory::None => return Err(not_placed(self.name)),
        }
        Ok(())
    }

    fn place(&mut self, arena: &Rc<Arena>, start: u64) {
        // An empty buffer still needs an address.
        self.place = DeviceMemory::Arena(arena.place(start, self.initial.len().max(1)));
    }

    fn keep(&mut self) -> Result<()> {
        let DeviceMemory::Own(device) = &self.place else { return Err(not_placed(self.name)) };
        self.kept = match self.stream.clone_dtod(device) {
            Ok(kept) => InitialContents::OnDevice(kept),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => InitialContents::OnHost,
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        match (&self.kept, &mut self.place) {
            (InitialContents::Nothing, _) => Ok(()),
            (InitialContents::OnDevice(kept), DeviceMemory::Own(device)) => {
                Ok(self.stream.memcpy_dtod(kept, device)?)
            }
            _ => self.restore(),
        }
    }
}

fn not_placed(name: &str) -> Error {
    Error::failed(format!("`{name}` has no memory on the device yet"))
}
