//! How far a kernel's output may be from the reference.
//!
//! Input: the value of the annotation's `tolerance`. Output: an absolute and a relative part. A
//! value passes if |device − host| ≤ absolute + relative × |host|. The absolute part is a multiple
//! of the reference's *scale*, the size of a typical element, so that small values are checked as
//! closely as large ones; `absolute(…)` gives it in the buffer's own unit. If device and host both
//! have a NaN, or the same infinity, they agree: a NaN in the reference means that the kernel must
//! return one.

use crate::host::arguments::elements::Element;
use crate::host::error::{Error, Result};
use crate::host::values::number::{IntoNumber, Number};

/// From here on a part that is relative, to a value or to the scale, accepts zeros for anything.
const ACCEPTS_ZEROS: f64 = 1.0;

/// A tolerance, as the annotation gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    absolute: Absolute,
    relative: f64,
}

/// The absolute part of a tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Absolute {
    /// A multiple of the reference's scale.
    OfScale(f64),
    /// In the buffer's unit.
    InUnits(f64),
}

/// A tolerance that has only the relative part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relative(f64);

/// The functions that `tolerance` may call.
pub mod tolerances {
    use super::{Absolute, IntoNumber, Relative, float};

    /// The absolute part in the buffer's unit.
    pub fn absolute(value: impl IntoNumber) -> Absolute {
        Absolute::InUnits(float(value))
    }

    /// Only a relative part.
    pub fn relative(value: impl IntoNumber) -> Relative {
        Relative(float(value))
    }
}

/// The possible values of `tolerance`.
pub trait IntoTolerance {
    /// The tolerance, whatever its values.
    fn into_tolerance(self) -> Tolerance;
}

/// Types of the absolute part of a pair.
pub trait IntoAbsolute {
    /// The absolute part.
    fn into_absolute(self) -> Absolute;
}

impl<N: IntoNumber> IntoAbsolute for N {
    fn into_absolute(self) -> Absolute {
        Absolute::OfScale(float(self))
    }
}

impl IntoAbsolute for Absolute {
    fn into_absolute(self) -> Absolute {
        self
    }
}

/// A number is both parts.
impl<N: IntoNumber> IntoTolerance for N {
    fn into_tolerance(self) -> Tolerance {
        let value = float(self);
        Tolerance { absolute: Absolute::OfScale(value), relative: value }
    }
}

impl<A: IntoAbsolute, R: IntoNumber> IntoTolerance for (A, R) {
    fn into_tolerance(self) -> Tolerance {
        Tolerance { absolute: self.0.into_absolute(), relative: float(self.1) }
    }
}

impl IntoTolerance for Absolute {
    fn into_tolerance(self) -> Tolerance {
        Tolerance { absolute: self, relative: 0.0 }
    }
}

impl IntoTolerance for Relative {
    fn into_tolerance(self) -> Tolerance {
        Tolerance { absolute: Absolute::OfScale(0.0), relative: self.0 }
    }
}

fn float(number: impl IntoNumber) -> f64 {
    match number.into_number() {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    }
}

impl Tolerance {
    /// The tolerance of `value`.
    ///
    /// # Errors A part that is negative, infinite or not a number, or a tolerance that zeros would
    /// pass.
    pub(crate) fn new(value: impl IntoTolerance) -> Result<Self> {
        let tolerance = value.into_tolerance();
        let (Absolute::OfScale(absolute) | Absolute::InUnits(absolute)) = tolerance.absolute;
        for part in [absolute, tolerance.relative] {
            if !(part >= 0.0 && part.is_finite()) {
                return Err(Error::failed(format!(
                    "`tolerance` is {part}; it must be a finite number that is not negative, such as \
                     tolerance = 1e-5"
                )));
            }
        }
        let of_scale = matches!(tolerance.absolute, Absolute::OfScale(_));
        let shares = of_scale.then_some(absolute).into_iter().chain([tolerance.relative]);
        if let Some(share) = shares.into_iter().find(|share| *share >= ACCEPTS_ZEROS) {
            return Err(Error::failed(format!(
                "`tolerance` is {share}, and with 1 or more a buffer of zeros would pass: write less than 1, or \
                 the absolute part in the buffer's unit, tolerance = absolute({share})"
            )));
        }
        Ok(tolerance)
    }

    /// The largest error that it accepts, as a share of the typical size of the elements `host`, of
    /// which `changes` selects the changed ones; 0 if none has a size.
    pub(crate) fn share<T: Element>(self, host: &[T], changes: impl Fn(usize) -> bool) -> f64 {
        let scale = scale(host, changes);
        match self.absolute {
            _ if scale == 0.0 => 0.0,
            Absolute::OfScale(value) => value + self.relative,
            Absolute::InUnits(value) => value / scale + self.relative,
        }
    }

    /// Its value for a buffer with the reference's `host` elements, of which `changes` selects the
    /// changed ones.
    pub(crate) fn resolve<T: Element>(self, host: &[T], changes: impl Fn(usize) -> bool) -> Margin {
        let absolute = match self.absolute {
            Absolute::InUnits(value) => value,
            Absolute::OfScale(value) => value * scale(host, changes),
        };
        Margin { absolute, relative: self.relative }
    }
}

/// The median size of the elements that the reference changes, or of all if it changes none.
///
/// Infinities and NaN have no size. Zeros do not count either if there is anything else: the scale
/// of a mostly zero reference is that of its other elements. A mean would be dominated by the
/// largest element, and its scale would then hide every error of the others.
fn scale<T: Element>(host: &[T], changes: impl Fn(usize) -> bool) -> f64 {
    let median = |counts: &dyn Fn(usize) -> bool| {
        let each = host.iter().enumerate().filter(|(at, _)| counts(*at));
        let sizes = each.map(|(_, value)| value.magnitude());
        let mut sizes: Vec<f64> = sizes.filter(|size| size.is_finite() && *size > 0.0).collect();
        // Of two in the middle the smaller one: the stricter tolerance.
        let middle = sizes.len().checked_sub(1)? / 2;
        Some(*sizes.select_nth_unstable_by(middle, f64::total_cmp).1)
    };
    median(&changes).or_else(|| median(&|_| true)).unwrap_or(0.0)
}

/// A tolerance for the values of one buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Margin {
    pub(crate) absolute: f64,
    pub(crate) relative: f64,
}

impl Margin {
    /// The error of `device` in units of what is allowed; up to 1 it agrees with `host`.
    pub(crate) fn error<T: Element>(self, device: T, host: T) -> f64 {
        let distance = device.distance(host);
        let allowed = self.absolute + self.relative * host.magnitude();
        if distance == 0.0 {
            0.0
        } else if distance.is_infinite() || allowed == 0.0 {
            f64::INFINITY
        } else {
            distance / allowed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tolerances::{absolute, relative};
    use super::*;

    fn allowed(tolerance: impl IntoTolerance, host: &[f32]) -> Margin {
        Tolerance::new(tolerance).unwrap().resolve(host, |_| true)
    }

    fn parts(allowed: Margin) -> (f64, f64) {
        (allowed.absolute, allowed.relative)
    }

    #[test]
    fn a_tolerance_is_one_number_or_absolute_and_relative() {
        let host = [-4.0, 2.0, 60.0];
        assert_eq!(parts(allowed(0.5, &host)), (2.0, 0.5));
        assert_eq!(parts(allowed((0.25, 0.5), &host)), (1.0, 0.5));
        assert_eq!(parts(allowed((absolute(0.25), 0), &host)), (0.25, 0.0));
        assert_eq!(parts(allowed(absolute(3), &host)), (3.0, 0.0));
        assert_eq!(parts(allowed(relative(0.5), &host)), (0.0, 0.5));
    }

    #[test]
    fn a_tolerance_scales_with_the_elements_that_change() {
        let tolerance = Tolerance::new((0.5, 0.0)).unwrap();
        let host = [1e6_f32, 1e-6, 3e-6, 2e-6, f32::NAN, f32::INFINITY];
        let of = |changes: &dyn Fn(usize) -> bool| tolerance.resolve(&host, changes).absolute;
        assert!((of(&|at| at > 0) - 1e-6).abs() < 1e-12);
        assert!((of(&|at| at == 0) - 5e5).abs() < 1.0);
        assert!((of(&|_| false) - 1e-6).abs() < 1e-12, "none is changed: of all");
        assert_eq!(tolerance.resolve(&[f64::MAX; 4], |_| true).absolute, f64::MAX / 2.0);
        assert_eq!(tolerance.resolve::<f32>(&[], |_| true).absolute, 0.0);
    }

    #[test]
    fn outliers_and_zeros_do_not_set_the_scale_of_a_tolerance() {
        let tolerance = Tolerance::new((0.5, 0.0)).unwrap();
        let of = |host: &[f32]| tolerance.resolve(host, |_| true).absolute;
        let mut host = vec![2.0_f32; 1000];
        for huge in [1e30, f32::MAX, f32::INFINITY, f32::NAN] {
            host[500] = huge;
            assert_eq!(of(&host), 1.0, "{huge}");
        }
        let mut sparse = vec![0.0_f32; 1000];
        assert_eq!(of(&sparse), 0.0);
        (sparse[3], sparse[700], sparse[901]) = (2.0, -2.0, 8.0);
        assert_eq!(of(&sparse), 1.0);
    }

    #[test]
    fn an_error_is_reported_in_units_of_the_tolerance() {
        let allowed = Margin { absolute: 0.5, relative: 0.25 };
        assert_eq!(allowed.error(3.0_f32, 2.0), 1.0);
        assert_eq!(allowed.error(4.0_f32, 2.0), 2.0);
        assert_eq!(allowed.error(f32::NAN, 2.0), f64::INFINITY);
        assert_eq!(allowed.error(f32::MAX, f32::INFINITY), f64::INFINITY);
        assert_eq!(allowed.error(3_u32, 4), f64::INFINITY);
        let none = Margin { absolute: 0.0, relative: 0.0 };
        assert_eq!((none.error(1.0, 1.0), none.error(1.0, 1.5)), (0.0, f64::INFINITY));
    }

    #[test]
    fn invalid_tolerances_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY, -f64::INFINITY] {
            assert!(Tolerance::new(bad).is_err());
            assert!(Tolerance::new((bad, 0.0)).is_err());
            assert!(Tolerance::new((absolute(0), bad)).is_err());
            assert!(Tolerance::new(absolute(bad)).is_err());
            assert!(Tolerance::new(relative(bad)).is_err());
        }
        assert_eq!(
            Tolerance::new(-1).unwrap_err().to_string(),
            "`tolerance` is -1; it must be a finite number that is not negative, such as tolerance = 1e-5"
        );
        assert!(Tolerance::new(0).is_ok());
    }

    #[test]
    fn a_verification_that_zeros_would_pass_is_refused() {
        for accepting in [1.0, 1e9] {
            assert!(Tolerance::new(accepting).is_err());
            assert!(Tolerance::new((accepting, 0.5)).is_err());
            assert!(Tolerance::new(relative(accepting)).is_err());
            assert!(Tolerance::new((absolute(accepting), 0.5)).is_ok());
        }
        assert!(Tolerance::new(0.999).is_ok());
        assert_eq!(
            Tolerance::new((0, 2)).unwrap_err().to_string(),
            "`tolerance` is 2, and with 1 or more a buffer of zeros would pass: write less than 1, or the \
             absolute part in the buffer's unit, tolerance = absolute(2)"
        );
    }
}
