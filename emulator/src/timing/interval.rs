//! The interval of an estimate: by how much a measured time may differ.

use super::limited_by::Limit;
use super::rates::Rates;

/// The factors of intervals, by the limit that takes most time: a measured time is at most so many
/// times as long as its estimate, or as short, in 90 % of kernels. By split conformal prediction
/// with 153 kernels on an H200 (docs/scripts/estimate.py), each with the same weight.
struct Spreads {
    by_limit: &'static [(Limit, f64)],
    /// The spread of all kernels, for limits with fewer than ten of them.
    others: f64,
}

/// The spreads of estimates by machine code.
const BY_MACHINE_CODE: Spreads = Spreads {
    by_limit: &[
        (Limit::Latency, 1.26),
        (Limit::L2, 1.59),
        (Limit::Issue, 1.37),
        (Limit::Dram, 1.34),
        (Limit::Dispatch, 1.49),
        (Limit::Pipe, 1.5),
        (Limit::Launch, 1.35),
        (Limit::Atomics, 2.22),
        (Limit::Shared, 1.26),
    ],
    others: 1.33,
};

/// The spreads of estimates by the PTX alone.
const BY_PTX: Spreads = Spreads {
    by_limit: &[
        (Limit::Latency, 1.55),
        (Limit::L2, 1.68),
        (Limit::Issue, 1.49),
        (Limit::Dram, 1.43),
        (Limit::Dispatch, 1.48),
        (Limit::Pipe, 1.51),
        (Limit::Launch, 1.34),
        (Limit::Atomics, 2.23),
    ],
    others: 1.55,
};

/// The factor with published constants: the earlier model 2, which had no others, missed 90 % of
/// 222 measurements of 33 kernels on an H100 by at most 1.10, as a logarithm
/// (docs/scripts/estimate.py). Nobody has measured it on the chip itself.
const PUBLISHED: f64 = 3.0;

/// The factor of the interval of an estimate that the limit `first` decides.
pub fn interval_factor(rates: &Rates, first: Limit, machine_code_known: bool) -> f64 {
    if !rates.characterised {
        return PUBLISHED;
    }
    let spreads = if machine_code_known { BY_MACHINE_CODE } else { BY_PTX };
    let known = spreads.by_limit.iter().find(|(limit, _)| *limit == first);
    known.map_or(spreads.others, |(_, factor)| *factor)
}
