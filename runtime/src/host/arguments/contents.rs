//! The initial contents of a kernel's buffer: from a generator, or from a function of the user.
//!
//! Input: the value of an argument's expression. Output: the scalars of the buffer, and the file
//! that they came from.

use gpuprof_model::measurement::InputFile;
use sha2::{Digest, Sha256};

use crate::host::arguments::buffer_element::BufferElement;
use crate::host::arguments::generator::{FileContents, FillTarget, Generator};
use crate::host::error::{Error, Result};
use crate::host::values::number::{Number, Scalar};

/// The contents of a buffer.
#[derive(Debug)]
pub struct BufferContents<E> {
    pub(crate) elements: Vec<E>,
    pub(crate) file: Option<InputFile>,
}

/// Sources of the contents of a buffer of `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot fill a buffer of `{T}`",
    label = "no generator, and no `Vec<{T}>`",
    note = "a buffer takes a generator, such as random(n), or what a function of yours returns: a \
            Vec<{T}>, or a Result of one"
)]
pub trait Contents<T: BufferElement> {
    /// The elements of `T`, in order; random ones from `seed`.
    #[doc(hidden)]
    fn fill(self, place: &FillTarget<'_>, seed: u64) -> Result<BufferContents<T::Lane>>;
}

impl<T: BufferElement> Contents<T> for Generator {
    fn fill(self, place: &FillTarget<'_>, seed: u64) -> Result<BufferContents<T::Lane>> {
        let length = length::<T>(self.length, place)?;
        let (elements, read) = self.elements(length, seed, place)?;
        Ok(BufferContents { elements, file: read.map(|read| input_file(&read, place)) })
    }
}

impl<T: BufferElement> Contents<T> for Vec<T> {
    fn fill(self, _: &FillTarget<'_>, _: u64) -> Result<BufferContents<T::Lane>> {
        Ok(BufferContents { elements: T::scatter(self), file: None })
    }
}

impl<T: BufferElement, const N: usize> Contents<T> for [T; N] {
    fn fill(self, _: &FillTarget<'_>, _: u64) -> Result<BufferContents<T::Lane>> {
        Ok(BufferContents { elements: T::scatter(self.into()), file: None })
    }
}

impl<T: BufferElement, E: Into<Error>> Contents<T> for std::result::Result<Vec<T>, E> {
    fn fill(self, place: &FillTarget<'_>, seed: u64) -> Result<BufferContents<T::Lane>> {
        let held = self.map_err(|error| {
            let error: Error = error.into();
            let reason = format!("making `{}`: {error}", place.name);
            error.in_words(reason)
        })?;
        held.fill(place, seed)
    }
}

/// The number of scalars of a buffer of `elements` of `T`.
fn length<T: BufferElement>(
    elements: Number,
    FillTarget { name, .. }: &FillTarget<'_>,
) -> Result<usize> {
    let length = match elements {
        Number::Int(value) => usize::try_from(value).ok(),
        Number::Float(_) => None,
    };
    let length = length
        .and_then(|length| length.checked_mul(T::LANES))
        .ok_or_else(|| Error::invalid(format!("`{name}` cannot have {elements} elements")))?;
    // A failed allocation of a vector ends the process, without naming its purpose.
    if Vec::<T::Lane>::new().try_reserve_exact(length).is_err() {
        let bytes = length as u128 * size_of::<T::Lane>() as u128;
        return Err(Error::failed(format!(
            "allocating `{name}` ({length} elements of {}): this machine has no {bytes} bytes of memory",
            T::Lane::NAME
        )));
    }
    Ok(length)
}

/// What is recorded of a file that was read.
fn input_file(FileContents { path, bytes }: &FileContents, place: &FillTarget<'_>) -> InputFile {
    let path = match path.is_absolute() {
        true => path.display().to_string(),
        false => format!("{}/{}", place.package, path.display()),
    };
    let digest = Sha256::digest(bytes);
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    InputFile { path, sha256 }
}
