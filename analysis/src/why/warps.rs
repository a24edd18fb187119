//! The states of warps: for how many cycles a warp waits between two of its instructions, and why.
//!
//! Input: a configuration. Output: each state with its cycles, the longest first.

use gpuprof_model::run::ConfigurationResult;

use crate::view::best::value;

/// The names of the counters of states, around the state.
const NAME: (&str, &str) = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio");

/// A state.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Its name, such as `long scoreboard`.
    pub name: String,
    /// The metric.
    pub metric: String,
    /// Cycles a warp spends in it for each instruction that the scheduler issues.
    pub cycles: f64,
    /// Its part of all states that were measured, in percent.
    pub percent: f64,
}

/// The states that `row` knows and that take time.
pub fn states(row: &ConfigurationResult) -> Vec<State> {
    let known = row.metrics.iter().filter_map(|(metric, _)| {
        let name = metric.strip_prefix(NAME.0)?.strip_suffix(NAME.1)?;
        Some((name.replace('_', " "), metric, value(row, metric).filter(|cycles| *cycles > 0.0)?))
    });
    let known: Vec<_> = known.collect();
    let all: f64 = known.iter().map(|(_, _, cycles)| cycles).sum();
    let state = |(name, metric, cycles): (String, &str, f64)| State {
        name,
        metric: metric.to_string(),
        cycles,
        percent: 100.0 * cycles / all,
    };
    let mut states: Vec<State> = known.into_iter().map(state).collect();
    states.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    states
}

/// The thing that a warp waits for in the state, in words.
pub fn meaning(name: &str) -> Option<&'static str> {
    Some(match name {
        "long scoreboard" => "a load from global, local or texture memory",
        "short scoreboard" => "shared memory, or a special function",
        "barrier" => "other warps of its block at a barrier",
        "membar" => "a memory fence",
        "wait" => "the fixed latency of an earlier instruction",
        "math pipe throttle" => "a pipeline that is busy",
        "lg throttle" => "the queue of global and local accesses",
        "mio throttle" => "the queue of shared memory and special functions",
        "tex throttle" => "the queue of texture accesses",
        "drain" => "its stores, at its end",
        "imc miss" => "a constant that is not cached",
        "sleeping" => "the time that it sleeps",
        "no instruction" => "its instructions to be fetched",
        "branch resolving" => "the target of a branch",
        "dispatch stall" => "the dispatcher",
        "not selected" => "its turn: another warp was chosen",
        "selected" => "nothing: it issues",
        "gmma" => "the tensor cores",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::measured;

    #[test]
    fn warp_states_are_sorted_with_their_shares() {
        let of = |name: &str| format!("{}{name}{}", NAME.0, NAME.1);
        let row =
            measured(64, &[(&of("wait"), 1.0), (&of("long_scoreboard"), 3.0), (&of("drain"), 0.0)]);
        let found = states(&row);
        let texts: Vec<_> = found.iter().map(|s| (&*s.name, s.cycles, s.percent)).collect();
        assert_eq!(texts, [("long scoreboard", 3.0, 75.0), ("wait", 1.0, 25.0)]);
        assert!(meaning(&found[0].name).unwrap().contains("global"));
    }
}
