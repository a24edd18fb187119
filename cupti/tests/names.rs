//! Every counter that the model's tables name is one of the chip's, by the pinned CUPTI.
//!
//! Each test asks CUPTI in a process of its own: its host API was seen to fail, rarely, when several threads open it at once.

#[allow(dead_code, reason = "not every test needs all of it")]
mod common;

use std::collections::BTreeSet;

use gpuprof_cupti::{Host, HostApi, locate};
use gpuprof_model::metric::{CATALOGUE, find, hardware_names, legacy, legacy_refused};

/// The catalogue of `chip`.
fn host(chip: &str) -> Host {
    let location = locate(Some(common::pinned())).unwrap_or_else(|e| panic!("{e}"));
    let api = HostApi::load(&location).unwrap_or_else(|e| panic!("{e}"));
    Host::new(api, chip, None).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

/// What `names` the chip does not have, or cannot collect alone.
fn wrong(chip: &str, names: &BTreeSet<&str>) -> Vec<String> {
    let host = host(chip);
    let problem = |name: &&str| host.config_image(&[name]).err().map(|e| format!("{name}: {e}"));
    names.iter().filter_map(problem).collect()
}

#[test]
fn the_counters_of_older_names_are_collectable_on_gh100() {
    common::isolated("the_counters_of_older_names_are_collectable_on_gh100", || {
        let names: BTreeSet<&str> = legacy().flat_map(hardware_names).collect();
        assert!(names.len() > 150, "{}", names.len());
        assert_eq!(wrong("GH100", &names), Vec::<String>::new());
    });
}

#[test]
fn the_counters_of_older_names_are_collectable_on_ga100_but_for_the_pipe_of_16_bits() {
    common::isolated(
        "the_counters_of_older_names_are_collectable_on_ga100_but_for_the_pipe_of_16_bits",
        || {
            let names: BTreeSet<&str> = legacy().flat_map(hardware_names).collect();
            let wrong = wrong("GA100", &names);
            assert_eq!(wrong.len(), 1, "{wrong:#?}");
            assert!(wrong[0].starts_with("sm__inst_executed_pipe_fma_type_fp16."), "{wrong:#?}");
        },
    );
}

#[test]
fn the_counters_of_the_catalogue_are_collectable() {
    common::isolated("the_counters_of_the_catalogue_are_collectable", || {
        let names: BTreeSet<&str> = CATALOGUE.iter().flat_map(hardware_names).collect();
        for chip in ["GH100", "GA100"] {
            assert_eq!(wrong(chip, &names), Vec::<String>::new(), "{chip}");
        }
    });
}

#[test]
fn what_a_refusal_points_to_is_there() {
    common::isolated("what_a_refusal_points_to_is_there", || {
        let host = host("GH100");
        for (name, reason) in legacy_refused() {
            let words =
                reason.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
            for word in words.map(|word| word.trim_end_matches('.')).filter(|w| w.contains("__")) {
                assert!(find(word).is_some(), "{name}: {word}");
                host.validate(word).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
        }
    });
}
