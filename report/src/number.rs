//! Numbers of one column: one scale and one number of decimals, so that digits line up.
//!
//! Input: values in the base unit of their dimension. Output: the unit symbol for the header
//! and a text for each value, the smallest of them with about four significant digits.

pub(super) use gpuprof_model::quantity::grouped;
use gpuprof_model::quantity::{Unit, gpu_unit};

/// The scale of a column.
pub(super) struct Scale {
    /// The unit's symbol; empty for counts and ratios.
    pub symbol: &'static str,
    size: f64,
    decimals: usize,
    /// Whether the values are places of units of the GPU, which have names.
    names: bool,
}

impl Scale {
    /// The scale in which all `values` read well.
    pub fn choose(unit: Unit, values: &[f64]) -> Self {
        let nonzero = values.iter().map(|v| v.abs()).filter(|v| *v > 0.0);
        let smallest = nonzero.fold(f64::INFINITY, f64::min);
        let (symbol, size) = unit.scale_for(if smallest.is_finite() { smallest } else { 0.0 });
        let whole = values.iter().all(|v| (v / size).fract() == 0.0);
        let decimals = if whole || !smallest.is_finite() { 0 } else { decimals(smallest / size) };
        Self { symbol, size, decimals, names: unit == Unit::GpuUnit }
    }

    /// This scale with one digit less, for estimates.
    pub fn rounded(self) -> Self {
        Self { decimals: self.decimals.saturating_sub(1), ..self }
    }

    /// `title` with the unit, if there is one.
    pub fn titled(&self, title: &str) -> String {
        match self.symbol {
            "" => title.to_owned(),
            symbol => format!("{title} [{symbol}]"),
        }
    }

    /// One value, in the unit of the scale.
    pub fn scaled(&self, value: f64) -> f64 {
        value / self.size
    }

    /// The text of one value.
    pub fn text(&self, value: f64) -> String {
        match gpu_unit(value).filter(|_| self.names) {
            Some(name) => name.to_owned(),
            None => self.written(self.scaled(value)),
        }
    }

    /// The text of a value that is in the unit of the scale.
    pub fn written(&self, scaled: f64) -> String {
        grouped(scaled, self.decimals)
    }
}

/// Decimals that leave `magnitude` with four significant digits, or three below 1.
fn decimals(magnitude: f64) -> usize {
    let exponent = magnitude.log10().floor();
    let decimals = if exponent >= 0.0 { 3.0 - exponent } else { 2.0 - exponent };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let decimals = decimals.clamp(0.0, 9.0) as usize;
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(unit: Unit, values: &[f64]) -> (&'static str, Vec<String>) {
        let scale = Scale::choose(unit, values);
        (scale.symbol, values.iter().map(|&v| scale.text(v)).collect())
    }

    #[test]
    fn numbers_of_a_column_share_a_scale_and_are_aligned() {
        let (symbol, texts) = texts(Unit::Nanoseconds, &[72_345.6, 9_100.0, 1_234_567.8]);
        assert_eq!(
            (symbol, texts),
            ("µs", vec!["72.346".into(), "9.100".into(), "1,234.568".into()])
        );
    }

    #[test]
    fn counts_stay_whole_and_are_grouped() {
        let (symbol, texts) = texts(Unit::Count, &[0.0, 1_048_576.0, 32.0]);
        assert_eq!((symbol, texts), ("", vec!["0".into(), "1,048,576".into(), "32".into()]));
        assert_eq!(super::grouped(-0.001, 2), "0.00");
        assert_eq!(super::grouped(-1234.5, 1), "-1,234.5");
    }

    #[test]
    fn a_small_value_is_never_shown_as_zero() {
        assert_eq!(texts(Unit::Percent, &[0.00021, 12.5]).1, ["0.000210", "12.500000"]);
        assert_eq!(texts(Unit::Ratio, &[4.0, 4.25]).1, ["4.000", "4.250"]);
        assert_eq!(texts(Unit::Nanoseconds, &[]).0, "ns");
    }
}
