//! The host's side of `verify`: the arguments of the reference implementation, and the comparison
//! of its output with the kernel's.

use std::any::Any;

use gpuprof_model::measurement::{Unverified, Verification};

use crate::host::arguments::buffer_element::BufferElement;
use crate::host::arguments::elements::Element;
use crate::host::arguments::tolerance::{Margin, Tolerance};
use crate::host::error::{Error, Result};
use crate::host::values::parameter::Parameter;

/// Compares the scalars of two buffers, `Vec`s of their element type: the device's and the host's.
pub(crate) type Comparer<'a> = dyn Fn(&dyn Any, &dyn Any) -> Result<()> + 'a;

/// A kernel's arguments on the host, by position.
pub struct HostArguments {
    slots: Vec<Box<dyn Any>>,
}

impl HostArguments {
    pub(crate) fn new(slots: Vec<Box<dyn Any>>) -> Self {
        Self { slots }
    }

    /// What is passed by value at `position`.
    ///
    /// # Panics
    /// If there is none of this type; the attribute's expansion never asks for one.
    pub fn scalar<T: Parameter>(&self, position: usize) -> T {
        *self.slots[position].downcast_ref().expect("the attribute knows its parameter types")
    }

    /// Takes the buffer at `position`.
    ///
    /// # Panics
    /// If there is none of this type; the attribute's expansion never asks for one.
    pub fn take<T: BufferElement>(&mut self, position: usize) -> Vec<T> {
        T::gather(self.lanes(position))
    }

    /// Takes the scalars of the buffer at `position`.
    pub(crate) fn lanes<T: Element>(&mut self, position: usize) -> Vec<T> {
        let slot: &mut Vec<T> =
            self.slots[position].downcast_mut().expect("the attribute knows its parameter types");
        std::mem::take(slot)
    }

    /// Puts the buffer at `position` back.
    pub fn put<T: BufferElement>(&mut self, position: usize, buffer: Vec<T>) {
        self.slots[position] = Box::new(T::scatter(buffer));
    }
}

/// One buffer, as three sides have it.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'a, T> {
    /// Before the launch.
    pub(crate) initial: &'a [T],
    /// The kernel's output.
    pub(crate) device: &'a [T],
    /// The reference's output.
    pub(crate) host: &'a [T],
}

/// The result of a comparison without a difference.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ComparisonResult {
    /// The largest error, in units of the tolerance; none if a function compared.
    pub(crate) largest: Option<f64>,
    /// How many elements were compared.
    pub(crate) elements: usize,
    /// How many of them a function compared.
    pub(crate) by_function: usize,
    /// The largest error that a tolerance accepts, as a share of a buffer's typical value.
    pub(crate) tolerance: f64,
    /// Whether the reference changes anything.
    pub(crate) changes: bool,
    /// Whether the contents of the buffers before the launch would have failed, or are the expected
    /// ones.
    pub(crate) telling: bool,
    /// Whether half of at least one expected value would have failed; also if no value has a half.
    pub(crate) sharp: bool,
    /// How many elements are not numbers (NaN) on both sides.
    pub(crate) nans: usize,
}

impl ComparisonResult {
    /// This result combined with that of another buffer: each comparison must be able to fail. If
    /// only one of them has a largest error, a missing one does not mean that both are equal to the
    /// reference.
    pub(crate) fn and(self, other: Self) -> Self {
        if self.elements == 0 {
            return other;
        }
        if other.elements == 0 {
            return self;
        }
        let largest = match (self.largest, other.largest) {
            (Some(one), Some(two)) => Some(one.max(two)),
            (one, two) => one.or(two).filter(|error| *error > 0.0),
        };
        Self {
            largest,
            elements: self.elements + other.elements,
            by_function: self.by_function + other.by_function,
            tolerance: self.tolerance.max(other.tolerance),
            changes: self.changes || other.changes,
            telling: self.telling && other.telling,
            sharp: self.sharp && other.sharp,
            nans: self.nans + other.nans,
        }
    }

    /// How much was compared, and how closely.
    pub(crate) fn verification(self) -> Verification {
        Verification {
            elements: self.elements as u64,
            by_function: self.by_function as u64,
            tolerance: self.tolerance,
            ..Verification::default()
        }
    }

    /// Why it verifies nothing, if it does not.
    pub(crate) fn unverified(self) -> Option<Unverified> {
        match self {
            Self { elements: 0, .. } => Some(Unverified::NothingCompared),
            Self { elements, nans, .. } if nans > elements / 2 => Some(Unverified::MostlyNan),
            // A kernel that does nothing would agree as well.
            Self { changes: false, .. } => Some(Unverified::NothingChanged),
            Self { telling: false, .. } => Some(Unverified::AnythingAccepted),
            Self { sharp: false, .. } => Some(Unverified::HalfAccepted),
            _ => None,
        }
    }
}

/// Compares the kernel's output in the buffer `name` with the reference.
///
/// # Errors
/// How many elements differ and the first of them with both values; or that the kernel changed
/// nothing although the reference does, at any tolerance.
pub(crate) fn compare<T: Element>(
    name: &str,
    sides: Sides<'_, T>,
    tolerance: Tolerance,
) -> Result<ComparisonResult> {
    let Sides { initial, device, host } = sides;
    let changes = |at: usize| initial[at].distance(host[at]) > 0.0;
    let mut changed = (0..host.len()).filter(|&at| changes(at)).peekable();
    if changed.peek().is_some() && changed.all(|at| device[at].distance(initial[at]) == 0.0) {
        let count = (0..host.len()).filter(|&at| changes(at)).count();
        return Err(nothing_changed(name, count, host.len()));
    }
    let allowed = tolerance.resolve(host, changes);
    let error = |at: usize| allowed.error(device[at], host[at]);
    let (mut count, mut first, mut largest) = (0, None, (0.0, 0));
    for at in 0..host.len() {
        let error = error(at);
        if error > 1.0 {
            count += 1;
            first = first.or(Some(at));
        }
        if error > largest.0 {
            largest = (error, at);
        }
    }
    let Some(first) = first else {
        let mut changed = (0..host.len()).filter(|&at| changes(at)).peekable();
        let changes = changed.peek().is_some();
        let telling = !changes || changed.any(|at| allowed.error(initial[at], host[at]) > 1.0);
        return Ok(ComparisonResult {
            largest: Some(largest.0),
            elements: host.len(),
            by_function: 0,
            tolerance: tolerance.share(host, |at| initial[at].distance(host[at]) > 0.0),
            changes,
            telling,
            sharp: refuses_half(host, allowed),
            nans: nans(device, host),
        });
    };
    Err(Error::failed(format!(
        "verify failed: `{name}` differs from the host in {count} of {} elements; first {name}[{first}]: \
         device {:?}, host {:?}{}{}",
        host.len(),
        device[first],
        host[first],
        worst(name, largest),
        within::<T>(allowed),
    )))
}

/// Compares the kernel's output in the buffer `name` with the reference, using `by`.
///
/// # Errors
/// The error of `by`; or that the kernel changed nothing although the reference does.
pub(crate) fn compare_by<T: Element>(
    name: &str,
    sides: Sides<'_, T>,
    by: &Comparer<'_>,
) -> Result<ComparisonResult> {
    let Sides { initial, device, host } = sides;
    let differ = |a: &[T], b: &[T]| a.iter().zip(b).filter(|(a, b)| a.distance(**b) > 0.0).count();
    let changed = differ(initial, host);
    if changed > 0 && differ(initial, device) == 0 {
        return Err(nothing_changed(name, changed, host.len()));
    }
    let host_lanes = host.to_vec();
    by(&device.to_vec(), &host_lanes).map_err(|error| {
        let reason = format!("verify failed: `{name}`: {error}");
        Error::failed(reason)
    })?;
    let accepts = |lanes: Vec<T>| by(&lanes, &host_lanes).is_ok();
    let telling = changed == 0 || !accepts(initial.to_vec());
    let has_sizes = host.iter().any(|value| has_half(value.magnitude()));
    Ok(ComparisonResult {
        largest: None,
        elements: host.len(),
        by_function: host.len(),
        tolerance: 0.0,
        changes: changed > 0,
        telling,
        sharp: !has_sizes || !accepts(host.iter().map(|value| halve(*value)).collect()),
        nans: nans(device, host),
    })
}

/// Whether `allowed` refuses half of any value of `host`; also if none has a size.
fn refuses_half<T: Element>(host: &[T], allowed: Margin) -> bool {
    let sizes = host.iter().map(|value| value.magnitude());
    let mut sizes = sizes.filter(|size| has_half(*size)).peekable();
    sizes.peek().is_none()
        || sizes.any(|size| size / 2.0 > allowed.absolute + allowed.relative * size)
}

/// Whether a value of this `size` differs from its half.
fn has_half(size: f64) -> bool {
    size.is_finite() && size > 0.0
}

/// Half of `value`; itself if it has no size, as integers have none.
fn halve<T: Element>(value: T) -> T {
    let half = value.magnitude() / 2.0;
    if !has_half(half) {
        return value;
    }
    let [positive, negative] = [half, -half].map(T::from_f64);
    if negative.distance(value) < positive.distance(value) { negative } else { positive }
}

/// How many elements are not numbers on both sides.
fn nans<T: Element>(device: &[T], host: &[T]) -> usize {
    #[expect(clippy::eq_op, reason = "what differs from itself is no number")]
    let is_nan = |value: &T| value != value;
    device.iter().zip(host).filter(|(device, host)| is_nan(device) && is_nan(host)).count()
}

/// The error that `name` still has its contents from before the launch, if the reference changes
/// `changed` of `all` elements.
fn nothing_changed(name: &str, changed: usize, all: usize) -> Error {
    Error::failed(format!(
        "verify failed: `{name}` holds what it held before the launch, and the reference changes \
         {changed} of its {all} elements"
    ))
}

/// Checks that a kernel left a buffer that it takes to read only as it was.
///
/// # Errors
/// How many elements it changed, and the first of them with both values.
pub(crate) fn unchanged<T: Element>(name: &str, initial: &[T], device: &[T]) -> Result<()> {
    let mut changed = (0..initial.len()).filter(|&at| initial[at].distance(device[at]) != 0.0);
    let Some(first) = changed.next() else { return Ok(()) };
    Err(Error::failed(format!(
        "verify failed: the kernel takes `{name}` to read only, and changed {} of its {} elements; first \
         {name}[{first}]: from {:?} to {:?}. Let it take `{name}` as `*mut`, or write elsewhere",
        1 + changed.count(),
        initial.len(),
        initial[first],
        device[first],
    )))
}

/// `; largest error 3.5 times the tolerance, at y[7]`, if it has a size.
fn worst(name: &str, (error, at): (f64, usize)) -> String {
    if error.is_infinite() {
        return String::new();
    }
    let error = if error < 1e3 { format!("{error:.1}") } else { format!("{error:.1e}") };
    format!("; largest error {error} times the tolerance, at {name}[{at}]")
}

/// ` (tolerance 2e-5 + 1e-5 × |host|)`, for floats.
fn within<T: Element>(allowed: Margin) -> String {
    if T::TOLERANCE == 0.0 {
        return String::new();
    }
    let Margin { absolute, relative } = allowed;
    // Three digits are enough to read.
    let absolute: f64 = format!("{absolute:.2e}").parse().unwrap_or(absolute);
    format!(" (tolerance {absolute:e} + {relative:e} × |host|)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::arguments::tolerance::IntoTolerance;
    use crate::host::arguments::tolerance::tolerances::{absolute, relative};

    fn check<T: Element>(
        initial: &[T],
        device: &[T],
        host: &[T],
        tolerance: impl IntoTolerance,
    ) -> std::result::Result<f64, String> {
        let compared = compared(initial, device, host, tolerance)?;
        Ok(compared.largest.expect("a tolerance has an error"))
    }

    fn compared<T: Element>(
        initial: &[T],
        device: &[T],
        host: &[T],
        tolerance: impl IntoTolerance,
    ) -> std::result::Result<ComparisonResult, String> {
        let tolerance = Tolerance::new(tolerance).unwrap();
        compare("y", Sides { initial, device, host }, tolerance).map_err(|error| {
            assert!(!error.is_refusal());
            error.to_string()
        })
    }

    #[test]
    fn a_comparison_that_accepts_anything_verifies_nothing() {
        let why = |initial: &[f32], device: &[f32], host: &[f32], tolerance| {
            compared(initial, device, host, absolute(tolerance)).unwrap().unverified()
        };
        assert_eq!(why(&[0.0], &[1.0], &[3.0], 1e9), Some(Unverified::AnythingAccepted));
        assert_eq!(why(&[0.0, 0.0], &[1.0, 3.0], &[2.0, 3.0], 1.0), None);
        assert_eq!(why(&[5.0], &[5.0], &[5.0], 0.0), Some(Unverified::NothingChanged));
        assert_eq!(why(&[], &[], &[], 0.0), Some(Unverified::NothingCompared));
        let nan = f32::NAN;
        assert_eq!(why(&[0.0; 2], &[nan; 2], &[nan; 2], 0.0), Some(Unverified::MostlyNan));
        let most = [nan, nan, 1.0];
        assert_eq!(why(&[0.0; 3], &most, &most, 0.0), Some(Unverified::MostlyNan));
        assert_eq!(why(&[0.0; 2], &[nan, 1.0], &[nan, 1.0], 0.0), None);
        // Of two buffers one may be empty, or left as it was.
        let (empty, full) =
            (ComparisonResult::default(), compared(&[0], &[1_u8], &[1], 0).unwrap());
        assert_eq!(empty.and(full).unverified(), None);
        let left = compared(&[5], &[5_u8], &[5], 0).unwrap();
        assert_eq!(
            (left.and(full).unverified(), left.and(empty).unverified()),
            (None, Some(Unverified::NothingChanged))
        );
        assert_eq!(empty.and(empty).unverified(), Some(Unverified::NothingCompared));
        // A comparison that says nothing is not made up for by another.
        let lax = compared(&[0.0], &[7.0], &[9.0_f32], absolute(1e9)).unwrap();
        assert_eq!(full.and(lax).unverified(), Some(Unverified::AnythingAccepted));
        // A kernel that computes half of everything would pass.
        let half = |tolerance| why(&[0.0; 2], &[2.0, 8.0], &[2.0, 8.0], tolerance);
        assert_eq!((half(3.9), half(4.0)), (None, Some(Unverified::HalfAccepted)));
        let half = |share| compared(&[0.0], &[2.0], &[2.0_f32], relative(share)).unwrap();
        let whole = Verification { elements: 2, tolerance: 0.25, ..Verification::default() };
        assert_eq!(half(0.25).and(full).verification(), whole);
        let half_unit = compared(&[0.0], &[2.0], &[2.0_f32], absolute(0.5)).unwrap();
        assert_eq!(half_unit.verification(), Verification { elements: 1, ..whole });
        assert_eq!(half(0.999).unverified(), Some(Unverified::HalfAccepted));
        assert_eq!(half(0.49).and(full).unverified(), None);
        // A function compares without an error: the others' says nothing of its buffer.
        let by = ComparisonResult { largest: None, ..full };
        assert_eq!((full.largest, full.and(by).largest), (Some(0.0), None));
        assert_eq!(full.and(full).and(empty).largest, Some(0.0));
    }

    #[test]
    fn a_difference_shows_both_values_and_the_largest_error() {
        assert_eq!(
            check(&[0.0_f32; 4], &[1.0, 2.0, 5.0, 5.0], &[1.0, 2.5, 5.5, 5.0], 1e-5).unwrap_err(),
            "verify failed: `y` differs from the host in 2 of 4 elements; first y[1]: device 2.0, host 2.5; \
             largest error 1.0e4 times the tolerance, at y[1] (tolerance 2.5e-5 + 1e-5 × |host|)"
        );
        assert_eq!(
            check(&[0, 0], &[1_u32, 5], &[1, 6], absolute(100)).unwrap_err(),
            "verify failed: `y` differs from the host in 1 of 2 elements; first y[1]: device 5, host 6"
        );
        assert_eq!(check(&[0_u32], &[1], &[1], 0.0), Ok(0.0));
    }

    #[test]
    fn small_values_are_checked_as_strictly_as_large_ones() {
        for scale in [1e-30_f32, 9e-6, 1e-4, 1.0, 1e20] {
            let host: Vec<f32> = (1..=100_u8).map(|i| scale * f32::from(i)).collect();
            let mut device: Vec<f32> = host.iter().map(|y| y * (1.0 + 2e-6)).collect();
            let largest = check(&[0.0; 100], &device, &host, 1e-5).unwrap();
            assert!((0.05..0.5).contains(&largest), "{largest} at {scale}");
            device[40] *= 1.001;
            let message = check(&[0.0; 100], &device, &host, 1e-5).unwrap_err();
            assert!(message.contains("in 1 of 100 elements; first y[40]"), "{message}");
        }
    }

    #[test]
    fn a_kernel_that_writes_nothing_fails_at_any_tolerance() {
        let nothing = "verify failed: `y` holds what it held before the launch, and the reference changes 1 of \
                       its 2 elements";
        assert_eq!(
            check(&[5.0, 0.0], &[5.0, 0.0], &[5.0, 1e-9], absolute(1e300)).unwrap_err(),
            nothing
        );
        // Its writes elsewhere do not help.
        assert_eq!(
            check(&[5.0, 0.0], &[6.0, 0.0], &[5.0, 1e-9], absolute(1e300)).unwrap_err(),
            nothing
        );
        assert_eq!(check(&[5.0, f64::NAN], &[5.0, 1.0], &[5.0, 1.0], 0.0), Ok(0.0));
        assert_eq!(check(&[5.0], &[5.0], &[5.0], 0.0), Ok(0.0), "the reference changes nothing");
        assert_eq!(check::<f32>(&[], &[], &[], 0.0), Ok(0.0));
    }

    #[test]
    fn a_user_function_may_compare_results() {
        let by_sum = |device: &dyn Any, host: &dyn Any| {
            let sum = |side: &dyn Any| side.downcast_ref::<Vec<u32>>().unwrap().iter().sum::<u32>();
            if sum(device) == sum(host) { Ok(()) } else { Err(Error::failed("another sum")) }
        };
        let check = |initial: &[u32], device: &[u32], host: &[u32]| {
            compare_by("y", Sides { initial, device, host }, &by_sum).map_err(|e| e.to_string())
        };
        let found = check(&[0, 0, 0], &[1, 2, 0], &[0, 1, 2]).unwrap();
        assert_eq!((found.largest, found.unverified()), (None, None));
        assert_eq!(
            check(&[0, 0, 0], &[1, 1, 0], &[0, 1, 2]),
            Err("verify failed: `y`: another sum".into())
        );
        // The reference's elements may stay as they were where others are written.
        assert!(check(&[0, 0, 0], &[3, 0, 0], &[0, 1, 2]).is_ok());
        assert_eq!(
            check(&[2, 1, 0], &[2, 1, 0], &[0, 1, 2]).unwrap_err(),
            "verify failed: `y` holds what it held before the launch, and the reference changes 2 of its 3 elements"
        );
        let found = check(&[2, 1, 0], &[1, 0, 2], &[0, 1, 2]).unwrap();
        assert_eq!(found.unverified(), Some(Unverified::AnythingAccepted));
    }

    #[test]
    fn a_function_that_accepts_halves_verifies_nothing() {
        let within = |limit: f32| {
            let by = move |device: &dyn Any, host: &dyn Any| {
                let [device, host] =
                    [device, host].map(|side| side.downcast_ref::<Vec<f32>>().unwrap());
                let mut sides = device.iter().zip(host);
                match sides.all(|(device, host)| (device - host).abs() <= limit * host.abs()) {
                    true => Ok(()),
                    false => Err(Error::failed("too far")),
                }
            };
            let [initial, device, host] = [[0.0_f32; 2], [-2.0, 3.0], [-2.0, 3.0]];
            let sides = Sides { initial: &initial, device: &device, host: &host };
            compare_by("y", sides, &by).unwrap().unverified()
        };
        assert_eq!(within(0.4), None);
        assert_eq!(within(0.6), Some(Unverified::HalfAccepted));
    }

    #[test]
    fn a_changed_read_only_buffer_fails_the_verification() {
        let check = |initial: &[f32], device: &[f32]| {
            unchanged("x", initial, device).map_err(|error| error.to_string())
        };
        assert_eq!(check(&[1.0, f32::NAN], &[1.0, f32::NAN]), Ok(()));
        assert_eq!(
            check(&[1.0, 2.0, 3.0], &[1.0, 2.5, f32::NAN]).unwrap_err(),
            "verify failed: the kernel takes `x` to read only, and changed 2 of its 3 elements; first x[1]: \
             from 2.0 to 2.5. Let it take `x` as `*mut`, or write elsewhere"
        );
    }

    #[test]
    fn infinite_differences_have_no_largest_error() {
        assert_eq!(
            check(&[0.0_f32; 2], &[f32::NAN, 2.0], &[2.0, 2.0], 1e-5).unwrap_err(),
            "verify failed: `y` differs from the host in 1 of 2 elements; first y[0]: device NaN, host 2.0 \
             (tolerance 2e-5 + 1e-5 × |host|)"
        );
    }
}
