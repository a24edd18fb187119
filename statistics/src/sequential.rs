//! Two revisions measured side by side: how many rounds they need, and the decision of the rounds.
//!
//! A *round* is one process of the base and one of the head, adjacent in time; a coin decides which
//! goes first. The rounds of a configuration are looked at when there are 15, 21, 29 … of them
//! ([`LOOKS`]), and at no other number. At a look the configuration is within its limit, beyond it,
//! or open, and only open ones get more rounds.
//!
//! Input: the two numbers of each round, and a limit. Output: a [`Decision`]. The test is
//! Wilcoxon's signed rank over the rounds' log-ratios (*Biometrics Bulletin* 1, 1945) with exact
//! tails, since the coin makes the sign of each round's deviation random for any behaviour of the
//! machine: drift, correlated neighbours and rare slow processes keep its level. Its levels are
//! spread over the looks as in a group-sequential trial (Lan & DeMets, *Biometrika* 70, 1983), and
//! those of failing over all questions of the run as well (Bonferroni), so that an unchanged run
//! fails at most once in a hundred times. `docs/claims.md` has the rates.

mod critical_values;
mod decide;
mod estimate;
mod fixed;
mod levels;
mod looks;
mod signed_rank;
mod slow;

pub use critical_values::CriticalValues;
pub use decide::{Decision, Question, Rounds, SlowOnes};
pub use estimate::Estimate;
pub use fixed::Fixed;
pub use levels::{FAIL_BUDGET, FIRST_LOOK_PASS, PASS_BUDGET};
pub use looks::{CHOOSING, CHOSEN, FIRST_TO_DECIDE, LOOKS, Most, next_look};
