//! Declared work that a count contradicts.
//!
//! Input: the configurations of a series. Output: those with an annotation that declares more than
//! twice the counted bytes or operations, with both numbers: every rate of declared work is too
//! high there. A larger count is normal: `bytes` are the bytes that a kernel must move, and caches
//! serve the rest.

use gpuprof_model::run::ConfigurationResult;

use crate::view::best::value;

/// How many times the count a declaration may be.
const MOST: f64 = 2.0;

/// A declaration that is too large.
#[derive(Debug, Clone, PartialEq)]
pub struct Excess<'r> {
    /// The configuration.
    pub row: &'r ConfigurationResult,
    /// The declared metric: `bytes` or `flops`.
    pub metric: &'static str,
    /// Its value.
    pub declared: f64,
    /// What was counted.
    pub counted: f64,
}

/// The excessive declarations of `rows`, those of bytes first.
pub fn excesses(rows: &[ConfigurationResult]) -> Vec<Excess<'_>> {
    let excesses_of = |metric: &'static str, count: fn(&ConfigurationResult) -> Option<f64>| {
        rows.iter().filter_map(move |row| {
            let (declared, counted) = (value(row, metric)?, count(row)?);
            let excess = Excess { row, metric, declared, counted };
            (declared > MOST * counted).then_some(excess)
        })
    };
    excesses_of("bytes", bytes).chain(excesses_of("flops", flops)).collect()
}

/// The bytes of all global accesses; none with asynchronous copies, which `global_bytes` leaves
/// out.
fn bytes(row: &ConfigurationResult) -> Option<f64> {
    let copies = value(row, "ptx__async_copies.sum").unwrap_or(0.0);
    value(row, "global_bytes").filter(|_| copies == 0.0)
}

/// The operations in floating point; none if the kernel has matrix products, which count as
/// instructions only, or no operation of 32 or 64 bits: halves are not counted.
fn flops(row: &ConfigurationResult) -> Option<f64> {
    let products = value(row, "ptx__matrix_products.sum").unwrap_or(0.0);
    let counted = value(row, "ptx_fp32_flops")? + value(row, "ptx_fp64_flops")?;
    (products == 0.0 && counted > 0.0).then_some(counted)
}

#[cfg(test)]
mod tests {
    use gpuprof_model::measurement::PassResult;

    use super::*;
    use crate::fixture::{emulated_pass, finished, point};

    fn counted(change: impl Fn(&mut PassResult)) -> ConfigurationResult {
        let mut pass = emulated_pass(64, 1024);
        change(&mut pass);
        finished(point(64, 1024), &[pass])
    }

    fn declared(bytes: u64, flops: u64) -> ConfigurationResult {
        counted(|pass| {
            (pass.declared_bytes, pass.declared_flops) = (Some(bytes), Some(flops));
        })
    }

    #[test]
    fn declared_work_above_twice_the_count_is_an_excess() {
        let honest = declared(1, 1);
        let count = |name| value(&honest, name).unwrap();
        let (bytes, flops) = (count("global_bytes"), count("ptx_fp32_flops"));
        assert!(bytes > 0.0 && flops > 0.0);
        let row = |times: f64| declared((times * bytes) as u64, (times * flops) as u64);
        assert_eq!(excesses(&[honest.clone(), row(2.0)]), []);
        let rows = [row(1.0), row(3.0)];
        let found: Vec<_> =
            excesses(&rows).iter().map(|it| (it.metric, it.declared, it.counted)).collect();
        assert_eq!(found, [("bytes", 3.0 * bytes, bytes), ("flops", 3.0 * flops, flops)]);
    }

    #[test]
    fn uncounted_work_contradicts_no_declaration() {
        let excessive = |counter: &'static str| {
            let row = counted(|pass| {
                (pass.declared_bytes, pass.declared_flops) = (Some(u64::MAX), Some(u64::MAX));
                pass.counters.insert(counter.to_owned(), 1);
            });
            excesses(&[row]).into_iter().map(|it| it.metric).collect::<Vec<_>>()
        };
        assert_eq!(excessive("ptx__other.sum"), ["bytes", "flops"]);
        assert_eq!(excessive("ptx__async_copies.sum"), ["flops"]);
        assert_eq!(excessive("ptx__matrix_products.sum"), ["bytes"]);
    }
}
