//! The clauses of a series, a line each: axes, conditions and what is derived.

#![no_main]

use gpuprof_model::Space;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let clauses: Vec<&str> = text.lines().take(8).collect();
    match Space::from_clauses(&clauses) {
        Ok(space) => {
            for point in space.points().take(200).flatten() {
                for (axis, value) in &point.0 {
                    assert!(space.has(axis), "{axis}={value}");
                }
            }
        }
        Err(errors) => {
            for (at, error) in errors {
                let _ = error.render("--series", clauses[at]);
            }
        }
    }
});
