//! Sections against the chips' real catalogues, by the pinned CUPTI.

use std::borrow::Cow;
use std::collections::BTreeSet;

use gpuprof_catalogue::sections::{Section, Sections, chip_of};
use gpuprof_cupti::{Host, HostApi, locate};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::words::Word;

use crate::cupti::pinned;

/// The catalogue of `chip`.
fn host(chip: &str) -> Host {
    let location = locate(Some(pinned())).unwrap_or_else(|e| panic!("{e}"));
    let api = HostApi::load(&location).unwrap_or_else(|e| panic!("{e}"));
    Host::new(api, chip, None).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

/// A chip of each family.
const FAMILIES: [&str; 7] = ["TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"];

type Names = BTreeSet<Cow<'static, str>>;

/// The counters that `section` needs on `chip`, of which `catalogue` is.
pub(crate) fn counters(catalogue: &Catalogue, section: &Section, chip: &str) -> Names {
    let columns = section.columns(Some(chip));
    let metrics: Vec<_> = columns.names().filter_map(|name| catalogue.find(name)).collect();
    metrics.iter().flat_map(|metric| catalogue.hardware_names(metric)).collect()
}

fn passes(host: &Host, chip: &str, names: &Names) -> usize {
    let has = |name: &&str| host.validate(name).is_ok();
    let names: Vec<&str> = names.iter().map(|name| &**name).filter(has).collect();
    if names.is_empty() {
        return 0;
    }
    let image = host.config_image(&names).unwrap_or_else(|e| panic!("{chip}: {e}"));
    host.passes(&image).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

#[test]
fn every_section_can_be_collected_on_every_family_of_chips() {
    let sections = Sections::built_in().unwrap();
    let mut left_out = String::new();
    for chip in FAMILIES {
        let host = host(chip);
        let catalogue = sections.catalogue_on(chip);
        for section in sections.iter() {
            for metric in section.metrics.iter().filter(|m| m.name_on(Some(chip)).is_none()) {
                left_out.push_str(&format!("{chip} {}: {}\n", section.id, metric.label));
            }
            let names = counters(&catalogue, section, chip);
            let refused = |name: &&Cow<'_, str>| host.config_image(&[&***name]).is_err();
            let refused: Vec<_> = names.iter().filter(refused).collect();
            // The links are of a kind that the chip has or lacks.
            if !refused.is_empty() && refused.len() == names.len() {
                left_out.push_str(&format!("{chip} {}: all\n", section.id));
            } else {
                assert!(refused.is_empty(), "{chip}: {}: {refused:?}", section.id);
            }
        }
    }
    // The counters that a family lacks; book/src/counters.md says why.
    assert_eq!(left_out, include_str!("left_out.txt"));
}

/// Without a chip no section could leave out counters that the chip lacks.
#[test]
fn every_profiled_compute_capability_has_a_known_chip() {
    let location = locate(Some(pinned())).unwrap_or_else(|e| panic!("{e}"));
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

/// `UPDATE_PASSES=1` updates them.
#[test]
fn the_passes_of_sections_and_sets_are_known() {
    let sections = Sections::built_in().unwrap();
    let sets: Vec<_> = cargo_gpuprof::options::Set::ALL.iter().map(|(set, ..)| set).collect();
    let mut lines: Vec<String> = sections.iter().map(|section| section.id.clone()).collect();
    lines.extend(sets.iter().map(|set| format!("--set={set:?}").to_lowercase()));
    let mut text = format!("chip {}\n", FAMILIES.join(" "));
    for chip in FAMILIES {
        let (host, catalogue) = (host(chip), sections.catalogue_on(chip));
        let alone = sections.iter().map(|section| counters(&catalogue, section, chip));
        let together = sets.iter().map(|set| {
            let held = sections.iter().filter(|section| section.sets.contains(set));
            held.flat_map(|section| counters(&catalogue, section, chip)).collect()
        });
        for (line, names) in lines.iter_mut().zip(alone.chain(together)) {
            line.push_str(&format!(" {}", passes(&host, chip, &names)));
        }
    }
    text.push_str(&(lines.join("\n") + "\n"));
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue/data/passes.txt");
    if std::env::var_os("UPDATE_PASSES").is_some() {
        std::fs::write(kept, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(kept).unwrap(), "UPDATE_PASSES=1 updates it");
}
