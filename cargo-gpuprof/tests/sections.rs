//! Sections against the chips' real catalogues, by the pinned CUPTI.

#[path = "../../cupti/tests/common/mod.rs"]
#[allow(dead_code, reason = "not every test needs all of it")]
mod cupti;

use std::collections::BTreeSet;

use cargo_gpuprof::sections::{Section, Sections};
use clap::ValueEnum;
use gpuprof_cupti::{Host, HostApi, locate};
use gpuprof_model::metric::{find, hardware_names};

/// The catalogue of `chip`.
fn host(chip: &str) -> Host {
    let location = locate(Some(cupti::pinned())).unwrap_or_else(|e| panic!("{e}"));
    let api = HostApi::load(&location).unwrap_or_else(|e| panic!("{e}"));
    Host::new(api, chip, None).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

/// The counters that `section` needs on `chip`.
fn counters(section: &Section, chip: &str) -> BTreeSet<&'static str> {
    let columns = section.columns(Some(chip)).columns;
    columns.iter().filter_map(|column| find(&column.name)).flat_map(hardware_names).collect()
}

fn passes(chip: &str, names: &BTreeSet<&str>) -> usize {
    if names.is_empty() {
        return 0;
    }
    let names: Vec<&str> = names.iter().copied().collect();
    let host = host(chip);
    let image = host.config_image(&names).unwrap_or_else(|e| panic!("{chip}: {e}"));
    host.passes(&image).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

#[test]
fn every_section_can_be_collected_on_every_family_of_chips() {
    for chip in ["TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"] {
        let host = host(chip);
        for section in Sections::load(None).unwrap().iter() {
            for name in counters(section, chip) {
                let problem = host.config_image(&[name]).err();
                assert!(problem.is_none(), "{chip}: {}: {name}: {}", section.id, problem.unwrap());
            }
        }
    }
}

#[test]
fn the_passes_of_sections_and_sets_are_known() {
    let sections = Sections::load(None).unwrap();
    let mut lines = String::new();
    for section in sections.iter() {
        let of = |chip| passes(chip, &counters(section, chip));
        lines.push_str(&format!("{} {} {}\n", section.id, of("GH100"), of("GA100")));
    }
    for set in cargo_gpuprof::cli::Set::value_variants() {
        let of = |chip| {
            let held = sections.iter().filter(|section| section.sets.contains(set));
            passes(chip, &held.flat_map(|section| counters(section, chip)).collect())
        };
        lines.push_str(&format!("{set:?} {} {}\n", of("GH100"), of("GA100")));
    }
    // Passes on GH100 and on GA100.
    assert_eq!(lines, include_str!("passes.txt"));
}
