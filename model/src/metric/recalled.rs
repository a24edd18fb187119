//! Metrics that a stored run holds and that nothing else here knows: those of somebody's
//! configuration file or sections, as they were when the run was made.
//!
//! Input: what the run says of a metric. Output: a metric that [`super::find`] finds from then
//! on, for the life of the process. What is known otherwise stays as it is.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Class, Direction, Metric, Origin};
use crate::quantity::Unit;

static RECALLED: Mutex<BTreeMap<&'static str, &'static Metric>> = Mutex::new(BTreeMap::new());

/// The metric that was recalled as `name`.
pub(super) fn find(name: &str) -> Option<&'static Metric> {
    RECALLED.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
}

/// Every metric that was recalled, by name.
pub(super) fn recalled() -> Vec<&'static Metric> {
    RECALLED.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
}

/// Makes known the metric `name` of a stored run, where none is called so.
pub fn recall(name: &str, unit: Unit, direction: Direction, class: Class) {
    if super::find(name).is_some() {
        return;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let metric: &'static Metric = Box::leak(Box::new(Metric {
        name,
        unit,
        direction,
        class,
        origin: Origin::Recorded,
        description: "a metric of a stored run",
    }));
    RECALLED.lock().unwrap_or_else(PoisonError::into_inner).insert(name, metric);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{find, hardware_names, unknown};

    #[test]
    fn what_a_run_holds_is_known_as_the_run_has_it_and_what_was_known_stays() {
        recall("r_loads", Unit::Bytes, Direction::Higher, Class::Exact);
        let metric = find("r_loads").unwrap();
        assert_eq!((metric.unit, metric.direction), (Unit::Bytes, Direction::Higher));
        assert_eq!(metric.class_on(false), Class::Exact);
        assert!(hardware_names(metric).is_empty());
        recall("r_loads", Unit::Count, Direction::Lower, Class::Noisy);
        recall("duration", Unit::Count, Direction::Higher, Class::Exact);
        assert_eq!(find("r_loads").unwrap().unit, Unit::Bytes);
        assert_eq!(find("duration").unwrap().unit, Unit::Nanoseconds);
        assert!(unknown("r_lods").ends_with("did you mean `r_loads`?"), "{}", unknown("r_lods"));
    }
}
