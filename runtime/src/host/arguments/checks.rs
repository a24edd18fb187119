//! The checks that `verify`, `tolerance` and `compare` of an annotation request.
//!
//! Input: the host's reference, and how its output is compared with the kernel's, for all buffers
//! or for one by its name. Output: the comparison of each buffer.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use crate::host::arguments::buffer_element::BufferElement;
use crate::host::arguments::reference::{Comparer, HostArguments};
use crate::host::arguments::tolerance::{IntoTolerance, Tolerance};
use crate::host::error::{Error, Result};

/// Computes the expected outputs in the arguments.
type Reference<'a> = dyn FnMut(&mut HostArguments) + 'a;

/// The checks of one kernel. They may use the variables of the annotation's expressions.
#[derive(Default)]
pub struct Checks<'a> {
    pub(crate) reference: Option<Box<Reference<'a>>>,
    tolerance: Option<Tolerance>,
    tolerances: BTreeMap<&'static str, Tolerance>,
    comparers: BTreeMap<&'static str, Box<Comparer<'a>>>,
}

impl fmt::Debug for Checks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks")
            .field("verifies", &self.reference.is_some())
            .field("tolerance", &self.tolerance)
            .field("tolerances", &self.tolerances)
            .field("comparers", &self.comparers.keys())
            .finish()
    }
}

/// How one buffer is compared.
#[derive(Clone, Copy)]
pub(crate) enum Way<'c> {
    /// Within a tolerance, or within that of its type.
    Within(Option<Tolerance>),
    /// By a function of the user.
    By(&'c Comparer<'c>),
}

impl<'a> Checks<'a> {
    /// No checks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the host's reference implementation.
    pub fn verify(&mut self, reference: impl FnMut(&mut HostArguments) + 'a) {
        self.reference = Some(Box::new(reference));
    }

    /// Sets the tolerance of every buffer without a separate one.
    ///
    /// # Errors
    /// A part that is negative, infinite or not a number.
    pub fn tolerance(&mut self, tolerance: impl IntoTolerance) -> Result<()> {
        self.tolerance = Some(Tolerance::new(tolerance)?);
        Ok(())
    }

    /// Sets the tolerance of `buffer`.
    ///
    /// # Errors
    /// As of [`Self::tolerance`].
    pub fn tolerance_of(
        &mut self,
        buffer: &'static str,
        tolerance: impl IntoTolerance,
    ) -> Result<()> {
        self.tolerances.insert(buffer, Tolerance::new(tolerance)?);
        Ok(())
    }

    /// Lets `compare` decide whether the kernel's output in `buffer` agrees with the host's.
    pub fn compare<T: BufferElement, E: Into<Error>>(
        &mut self,
        buffer: &'static str,
        compare: impl Fn(&[T], &[T]) -> std::result::Result<(), E> + 'a,
    ) {
        let erased = move |device: &dyn Any, host: &dyn Any| {
            let held = |lanes: &dyn Any| {
                let lanes: &Vec<T::Lane> =
                    lanes.downcast_ref().expect("the attribute knows its parameter types");
                T::gather(lanes.clone())
            };
            compare(&held(device), &held(host)).map_err(Into::into)
        };
        self.comparers.insert(buffer, Box::new(erased));
    }

    /// How `buffer` is compared.
    pub(crate) fn way(&self, buffer: &str) -> Way<'_> {
        match self.comparers.get(buffer) {
            Some(compare) => Way::By(&**compare),
            None => Way::Within(self.tolerances.get(buffer).copied().or(self.tolerance)),
        }
    }
}
