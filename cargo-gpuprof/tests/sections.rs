//! Sections against the chips' real catalogues, by the pinned CUPTI.

#![cfg(target_os = "linux")]

#[path = "../../cupti/tests/common/mod.rs"]
#[allow(dead_code, reason = "not every test needs all of it")]
mod cupti;

use std::collections::BTreeSet;
use std::sync::Mutex;

use cargo_gpuprof::sections::{Section, Sections, chip_of};
use clap::ValueEnum;
use gpuprof_cupti::{Host, HostApi, locate};
use gpuprof_model::metric::{find, hardware_names};

/// The catalogue of `chip`.
fn host(chip: &str) -> Host {
    let location = locate(Some(cupti::pinned())).unwrap_or_else(|e| panic!("{e}"));
    let api = HostApi::load(&location).unwrap_or_else(|e| panic!("{e}"));
    Host::new(api, chip, None).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

/// What a section's metric is made of may depend on the chip, and a process settles that for one
/// chip at a time.
static ONE_CHIP: Mutex<()> = Mutex::new(());

/// All sections, settled for `chip`.
fn sections_on(chip: &str) -> Sections {
    let sections = Sections::load(None).unwrap();
    sections.settle(chip);
    sections
}

/// The counters that `section` needs on `chip`.
fn counters(section: &Section, chip: &str) -> BTreeSet<&'static str> {
    let columns = section.columns(Some(chip));
    let metrics: Vec<_> = columns.names().filter_map(|name| find(name)).collect();
    metrics.into_iter().flat_map(hardware_names).collect()
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
    let _one = ONE_CHIP.lock().unwrap();
    let mut left_out = String::new();
    for chip in ["TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"] {
        let host = host(chip);
        for section in sections_on(chip).iter() {
            for metric in section.metrics.iter().filter(|m| m.name_on(Some(chip)).is_none()) {
                left_out.push_str(&format!("{chip} {}: {}\n", section.id, metric.label));
            }
            for name in counters(section, chip) {
                let problem = host.config_image(&[name]).err();
                assert!(problem.is_none(), "{chip}: {}: {name}: {}", section.id, problem.unwrap());
            }
        }
    }
    // What a family has no counter for; book/src/counters.md says why.
    assert_eq!(left_out, include_str!("left_out.txt"));
}

/// Without a chip no section could leave out what that chip lacks.
#[test]
fn every_capability_that_cupti_profiles_has_a_chip_that_it_knows() {
    let location = locate(Some(cupti::pinned())).unwrap_or_else(|e| panic!("{e}"));
    let known = HostApi::load(&location).unwrap().chips().unwrap();
    let capabilities: [(u32, u32); 16] = [
        (7, 0),
        (7, 2),
        (7, 5),
        (8, 0),
        (8, 6),
        (8, 7),
        (8, 9),
        (9, 0),
        (10, 0),
        (10, 1),
        (10, 3),
        (11, 0),
        (12, 0),
        (12, 1),
        // Nobody's, and too old.
        (6, 0),
        (99, 0),
    ];
    for capability in capabilities {
        match chip_of(capability) {
            Some(chip) => assert!(known.iter().any(|name| name == chip), "{chip}"),
            None => assert!(capability.0 < 7 || capability.0 > 12, "{capability:?}"),
        }
    }
}

#[test]
fn the_passes_of_sections_and_sets_are_known() {
    let _one = ONE_CHIP.lock().unwrap();
    let ids = Sections::load(None).unwrap();
    let sets = cargo_gpuprof::options::Set::value_variants();
    let mut lines: Vec<String> = ids.iter().map(|section| section.id.clone()).collect();
    lines.extend(sets.iter().map(|set| format!("--set {set:?}").to_lowercase()));
    // Passes on these chips, in this order.
    for chip in ["GH100", "GA100", "AD102", "GB100"] {
        let sections = sections_on(chip);
        let alone = sections.iter().map(|section| counters(section, chip));
        let together = sets.iter().map(|set| {
            let held = sections.iter().filter(|section| section.sets.contains(set));
            held.flat_map(|section| counters(section, chip)).collect()
        });
        for (line, names) in lines.iter_mut().zip(alone.chain(together)) {
            line.push_str(&format!(" {}", passes(chip, &names)));
        }
    }
    assert_eq!(lines.join("\n") + "\n", include_str!("passes.txt"));
}
