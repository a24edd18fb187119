//! Comparisons of two values, as `setp` names them.

use crate::lower::inst::Cmp;

/// Of values that are all in one order.
pub fn compare_ordered<T: Ord>(cmp: Cmp, a: T, b: T) -> bool {
    match cmp {
        Cmp::Eq | Cmp::EqU => a == b,
        Cmp::Ne | Cmp::NeU => a != b,
        Cmp::Lt | Cmp::LtU => a < b,
        Cmp::Le | Cmp::LeU => a <= b,
        Cmp::Gt | Cmp::GtU => a > b,
        Cmp::Ge | Cmp::GeU => a >= b,
        Cmp::Num => true,
        Cmp::Nan => false,
    }
}

/// A floating-point comparison; single precision widens exactly.
pub fn compare_floats(cmp: Cmp, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match cmp {
        Cmp::Eq => a == b,
        Cmp::Ne => !unordered && a != b,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
        Cmp::Gt => a > b,
        Cmp::Ge => a >= b,
        Cmp::EqU => unordered || a == b,
        Cmp::NeU => unordered || a != b,
        Cmp::LtU => unordered || a < b,
        Cmp::LeU => unordered || a <= b,
        Cmp::GtU => unordered || a > b,
        Cmp::GeU => unordered || a >= b,
        Cmp::Num => !unordered,
        Cmp::Nan => unordered,
    }
}
