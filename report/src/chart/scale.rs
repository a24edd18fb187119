//! Scales: the positions of values along an axis, and its ticks. Pure.
//!
//! Input: the values of an axis. Output: positions from 0 to 1. Whole numbers that grow by factors
//! are on a logarithmic scale, other whole numbers on a linear one, and words and extents at equal
//! distances.

use gpuprof_model::AxisValue;

use crate::number::grouped;

/// From this ratio of the largest to the smallest on, a scale is logarithmic.
const FACTOR: f64 = 8.0;

/// So is that of values of which each is at least this many times the one before: they double.
const STEP: f64 = 1.9;

/// The most ticks that an axis names.
const TICKS: usize = 12;

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    /// The position of each value, from 0 to 1, in the given order.
    pub places: Vec<f64>,
    /// The texts to show, each with its place.
    pub ticks: Vec<(f64, String)>,
    /// Whether the places are to scale, so that a line between two of them means something.
    pub to_scale: bool,
}

impl Scale {
    /// The scale of the values of an axis.
    pub fn of_axis(values: &[AxisValue]) -> Self {
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        let spread = numbers.and_then(|numbers| spread(&numbers));
        let to_scale = spread.is_some();
        let places = spread.unwrap_or_else(|| evenly(values.len()));
        // The first and the last are named, and as many between them as there is room for.
        let every = values.len().div_ceil(TICKS).max(1);
        let last = values.len().saturating_sub(1);
        let named =
            |at: &usize| *at == last || (at.is_multiple_of(every) && at + every / 2 <= last);
        let ticks = (0..values.len()).filter(named);
        let ticks = ticks.map(|at| (places[at], values[at].to_string())).collect();
        Self { places, ticks, to_scale }
    }
}

/// From this ratio of the largest to the smallest value on, they are on a logarithmic scale.
const DECADES: f64 = 20.0;

/// An axis of values, on a linear or logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Values {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Values {
    /// The axis of `values`, which has room for all of them. It begins at 0 unless all lie in a
    /// tenth of the largest; it is logarithmic where they span more than a decade.
    pub fn fit(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let linear = |low: f64, high: f64| Self { low, high, logarithmic: false };
        if !low.is_finite() || !high.is_finite() {
            return linear(0.0, 1.0);
        }
        if low == high {
            let edge = if high == 0.0 { 1.0 } else { 0.05 * high.abs() };
            return linear(if low > 0.0 { 0.0 } else { low - edge }, high + edge);
        }
        let margin = 0.08 * (high - low);
        if low > 0.0 && high >= DECADES * low {
            Self { low: low / 1.3, high: high * 1.3, logarithmic: true }
        } else if low > 0.0 && high - low < 0.1 * high {
            linear(low - margin, high + margin)
        } else {
            linear(low.min(0.0), high + margin)
        }
    }

    /// Where `value` lies, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let position = |value: f64| if self.logarithmic { value.ln() } else { value };
        (position(value) - position(self.low)) / (position(self.high) - position(self.low))
    }

    /// The remark for an axis that does not begin at 0.
    pub fn remark(&self) -> Option<&'static str> {
        match self.logarithmic {
            true => Some("logarithmic"),
            false => (self.low > 0.0).then_some("this axis does not begin at 0"),
        }
    }

    /// Round values with their texts.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.logarithmic {
            true => log_ticks(self.low, self.high),
            false => round_ticks(self.low, self.high),
        };
        let steps = values.windows(2).map(|pair| pair[1] - pair[0]);
        let step = steps.fold(f64::INFINITY, f64::min);
        let step = if step.is_finite() { step } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
        let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 9.0) as usize;
        values.into_iter().map(|value| (value, grouped(value, decimals))).collect()
    }
}

/// Round numbers that span `low..=high`: their distance is 1, 2 or 5 times a power of ten.
fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    let span = high - low;
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power);
    let first = (low / step).ceil();
    let last = ((high / step) + 1e-9).floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most ten")]
    let count = (last - first).clamp(0.0, 20.0) as u32;
    (0..=count).map(|at| (first + f64::from(at)) * step).collect()
}

/// 1, 2 and 5 times each power of ten in `low..=high`; the powers alone where those are many.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "exponents of finite numbers")]
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = if last - first > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (first..=last).flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

fn number(value: &AxisValue) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "a place on a chart")]
        AxisValue::Int(value) => Some(*value as f64),
        AxisValue::Dims(_) | AxisValue::Word(_) => None,
    }
}

/// The places of numbers; none where they do not differ.
fn spread(numbers: &[f64]) -> Option<Vec<f64>> {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let doubles = || {
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.len() > 2 && sorted.windows(2).all(|pair| pair[1] >= STEP * pair[0])
    };
    let by_factors = low > 0.0 && (high / low >= FACTOR || doubles());
    let transform = |value: f64| if by_factors { value.ln() } else { value };
    let span = transform(high) - transform(low);
    let place = |value: &f64| (transform(*value) - transform(low)) / span;
    (span > 0.0).then(|| numbers.iter().map(place).collect())
}

fn evenly(count: usize) -> Vec<f64> {
    let steps = count.saturating_sub(1).max(1);
    #[expect(clippy::cast_precision_loss, reason = "few values")]
    let place = |at: usize| if count == 1 { 0.5 } else { at as f64 / steps as f64 };
    (0..count).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ints(values: &[u64]) -> Vec<AxisValue> {
        values.iter().map(|&value| AxisValue::Int(value)).collect()
    }

    #[test]
    fn doubling_axes_are_evenly_spaced_and_linear_ones_to_scale() {
        assert_eq!(Scale::of_axis(&ints(&[64, 128, 256, 512])).places[1], 1.0 / 3.0);
        assert_eq!(Scale::of_axis(&ints(&[64, 128, 256])).places[1], 0.5);
        assert_eq!(Scale::of_axis(&ints(&[0, 10, 40])).places, [0.0, 0.25, 1.0]);
        let words = [AxisValue::Word("f32".into()), AxisValue::Word("f16".into())];
        assert_eq!(Scale::of_axis(&words).places, [0.0, 1.0]);
        assert_eq!(Scale::of_axis(&ints(&[7])).places, [0.5]);
    }

    #[test]
    fn a_long_axis_labels_its_ends_and_some_values_between() {
        let scale = Scale::of_axis(&ints(&(1..=100).collect::<Vec<_>>()));
        let texts: Vec<&str> = scale.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert!(texts.len() <= TICKS + 1 && texts[0] == "1", "{texts:?}");
        assert_eq!(texts.last(), Some(&"100"));
    }

    #[test]
    fn an_axis_begins_at_zero_unless_the_values_are_close_or_span_decades() {
        let of = |values: &[f64]| Values::fit(values.iter().copied());
        assert_eq!(of(&[10.0, 60.0]), Values { low: 0.0, high: 64.0, logarithmic: false });
        assert_eq!(of(&[10.0, 60.0]).remark(), None);
        assert_eq!(of(&[100.0, 102.0]).remark(), Some("this axis does not begin at 0"));
        assert_eq!(of(&[1.0, 100.0]).remark(), Some("logarithmic"));
        assert_eq!(of(&[]), Values { low: 0.0, high: 1.0, logarithmic: false });
        assert_eq!(of(&[0.0, 0.0]).place(0.0), 0.5);
    }

    #[test]
    fn ticks_are_at_round_numbers() {
        let texts = |values: &[f64]| -> Vec<String> {
            Values::fit(values.iter().copied()).ticks().into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(&[0.0, 64.0]), ["0", "20", "40", "60"]);
        assert_eq!(texts(&[100.0, 102.0]), ["100.0", "100.5", "101.0", "101.5", "102.0"]);
        assert_eq!(texts(&[1.0, 100.0]), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(
            texts(&[1.0, 1e6]),
            ["1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]
        );
    }

    proptest! {
        #[test]
        fn places_and_ticks_stay_inside(values in prop::collection::vec(0..u64::MAX, 1..40)) {
            let scale = Scale::of_axis(&ints(&values));
            prop_assert_eq!(scale.places.len(), values.len());
            prop_assert!(scale.places.iter().all(|place| (0.0..=1.0).contains(place)));
        }

        #[test]
        fn values_and_ticks_lie_on_their_axis(values in prop::collection::vec(-1e9..1e9_f64, 1..9)) {
            let axis = Values::fit(values.iter().copied());
            let inside = |value: f64| (-1e-6..=1.000_001).contains(&axis.place(value));
            prop_assert!(values.iter().all(|value| inside(*value)));
            let ticks = axis.ticks();
            prop_assert!((1..=22).contains(&ticks.len()), "{ticks:?}");
            prop_assert!(ticks.iter().all(|(tick, _)| inside(*tick)), "{ticks:?}");
        }
    }
}
