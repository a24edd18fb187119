//! The arguments of a kernel: for its launch, for its reference, and for its timed samples.
//!
//! Input: the annotation's values. Output: bytes for a launch, copies for the host, the buffers
//! that a launch reads and changes, and the deviation of its results from the reference's.

use std::any::Any;
use std::collections::BTreeMap;

use gpuprof_model::measurement::{InPlace, Reset, Verification};

use crate::host::arguments::buffer::Buffer;
use crate::host::arguments::checks::Checks;
use crate::host::arguments::global::Global;
use crate::host::arguments::input_hash::InputHash;
use crate::host::arguments::reference::{ComparisonResult, HostArguments};
use crate::host::error::Result;
use crate::host::session::Session;

/// An argument.
pub(crate) enum Argument {
    Scalar {
        bytes: Vec<u8>,
        host: Box<dyn Fn() -> Box<dyn Any>>,
    },
    Buffer {
        buffer: Box<dyn Buffer>,
        /// Of how many scalars an element is, if the kernel takes a slice: an address and a number
        /// of elements.
        sliced: Option<u64>,
    },
    /// A variable of the module: no parameter. It follows all that are.
    Global(Global),
}

impl Argument {
    /// The bytes of the entry point's parameters: of a scalar, of a device pointer, or of a pointer
    /// and a number of elements. A value without a size is not a parameter. The pointer to an empty
    /// buffer is null, so that no access to it can succeed; that of an empty slice must not be.
    pub(crate) fn parameters(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Scalar { bytes, .. } if bytes.is_empty() => Vec::new(),
            Self::Scalar { bytes, .. } => vec![bytes.clone()],
            Self::Global(_) => Vec::new(),
            Self::Buffer { buffer, sliced } => {
                let length = sliced.map(|lanes| buffer.length() / lanes);
                let null = length.is_none() && buffer.length() == 0;
                let pointer = if null { 0 } else { buffer.pointer() };
                let words = [pointer].into_iter().chain(length);
                words.map(|word| word.to_ne_bytes().to_vec()).collect()
            }
        }
    }

    /// How many parameters of the entry point it is.
    fn count(&self) -> usize {
        match self {
            Self::Global(_) => 0,
            Self::Scalar { bytes, .. } => usize::from(!bytes.is_empty()),
            Self::Buffer { sliced, .. } => 1 + usize::from(sliced.is_some()),
        }
    }

    /// The bytes of a buffer; 0 of anything else.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        match self {
            Self::Buffer { buffer, .. } => buffer.bytes(),
            Self::Scalar { .. } | Self::Global(_) => 0,
        }
    }

    /// Whether it is a variable of the device.
    pub(crate) fn is_global(&self) -> bool {
        matches!(self, Self::Global(_))
    }

    /// Fails if the kernel changed a read-only buffer.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        match self {
            Self::Scalar { .. } => Ok(()),
            Self::Buffer { buffer, .. } => buffer.check_unchanged(),
            Self::Global(global) => global.check_unchanged(),
        }
    }

    /// Restores the original contents of a buffer that the kernel writes.
    pub(crate) fn restore(&mut self) -> Result<()> {
        match self {
            Self::Scalar { .. } => Ok(()),
            Self::Buffer { buffer, .. } => buffer.restore(),
            Self::Global(global) => global.restore(),
        }
    }

    /// As [`Argument::restore`], if the buffer's content was kept for that.
    pub(crate) fn reset(&mut self) -> Result<()> {
        match self {
            Self::Scalar { .. } => Ok(()),
            Self::Buffer { buffer, .. } => buffer.reset(),
            Self::Global(global) => global.reset(),
        }
    }

    /// Whether it is a buffer that the kernel writes.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self, Self::Buffer { buffer, .. } if buffer.is_written())
    }

    /// Whether it is a buffer of `in_place` that is restored before each launch.
    pub(crate) fn is_in(&self, in_place: &InPlace) -> bool {
        let name = match self {
            Self::Scalar { .. } => return false,
            Self::Buffer { buffer, .. } => buffer.name(),
            Self::Global(global) => global.name,
        };
        in_place.reset == Reset::Each && in_place.buffers.iter().any(|other| other == name)
    }

    /// Adds its value, or its contents before the launch, to `hash`.
    fn hash(&self, hash: &mut InputHash) {
        match self {
            Self::Scalar { bytes, .. } => hash.add(bytes),
            Self::Buffer { buffer, .. } => buffer.hash(hash),
            Self::Global(global) => hash.add(&global.bytes),
        }
    }

    /// The argument as the reference takes it.
    pub(crate) fn host(&self) -> Box<dyn Any> {
        match self {
            Self::Scalar { host, .. } => host(),
            Self::Buffer { buffer, .. } => buffer.initial(),
            // No reference takes it.
            Self::Global(_) => Box::new(()),
        }
    }
}

/// A hash of all `arguments` before the launch.
pub(crate) fn hash(arguments: &[Argument]) -> u32 {
    let mut hash = InputHash::default();
    arguments.iter().for_each(|argument| argument.hash(&mut hash));
    hash.value()
}

/// The buffers that the kernel reads and changes, and their state at timed samples: as `asked`, or
/// else by the reads of the kernel (`reads`), for each parameter.
pub(crate) fn in_place(
    arguments: &[Argument],
    asked: Option<Reset>,
    reads: impl FnOnce() -> Option<Vec<bool>>,
) -> Option<InPlace> {
    let reset = asked.unwrap_or(Reset::Each);
    let read = if asked == Some(Reset::Each) { None } else { reads() };
    let is_read = |at| read.as_ref().and_then(|read| read.get(at)).is_none_or(|read| *read);
    let mut buffers = Vec::new();
    let mut next = 0;
    for argument in arguments {
        let at = next;
        next += argument.count();
        match argument {
            Argument::Buffer { buffer, .. } if buffer.is_written() && is_read(at) => {
                buffers.push(buffer.name().to_owned());
            }
            Argument::Global(global) if global.written => buffers.push(global.name.to_owned()),
            _ => {}
        }
    }
    (!buffers.is_empty()).then_some(InPlace { reset, buffers })
}

/// Keeps the current contents of those of `in_place`, if they are to be restored.
///
/// # Errors
/// The driver's.
pub(crate) fn keep(
    arguments: &mut [Argument],
    session: &Session,
    in_place: &InPlace,
) -> Result<()> {
    for argument in arguments.iter_mut().filter(|argument| argument.is_in(in_place)) {
        match argument {
            Argument::Scalar { .. } => {}
            Argument::Global(global) => global.kept = true,
            Argument::Buffer { buffer, .. } => session.quiet.stage(|| {
                buffer.keep()?;
                // The copy continues after the call.
                Ok(session.stream.synchronize()?)
            })?,
        }
    }
    Ok(())
}

/// Compares every output with the reference of `checks` for the initial arguments, and restores the
/// buffers to these. The result, and what was compared.
///
/// # Errors
/// The difference.
pub(crate) fn check(
    arguments: &mut [Argument],
    checks: &mut Checks<'_>,
) -> Result<(ComparisonResult, Verification)> {
    let mut host = HostArguments::new(arguments.iter().map(Argument::host).collect());
    if let Some(reference) = &mut checks.reference {
        reference(&mut host);
    }
    let mut all = ComparisonResult::default();
    let mut buffers = BTreeMap::new();
    for (position, argument) in arguments.iter_mut().enumerate() {
        if let Argument::Buffer { buffer, .. } = argument {
            let one = buffer.compare(&mut host, position, checks.way(buffer.name()))?;
            if one.elements > 0 {
                buffers.insert(buffer.name().to_owned(), one.elements as u64);
            }
            all = all.and(one);
        }
        argument.restore()?;
    }
    Ok((all, Verification { buffers, ..all.verification() }))
}
