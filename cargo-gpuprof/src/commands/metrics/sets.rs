//! The sets: the purpose of each, its sections, and with a chip its cost in passes.
//!
//! Input: the sections, and a chip. Output: three lines a set. CUPTI plans the passes, without a
//! GPU; without CUPTI, the recorded passes of our own sections are shown, and for other chips a
//! hint to install it.

use std::collections::BTreeSet;
use std::io::Write;

use camino::Utf8Path;
use gpuprof_model::words::Word;

use super::json::Line;
use crate::options::Set;
use gpuprof_catalogue::chips::recorded_passes;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_system::error::{Failure, Result};

/// One line for each set.
pub(super) fn lines(sections: &Sections) -> impl Iterator<Item = Line> + '_ {
    Set::ALL.iter().map(|(set, name, _)| {
        let holds = sections.iter().filter(|section| section.sets.contains(set));
        Line::Set {
            name: (*name).to_owned(),
            description: set.meaning().to_owned(),
            sections: holds.map(|section| section.id.clone()).collect(),
        }
    })
}

/// Lists the sets.
///
/// # Errors
/// As [`cupti::ask`]; standard output.
pub(super) fn list(
    sections: &Sections,
    chip: Option<&str>,
    cupti: Option<&Utf8Path>,
    out: &mut impl Write,
) -> Result<()> {
    for &(set, name, _) in Set::ALL {
        let holds = sections.iter().filter(|section| section.sets.contains(&set));
        let ids: Vec<&str> = holds.map(|section| section.id.as_str()).collect();
        writeln!(out, "{name}\n    {}\n    {}", set.meaning(), ids.join(", "))
            .map_err(Failure::standard_output)?;
        if let Some(chip) = chip {
            let chip = chip.to_uppercase();
            let cost = cost(sections, set, name, &chip, cupti)?;
            writeln!(out, "    on {chip}: {cost}").map_err(Failure::standard_output)?;
        }
    }
    Ok(())
}

/// The cost of the set on a chip, in words.
fn cost(
    sections: &Sections,
    set: Set,
    name: &str,
    chip: &str,
    cupti: Option<&Utf8Path>,
) -> Result<String> {
    let catalogue = sections.catalogue_on(chip);
    let chosen = sections.choose(&[set], &[], Some(chip))?;
    let metrics = chosen.iter().flat_map(|section| section.names());
    let found = metrics.filter_map(|metric| catalogue.find(metric));
    let names: BTreeSet<String> =
        found.flat_map(|m| catalogue.hardware_names(&m)).map(|name| name.into_owned()).collect();
    let names = names.into_iter().collect();
    let question = Question::Cost { chip: chip.to_owned(), names, each: false };
    Ok(match cupti::ask(cupti, question)? {
        Answer::Cost(cost) => passes(cost.passes),
        answer => match recorded_passes(chip, &format!("--set={name}")) {
            Some(recorded) => format!("{}, without sections of your own", passes(recorded)),
            None => format!("the passes need CUPTI: {}", answer.refusal()),
        },
    })
}

fn passes(count: usize) -> String {
    format!("{count} {} for a configuration", if count == 1 { "pass" } else { "passes" })
}
