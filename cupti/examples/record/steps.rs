//! The time of every step.

use std::time::Instant;

use serde_json::{Value, json};

/// Steps in the order in which they ran, in milliseconds.
#[derive(Default)]
pub(crate) struct Steps(Vec<(String, f64)>);

impl Steps {
    pub(crate) fn time<T>(&mut self, name: &str, step: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = step();
        self.add(name, begin);
        result
    }

    pub(crate) fn add(&mut self, name: &str, begin: Instant) {
        self.0.push((name.into(), begin.elapsed().as_secs_f64() * 1e3));
    }

    pub(crate) fn to_json(&self) -> Value {
        self.0
            .iter()
            .map(|(step, ms)| json!({"step": step, "ms": (ms * 1e3).round() / 1e3}))
            .collect()
    }
}
