//! The decision of processes about a numeric limit.
//!
//! Input: the limit, and one number per process. Output: the decision of the first look that makes
//! one, by the sign test: the claim is about the median process, and one side alone has no pair
//! that would make its noise symmetric.

use gpuprof_model::threshold::Comparison;

use crate::sequential::critical_values::CriticalValues;
use crate::sequential::decide::Decision;

/// A question about a limit that is a number.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// On which side of it a number is to lie.
    pub comparison: Comparison,
    /// The limit.
    pub limit: f64,
    /// A pass has this share of its usual level, for callers with several questions of which one
    /// pass suffices.
    pub share: f64,
    /// Looks at no more processes than these decide nothing, since another rule did.
    pub after: usize,
}

impl CriticalValues {
    /// The decision of `values` on a limit.
    pub fn decide_fixed(&self, asked: &Fixed, values: &[f64]) -> Decision {
        let &Fixed { comparison, limit, share, after } = asked;
        for look in self.looks.iter().filter(|look| look.rounds as usize > after) {
            let Some(values) = values.get(..look.rounds as usize) else { break };
            let beyond = values.iter().filter(|&&value| !comparison.holds(value, limit)).count();
            let beyond = u32::try_from(beyond).unwrap_or(u32::MAX);
            if look.most_beyond(share).is_some_and(|most| beyond <= most) {
                return Decision::Within(look.rounds);
            }
            if look.sign_fail.is_some_and(|least| beyond >= least) {
                return Decision::Beyond(look.rounds);
            }
        }
        Decision::OPEN
    }
}
