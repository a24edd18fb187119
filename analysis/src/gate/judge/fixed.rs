//! Whether a configuration surely meets a numeric limit.
//!
//! Input: the number of each process, and the limit. Output: within, beyond, or open. The interval
//! of an estimate decides. An exact metric has one number, which decides. So has a counter, which
//! one process collects, and any noisy metric of fewer than three processes: their noise is
//! unknown. The sign test decides rounds at their looks, and Student's t decides other processes.
//! If Student's t leaves the first processes of a run open, the signs of all of them decide at
//! later looks. The levels of both add up, so it does not matter that they share processes.

use std::f64::consts::FRAC_PI_2;

use gpuprof_model::comparison::Interval;
use gpuprof_model::metric::Class;
use gpuprof_model::threshold::Comparison;

use crate::gate::budget::Budget;
use crate::sequential::{CHOOSING, CHOSEN, Decision, FIRST_LOOK_PASS, Fixed, LOOKS, next_look};
use crate::stats::median::median;
use crate::stats::one_sample::Distance;
use crate::stats::two_sample::BOUND;

/// The outcome of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::gate) enum Sure {
    /// It meets the limit.
    Within,
    /// It violates it.
    Beyond,
    /// Neither is sure: why, and how many rounds it should get at most, if more could decide.
    Open(String, Option<u32>),
}

/// The measured numbers of a configuration.
pub(in crate::gate) struct Observation {
    /// The number that is shown.
    pub value: f64,
    /// The number of each process.
    pub processes: Vec<f64>,
    /// Whether it is exact.
    pub class: Class,
    /// Whether one process counted it and several took times.
    pub counted_once: bool,
    /// The step in which it is read.
    pub resolution: f64,
    /// The interval of an estimate, which decides instead of its value.
    pub interval: Option<Interval>,
}

/// When processes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) enum Looks {
    /// Once, at all of them.
    Once,
    /// In the rounds of two revisions.
    InRounds,
    /// At the first so many, and then at later looks for the open ones.
    After(usize),
}

/// A limit, and how surely it must be met or violated.
#[derive(Clone, Copy)]
pub(in crate::gate) struct LimitTest<'b> {
    /// On which side a number is to lie.
    pub comparison: Comparison,
    /// The limit.
    pub limit: f64,
    /// The error budget of the run.
    pub budget: &'b Budget,
    /// When processes are looked at.
    pub looks: Looks,
    /// Of how many configurations one suffices: each may be wrong so many times less often.
    pub one_of: usize,
}

impl LimitTest<'_> {
    /// The outcome of a configuration.
    pub(in crate::gate) fn judge(&self, known: &Observation) -> Sure {
        if let Some(interval) = known.interval {
            return self.by_interval(interval);
        }
        match (self.decide(known), self.looks) {
            (Sure::Open(_, look), Looks::Once | Looks::After(_)) => {
                Sure::Open(self.doubt(known), look)
            }
            (sure, _) => sure,
        }
    }

    /// As [`Self::judge`], without the reason of what is open where that takes time to find.
    pub(in crate::gate) fn decide(&self, known: &Observation) -> Sure {
        if known.class == Class::Exact || known.counted_once {
            return self.by_value(known);
        }
        match self.looks {
            Looks::InRounds => self.by_signs(&known.processes, 1.0, 0),
            Looks::Once => self.at_first(known),
            Looks::After(first) => match self.at_first(known) {
                Sure::Open(..) => self.by_signs(&known.processes, 1.0, first),
                sure => sure,
            },
        }
    }

    fn by_value(&self, known: &Observation) -> Sure {
        match self.comparison.holds(known.value, self.limit) {
            true => Sure::Within,
            false => Sure::Beyond,
        }
    }

    /// The outcome of an estimate: its whole interval is to lie on one side of the limit.
    fn by_interval(&self, Interval { low, high, .. }: Interval) -> Sure {
        let [at_low, at_high] = [low, high].map(|end| self.comparison.holds(end, self.limit));
        match (at_low, at_high) {
            (true, true) => Sure::Within,
            (false, false) => Sure::Beyond,
            (true, false) | (false, true) => {
                Sure::Open("the limit lies inside the interval of the estimate".into(), None)
            }
        }
    }

    /// The outcome of the first look, which is the only one without later looks.
    pub(in crate::gate) fn at_first(&self, known: &Observation) -> Sure {
        let first = match self.looks {
            Looks::After(first) => &known.processes[..first.min(known.processes.len())],
            Looks::Once | Looks::InRounds => &known.processes,
        };
        let distance = Distance::from_values(first, self.limit, known.resolution);
        distance.map_or_else(|| self.by_value(known), |distance| self.by_mean(&distance))
    }

    /// How improbable a pass and a failure must be by Student's t.
    fn levels(&self) -> (f64, f64) {
        let (pass, fail) = match self.looks {
            Looks::Once | Looks::InRounds => (1.0 - BOUND, self.budget.significance_fixed()),
            Looks::After(_) => (FIRST_LOOK_PASS, self.budget.significance_at_first()),
        };
        #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
        let configurations = self.one_of as f64;
        (pass / configurations, fail)
    }

    fn by_mean(&self, distance: &Distance) -> Sure {
        let (pass, fail) = self.levels();
        let (above, below) = (distance.probability_above(), distance.probability_below());
        let (beyond, within) = if self.upwards() { (above, below) } else { (below, above) };
        if within <= pass {
            Sure::Within
        } else if beyond <= fail {
            Sure::Beyond
        } else {
            Sure::Open(String::new(), None)
        }
    }

    fn upwards(&self) -> bool {
        matches!(self.comparison, Comparison::AtMost | Comparison::Below)
    }

    /// Why `known` is open, and the number of processes that would decide it.
    fn doubt(&self, known: &Observation) -> String {
        let count = known.processes.len();
        let Some(distance) = Distance::from_values(&known.processes, self.limit, known.resolution)
        else {
            return format!("{count} processes do not decide");
        };
        let (pass, fail) = self.levels();
        let outside = (distance.above > 0.0) == self.upwards();
        let (side, level) = if outside { ("beyond", fail) } else { ("inside", pass) };
        let amount_text = |amount: f64| match distance.relative {
            true => format!("{:.2}%", 100.0 * amount.abs().exp_m1()),
            false => format!("{:.4}", amount.abs()),
        };
        let needed = distance.processes_needed(level);
        format!(
            "{count} processes do not decide: their mean is {} {side} the limit, and the noise \
             reaches {}; {}",
            amount_text(distance.above),
            amount_text(distance.reach(level)),
            match self.looks {
                Looks::Once | Looks::InRounds => once(needed),
                Looks::After(_) => further(needed, count),
            }
        )
    }

    /// The outcome by the signs of processes at the looks after the first `after` of them; a pass
    /// has a `share` of its usual level.
    pub(in crate::gate) fn by_signs(&self, processes: &[f64], share: f64, after: usize) -> Sure {
        let bounds = match self.looks {
            Looks::Once | Looks::InRounds => &self.budget.fixed,
            Looks::After(_) => &self.budget.later,
        };
        let limit = Fixed { comparison: self.comparison, limit: self.limit, share, after };
        match bounds.decide_fixed(&limit, processes) {
            Decision::Within(_) => Sure::Within,
            Decision::Beyond(_) | Decision::SlowSubpopulation(_) => Sure::Beyond,
            Decision::Open { .. } => {
                let count = u32::try_from(processes.len()).unwrap_or(u32::MAX);
                let met = processes.iter().filter(|v| self.comparison.holds(**v, self.limit));
                let text = format!(
                    "{count} processes do not decide: {} of them meet the limit",
                    met.count()
                );
                Sure::Open(text, next_look(count))
            }
        }
    }

    /// The outcomes of the best of several configurations at several looks: the first processes
    /// choose [`CHOSEN`] of them, and the others judge these, so that the choice does not flatter
    /// them. Each comes with its index in `all`; `better` compares two of them.
    pub(in crate::gate) fn best_of_looks(
        &self,
        all: &[&[f64]],
        better: impl Fn(f64, f64) -> bool,
    ) -> Vec<(usize, Sure)> {
        let choosing = match self.looks {
            Looks::After(first) => first,
            Looks::Once | Looks::InRounds => CHOOSING,
        };
        let first = |values: &&[f64]| median(&values[..values.len().min(choosing)]);
        let mut order: Vec<(usize, f64)> =
            all.iter().enumerate().filter_map(|(at, values)| Some((at, first(values)?))).collect();
        order.sort_by(|a, b| match (better(a.1, b.1), better(b.1, a.1)) {
            (true, _) => std::cmp::Ordering::Less,
            (_, true) => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        });
        order.truncate(CHOSEN);
        let [first_look, ..] = LOOKS;
        let chosen_by = u32::try_from(choosing).unwrap_or(u32::MAX);
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let share = 1.0 / CHOSEN as f64;
        let judged = |(at, _): (usize, f64)| {
            let rest = all[at].get(choosing..).unwrap_or_default();
            let sure = match self.by_signs(rest, share, 0) {
                Sure::Open(text, look) => {
                    let look = if rest.is_empty() { Some(first_look) } else { look };
                    Sure::Open(text, look.map(|look| look + chosen_by))
                }
                sure => sure,
            };
            (at, sure)
        };
        order.into_iter().map(judged).collect()
    }
}

/// The advice where processes are looked at once, of which `needed` would decide.
fn once(needed: Option<u32>) -> String {
    match needed {
        Some(count) => format!("--repeat {count} would decide"),
        None => "no --repeat would decide: the limit is too close for this noise".to_owned(),
    }
}

/// The advice where more looks follow on these `count` processes.
fn further(needed: Option<u32>, count: usize) -> String {
    // The signs of a normal distribution contain 2/π of the information of its mean.
    let needed = needed.map(|needed| f64::from(needed) * FRAC_PI_2);
    let look = needed.and_then(|needed| {
        LOOKS.into_iter().find(|&look| look as usize > count && f64::from(look) >= needed)
    });
    match look {
        Some(look) => format!("about {look} would decide (--max-repeat {look})"),
        None => format!(
            "no --max-repeat up to {} would decide: the limit is too close for this noise",
            LOOKS[LOOKS.len() - 1]
        ),
    }
}
