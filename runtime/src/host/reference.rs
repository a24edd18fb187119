//! The host's side of `verify`: arguments as the reference implementation takes them.

use std::any::Any;

use super::arguments::Element;
use super::error::{Error, Result};
use super::number::Scalar;

/// A kernel's arguments on the host, by position.
pub struct HostArguments {
    slots: Vec<Box<dyn Any>>,
}

impl HostArguments {
    pub(crate) fn new(slots: Vec<Box<dyn Any>>) -> Self {
        Self { slots }
    }

    /// The scalar at `position`.
    ///
    /// # Panics
    /// Where there is none of this type; the attribute's expansion never asks for one.
    pub fn scalar<T: Scalar>(&self, position: usize) -> T {
        *self.slots[position].downcast_ref().expect("the attribute knows its parameter types")
    }

    /// Takes the buffer at `position`.
    ///
    /// # Panics
    /// Where there is none of this type; the attribute's expansion never asks for one.
    pub fn take<T: Element>(&mut self, position: usize) -> Vec<T> {
        let slot: &mut Vec<T> =
            self.slots[position].downcast_mut().expect("the attribute knows its parameter types");
        std::mem::take(slot)
    }

    /// Puts the buffer at `position` back.
    pub fn put<T: Element>(&mut self, position: usize, buffer: Vec<T>) {
        self.slots[position] = Box::new(buffer);
    }
}

/// Compares an output with the reference.
///
/// # Errors
/// How many elements differ and the first of them with both values.
pub(crate) fn compare<T: Element>(
    name: &str,
    device: &[T],
    host: &[T],
    tolerance: f64,
) -> Result<()> {
    let differing = |(d, h): (&T, &T)| !d.agrees(*h, tolerance);
    let count = device.iter().zip(host).filter(|&pair| differing(pair)).count();
    let Some(first) = device.iter().zip(host).position(differing) else { return Ok(()) };
    let within =
        if T::TOLERANCE > 0.0 { format!(" (tolerance {tolerance:e})") } else { String::new() };
    Err(Error::failed(format!(
        "verify failed: `{name}` differs from the host in {count} of {} elements; first {name}[{first}]: \
         device {:?}, host {:?}{within}",
        host.len(),
        device[first],
        host[first],
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_both_values() {
        let error = compare("y", &[1.0_f32, 2.0, 5.0], &[1.0, 2.5, 5.5], 1e-5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "verify failed: `y` differs from the host in 2 of 3 elements; first y[1]: device 2.0, host 2.5 \
             (tolerance 1e-5)"
        );
        assert!(!error.is_refusal());
        assert!(compare("y", &[1_u32], &[1], 0.0).is_ok());
    }
}
