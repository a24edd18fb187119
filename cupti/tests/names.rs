//! Every counter in the model's tables exists on the chip, by the pinned CUPTI.
//!
//! Each test asks CUPTI in a separate process: its host API fails, rarely, if several threads open
//! it at once.

#[allow(dead_code, reason = "not every test needs all of it")]
mod common;

use std::borrow::Cow;
use std::collections::BTreeSet;

use gpuprof_cupti::{Host, HostApi, locate};
use gpuprof_model::metric::{Catalogue, legacy, legacy_refused};

/// The catalogue of `chip`.
fn host(chip: &str) -> Host {
    let location = locate(Some(common::pinned())).unwrap_or_else(|e| panic!("{e}"));
    let api = HostApi::load(&location).unwrap_or_else(|e| panic!("{e}"));
    Host::new(api, chip, None).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

/// Prefixes of names for which a family of chips has no counter.
const LACKS: [(&str, &[&str]); 4] = [
    ("GH100", &[]),
    ("GA100", &[]),
    ("AD102", &["nvlrx__", "nvltx__"]),
    ("GB100", &["lts__t_sectors_aperture_sysmem_op_", "smsp__warp_issue_stalled_imc_miss_"]),
];

/// The `names` that the chip does not have, or cannot collect alone.
fn wrong(chip: &str, names: &BTreeSet<Cow<'static, str>>) -> Vec<String> {
    let host = host(chip);
    let problem =
        |name: &Cow<'_, str>| host.config_image(&[&**name]).err().map(|e| format!("{name}: {e}"));
    names.iter().filter_map(problem).collect()
}

/// The whole table, on every family; a family's missing counters are listed by name.
#[test]
fn counters_of_old_names_are_collectable_except_known_gaps() {
    common::isolated("counters_of_old_names_are_collectable_except_known_gaps", || {
        for (chip, lacks) in LACKS {
            let catalogue = Catalogue::built_in().on_chip(chip);
            let metrics = legacy().filter_map(|metric| catalogue.find(&metric.name));
            let names: BTreeSet<_> =
                metrics.flat_map(|metric| catalogue.hardware_names(&metric)).collect();
            assert!(names.len() > 150, "{}", names.len());
            let wrong = wrong(chip, &names);
            let known = |name: &String| lacks.iter().any(|begins| name.starts_with(begins));
            assert!(wrong.iter().all(known), "{chip}: {wrong:#?}");
            let lacked = |begins: &&&str| wrong.iter().any(|name| name.starts_with(**begins));
            assert!(lacks.iter().all(|begins| lacked(&begins)), "{chip}: {wrong:#?}");
        }
    });
}

#[test]
fn the_counters_of_the_catalogue_are_collectable() {
    common::isolated("the_counters_of_the_catalogue_are_collectable", || {
        let catalogue = Catalogue::built_in();
        let names: BTreeSet<_> =
            catalogue.own().flat_map(|metric| catalogue.hardware_names(metric)).collect();
        for chip in ["GH100", "GA100", "AD102", "GB100", "GB202", "TU102"] {
            assert_eq!(wrong(chip, &names), Vec::<String>::new(), "{chip}");
        }
    });
}

#[test]
fn metrics_named_in_refusals_exist() {
    common::isolated("metrics_named_in_refusals_exist", || {
        let host = host("GH100");
        let catalogue = Catalogue::built_in();
        for (name, reason) in legacy_refused() {
            let words =
                reason.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
            for word in words.map(|word| word.trim_end_matches('.')).filter(|w| w.contains("__")) {
                assert!(catalogue.find(word).is_some(), "{name}: {word}");
                // The driver reports facts about a launch.
                if word.starts_with("launch__") {
                    continue;
                }
                host.validate(word).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
        }
    });
}
