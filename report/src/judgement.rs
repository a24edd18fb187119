//! Evidence: the values that decided a threshold, in words.
//!
//! Input: a judgement. Output: the value with its configuration, limit, margin and confidence,
//! or the reason where there is none; and the same of every other configuration that violates the
//! threshold.

use std::fmt;

use gpuprof_model::code::CostlyLine;
use gpuprof_model::comparison::{Confidence, Interval};
use gpuprof_model::quantity::decimals_of_percent;
use gpuprof_model::verdict::{Case, Judgement};
use gpuprof_model::{Quantity, Unit};

use gpuprof_analysis::compared_pair::confidence_text;

use super::estimates::{is_estimated, sign_of};
use super::source::and_more;

/// The most further violations in a report.
const TOLD: usize = 10;

/// "block=128: 110 (limit 105, baseline 100, 4.8% beyond)", with the `sign` of an estimate in front
/// of its values.
fn case_text(case: &Case, sign: &str) -> String {
    format!(
        "{}: {sign}{}{}{}",
        case.configuration,
        case.value,
        held_against(Some(case.limit), case.baseline, case.margin_percent, sign),
        sure(case.confidence.as_ref(), case.interval.as_ref(), case.value)
    )
}

/// How sure a value is: the interval of its difference from the baseline, or its own between
/// processes.
fn sure(confidence: Option<&Confidence>, interval: Option<&Interval>, value: Quantity) -> String {
    match (confidence, interval) {
        (Some(confidence), _) => format!("; {}", confidence_text(confidence)),
        (None, Some(Interval { low, high, level })) => {
            let [low, high] = [low, high].map(|&end| Quantity::new(end, value.unit));
            format!("; {:.0}% interval {low} … {high}", 100.0 * level)
        }
        (None, None) => String::new(),
    }
}

/// " (limit 105, baseline 100, 4.8% beyond)", with the `sign` of an estimate in front of the
/// baseline's value.
fn held_against(
    limit: Option<Quantity>,
    baseline: Option<Quantity>,
    margin_percent: Option<f64>,
    sign: &str,
) -> String {
    let Some(limit) = limit else { return String::new() };
    let baseline = baseline.map(|b| format!(", baseline {sign}{b}")).unwrap_or_default();
    let beyond = match margin_percent {
        Some(margin) if margin < 0.0 => {
            format!(", {:.*}% beyond", decimals_of_percent(margin), -margin)
        }
        _ => String::new(),
    };
    format!(" (limit {limit}{baseline}{beyond})")
}

/// "; most by src/lib.rs:12: 96 of 128 sectors of global loads", or "; changed most at
/// src/lib.rs:12: from 12 to 96 sectors of global loads".
fn costly_text(
    CostlyLine { cost, line, inlined_at, other_calls, amount, total, before, emulated }: &CostlyLine,
) -> String {
    let number = |value: &u64| Quantity::new(*value as f64, Unit::Count);
    let place = if *emulated { " on the emulated driver" } else { "" };
    let more = and_more(*other_calls);
    let call = inlined_at.iter().map(|call| format!(", inlined at {call}{more}"));
    let call = call.collect::<String>();
    let amount = number(amount);
    let (what, amounts) = match before {
        None => ("most by", format!("{amount} of {}", number(total))),
        Some(before) => ("changed most at", format!("from {} to {amount}", number(before))),
    };
    format!("; {what} {line}{call}: {amounts} {}{place}", cost.words())
}

/// The evidence of a judgement: its parts make one text.
#[derive(Default)]
pub(super) struct Evidence {
    /// "3.410 TB/s at block=256"; nothing if there is no value.
    pub(super) value: String,
    /// " (limit 2.880 TB/s)", and how sure the value is.
    pub(super) limit: String,
    /// The costly line, and the reason.
    pub(super) rest: String,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.value, self.limit, self.rest)
    }
}

/// "3.410 TB/s at block=256 (limit 2.880 TB/s)", or the reason if there is no value.
pub(super) fn evidence(judgement: &Judgement) -> Evidence {
    if let Some(value) = judgement.value {
        let place = match judgement.configuration.as_deref() {
            None | Some("") => String::new(),
            Some(key) => format!(" at {key}"),
        };
        let confidence = judgement.confidence.as_ref().filter(|_| judgement.reason.is_none());
        let sure = sure(confidence, judgement.interval.as_ref(), value);
        let sure = match is_estimated(judgement) {
            true => format!("; estimated{}", sure.replacen(';', ",", 1)),
            false => sure,
        };
        let sign = sign_of(judgement);
        let Judgement { limit, baseline, margin_percent, .. } = *judgement;
        let limit = held_against(limit, baseline, margin_percent, sign);
        let line = judgement.costly.as_ref().map(costly_text).unwrap_or_default();
        let reason = judgement.reason.iter().map(|reason| format!(": {reason}"));
        return Evidence {
            value: format!("{sign}{value}{place}"),
            limit: limit + &sure,
            rest: line + &reason.collect::<String>(),
        };
    }
    Evidence { rest: judgement.reason.clone().unwrap_or_default(), ..Evidence::default() }
}

/// As [`evidence`], with the line of the configuration file where the threshold is written there.
pub(super) fn evidence_with_place(judgement: &Judgement) -> String {
    match &judgement.place {
        Some(_) => format!("{} [{}]", evidence(judgement), judgement.written_in()),
        None => evidence(judgement).to_string(),
    }
}

/// The violations other than the deciding one, a line each; of many the first, and the number of
/// the rest.
pub(super) fn others(judgement: &Judgement) -> Vec<String> {
    let case_line = |case: &Case| case_text(case, sign_of(judgement));
    let mut lines: Vec<String> =
        judgement.violations.iter().skip(1).take(TOLD).map(case_line).collect();
    if let Some(more @ 1..) = judgement.violations.len().checked_sub(1 + TOLD) {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// [`evidence_with_place`] and a line for each of [`others`].
pub(super) fn in_full(judgement: &Judgement) -> String {
    let first = std::iter::once(evidence_with_place(judgement));
    first.chain(others(judgement)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_analysis::gate::judge::Baseline;
    use gpuprof_model::code::AccessCost;
    use gpuprof_model::metric::Catalogue;
    use gpuprof_model::threshold::Threshold;

    use super::*;

    #[test]
    fn a_baseline_of_estimates_has_the_sign_and_a_small_margin_its_decimals() {
        let count = |value| Some(Quantity::new(value, Unit::Count));
        assert_eq!(
            held_against(count(2688.0), count(2688.0), Some(-0.037), "≈"),
            " (limit 2,688, baseline ≈2,688, 0.04% beyond)"
        );
    }

    /// The evidence of `condition` for a row whose loads cost most in a line, which the emulated
    /// driver counted for a GPU if `emulated`.
    fn judged_evidence(condition: &str, emulated: bool) -> String {
        let mut row = fixture::emulated(64, 1 << 20);
        let line = |cost, line: &str, amount, total| CostlyLine {
            cost,
            line: line.to_owned(),
            inlined_at: emulated.then(|| "src/lib.rs:40".to_owned()),
            other_calls: usize::from(emulated),
            amount,
            total,
            before: None,
            emulated,
        };
        row.costly = vec![
            line(AccessCost::GlobalLoadSectors, "src/lib.rs:12", 1200, 1280),
            line(AccessCost::SharedLoadConflicts, "src/lib.rs:20", 7, 7),
        ];
        let threshold = Threshold::parse(condition).unwrap();
        let (catalogue, none) = (Catalogue::built_in(), Baseline::none());
        let judged = fixture::judge(&catalogue, &threshold, "attribute", &[row], None, &none);
        evidence(&judged).to_string()
    }

    #[test]
    fn verdicts_by_estimates_say_so_and_are_counted() {
        let judged = |condition: &str, row| {
            let threshold = Threshold::parse(condition).unwrap();
            let (catalogue, none) = (Catalogue::built_in(), Baseline::none());
            fixture::judge(&catalogue, &threshold, "attribute", &[row], None, &none)
        };
        let row = fixture::estimated(64, 1 << 20, 1000.0);
        let by_time = judged("every duration <= 9 us", row.clone());
        assert_eq!(
            evidence(&by_time).to_string(),
            "≈1 µs at block=64,n=1048576 (limit 9 µs); estimated, 90% interval 500 ns … 2 µs"
        );
        let Evidence { value, limit, rest } = evidence(&by_time);
        assert_eq!(value, "≈1 µs at block=64,n=1048576");
        assert!(limit.starts_with(" (limit 9 µs)") && rest.is_empty(), "{limit}{rest}");
        let mut of = fixture::series(vec![row.clone()]);
        of.judgements = vec![by_time, judged("every ptx_instructions <= 1e6", row)];
        let told = "One of 2 verdicts rests on estimated times (≈).";
        let run = fixture::run("r", vec![of]);
        assert_eq!(crate::estimates::sentence(&run).as_deref(), Some(told));
    }

    #[test]
    fn a_violated_threshold_on_accesses_names_the_line_that_costs_most() {
        let cost = ": 1,200 of 1,280 sectors of global loads";
        let call = ", inlined at src/lib.rs:40 and 1 more";
        for (emulated, call, end) in [(false, "", ""), (true, call, " on the emulated driver")] {
            let line = format!("; most by src/lib.rs:12{call}{cost}");
            let violated = judged_evidence("every load_sectors_per_request <= 1", emulated);
            assert!(violated.ends_with(&format!("{line}{end}")), "{violated}");
        }
        let grown = CostlyLine {
            cost: AccessCost::GlobalLoadSectors,
            line: "src/lib.rs:12".to_owned(),
            inlined_at: None,
            other_calls: 0,
            amount: 1200,
            total: 1280,
            before: Some(80),
            emulated: false,
        };
        let expected = "; changed most at src/lib.rs:12: from 80 to 1,200 sectors of global loads";
        assert_eq!(costly_text(&grown), expected);
        for other in ["every load_sectors_per_request <= 9", "every ptx_instructions <= 1"] {
            assert!(!judged_evidence(other, false).contains("most by"), "{other}");
        }
    }
}
