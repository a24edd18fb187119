//! The thresholds that a series is judged by.
//!
//! Input: the thresholds as written, the device, and the counterpart of the series on the other
//! side. Output: the written thresholds that apply, and the default ones unless a written one
//! replaces them. Invariant: the error budget and the forecast, which precede the measurement,
//! count the thresholds by the same rule as the judgements, which follow it.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::series::SeriesId;
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{FileLine, Layer};

use crate::gate::baseline::Against;
use crate::gate::default_thresholds::default_thresholds;
use crate::gate::default_time_limit::default_gate;

/// A threshold and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredThreshold {
    /// The threshold.
    pub threshold: Threshold,
    /// The layer that it comes from.
    pub origin: Layer,
    /// The line of the configuration file, if it is from there.
    pub place: Option<FileLine>,
}

impl ConfiguredThreshold {
    /// A `threshold` that is not from a file.
    pub fn new(threshold: Threshold, origin: Layer) -> Self {
        Self { threshold, origin, place: None }
    }
}

/// The counterpart of a series on the other side of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counterpart {
    /// The run is compared with nothing.
    NotCompared,
    /// The other side does not have the series.
    New,
    /// The other side has the series, or could not be read.
    Known,
}

impl Counterpart {
    /// The counterpart of the series `id` in `against`.
    pub fn find(id: &SeriesId, against: Option<&Against>) -> Self {
        match against.map(|against| &against.run) {
            None => Self::NotCompared,
            Some(Ok(run)) if run.series.iter().all(|series| series.id != *id) => Self::New,
            Some(_) => Self::Known,
        }
    }
}

/// The thresholds for a series that is not measured yet: those of `written` that apply, and the
/// default gate on time unless one of them replaces it. The default thresholds on exact metrics,
/// which depend on the measured values, are not among them: they ask no question of noise.
pub fn plan<'t>(
    written: impl IntoIterator<Item = &'t Threshold>,
    device: Option<&DeviceRecord>,
    counterpart: Counterpart,
) -> Vec<Threshold> {
    let written = written.into_iter().filter(|own| applies(own, device, counterpart));
    let mut all: Vec<Threshold> = written.cloned().collect();
    if counterpart == Counterpart::Known {
        let gate = not_replaced(vec![default_gate()], || all.iter());
        all.extend(gate);
    }
    all
}

/// The thresholds for `series`, a measured series of `run`.
pub(crate) fn in_force(
    catalogue: &Catalogue,
    series: &SeriesResult,
    written: &[ConfiguredThreshold],
    run: &Run,
    against: Option<&Against>,
) -> Vec<ConfiguredThreshold> {
    let counterpart = Counterpart::find(&series.id, against);
    let device = run.provenance.device_of(&series.id);
    let applies = |own: &&ConfiguredThreshold| applies(&own.threshold, device, counterpart);
    let mut all: Vec<ConfiguredThreshold> = written.iter().filter(applies).cloned().collect();
    if counterpart == Counterpart::Known {
        let theirs = against.and_then(|against| against.find_series(&series.id));
        let defaults = default_thresholds(catalogue, series, theirs);
        let kept = not_replaced(defaults, || all.iter().map(|own| &own.threshold)).into_iter();
        all.extend(kept.map(|default| ConfiguredThreshold::new(default, Layer::Default)));
    }
    all
}

/// Whether `threshold` applies to `device`; while that is unknown, it does.
pub(crate) fn applies_to(threshold: &Threshold, device: Option<&DeviceRecord>) -> bool {
    device.is_none_or(|device| threshold.applies_to_device(&device.name))
}

/// A new series has no counterpart, which is reported once, as new.
fn applies(own: &Threshold, device: Option<&DeviceRecord>, counterpart: Counterpart) -> bool {
    applies_to(own, device) && !(counterpart == Counterpart::New && own.needs_baseline())
}

/// The thresholds of `defaults` that none of `own` replaces.
fn not_replaced<'t, I: Iterator<Item = &'t Threshold>>(
    mut defaults: Vec<Threshold>,
    own: impl Fn() -> I,
) -> Vec<Threshold> {
    defaults.retain(|default| !own().any(|own| own.replaces(default)));
    defaults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{h200, run, series};

    #[test]
    fn a_limit_for_another_device_or_a_new_series_does_not_replace_the_default_gate() {
        let own = Threshold::parse("on \"A100\" every duration <= baseline + 20%").unwrap();
        let texts = |device: &str, counterpart| -> Vec<String> {
            let device = DeviceRecord { name: device.into(), ..h200() };
            let all = plan([&own], Some(&device), counterpart).into_iter();
            all.map(|threshold| threshold.text).collect()
        };
        let (own, none): (&[&str], &[&str]) = (&[own.text.as_str()], &[]);
        assert_eq!(texts("NVIDIA H200", Counterpart::Known), [default_gate().text]);
        assert_eq!(texts("NVIDIA A100", Counterpart::Known), own);
        assert_eq!(texts("NVIDIA A100", Counterpart::NotCompared), own);
        assert_eq!(texts("NVIDIA A100", Counterpart::New), none);
    }

    #[test]
    fn an_unreadable_baseline_leaves_no_series_new() {
        let known = series(Vec::new());
        let of = |run| {
            let (name, scope) = ("main".into(), crate::gate::baseline::Scope::whole());
            let against = Against { name, run, across_devices: false, in_rounds: false, scope };
            Counterpart::find(&known.id, Some(&against))
        };
        assert_eq!(of(Err("no such file".into())), Counterpart::Known);
        assert_eq!(of(Ok(run("b", vec![known.clone()]))), Counterpart::Known);
        assert_eq!(of(Ok(run("b", Vec::new()))), Counterpart::New);
        assert_eq!(Counterpart::find(&known.id, None), Counterpart::NotCompared);
    }
}
