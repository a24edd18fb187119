//! `cargo gpuprof metrics`: our catalogue, a chip's, sets and sections.
//!
//! Comes in: what to list. Goes out: text on standard output. A chip's counters come from CUPTI, which needs no
//! GPU; where it is not to be had, our own catalogue is listed, and standard error says how to get CUPTI.

mod describe;

use std::io::{self, Write};
use std::path::Path;

use camino::Utf8Path;
use clap::ValueEnum;
use gpuprof_model::metric::{
    self, CATALOGUE, Class, Direction, LAUNCH, Metric, Origin, legacy, legacy_refused,
};

use crate::cli::{MetricsOptions, Set};
use crate::config::{self, Config};
use crate::cupti::{self, Answer, Described, Question, Refusal};
use crate::error::{Failure, Result};
use crate::sections::{self, Sections};

/// Prints what was asked for.
///
/// # Errors
/// A metric that is not there; sections or a configuration file that are wrong; standard output.
pub fn metrics(options: &MetricsOptions, out: &mut impl Write) -> Result<()> {
    let output = |e: io::Error| Failure::output(Path::new("standard output"), &e);
    let here = std::env::current_dir().ok();
    let root = here.as_deref().and_then(Utf8Path::from_path).map(settled_root);
    Sections::load(None)?;
    if let Some(root) = root {
        Config::load(root, None)?;
    }
    let ask = |question| cupti::ask(options.cupti_path.as_deref(), question);
    if options.list_sets {
        return sets(&Sections::load(root)?, out).map_err(output);
    }
    if options.list_sections {
        return list_sections(&Sections::load(root)?, options.chip.as_deref(), out).map_err(output);
    }
    if options.list_chips {
        return match ask(Question::Chips)? {
            Ok(Answer::Chips(chips)) => writeln!(out, "{}", chips.join("\n")).map_err(output),
            answer => Err(Failure::usage(refusal(answer))),
        };
    }
    if let Some(name) = &options.describe {
        return describe::one(name, options, out);
    }
    // What is a metric's whole name is described as one, and not only looked for.
    if let Some(name) = options.search.as_deref().filter(|name| describe::is_whole_name(name)) {
        return describe::one(name, options, out);
    }
    let search = options.search.as_deref().unwrap_or("").to_lowercase();
    if let Some(chip) = &options.chip {
        match ask(Question::Catalogue { chip: chip.clone() })? {
            Ok(Answer::Catalogue(metrics)) => {
                return counters(&metrics, &search, out).map_err(output);
            }
            // CUPTI is there, so it is the chip that is not.
            answer if ask(Question::Locate)?.is_ok() => {
                return Err(Failure::usage(refusal(answer)));
            }
            answer => eprintln!(
                "gpuprof: the counters of {chip} cannot be listed: {}\ngpuprof: our own catalogue follows",
                refusal(answer)
            ),
        }
    }
    catalogue(&search, out).map_err(output)
}

/// The nearest folder with settings, as cargo would find the workspace, without asking cargo for it.
fn settled_root(here: &Utf8Path) -> &Utf8Path {
    let settled = |folder: &&Utf8Path| {
        folder.join(config::DEFAULT_PATH).exists() || folder.join(sections::FOLDER).exists()
    };
    here.ancestors().find(settled).unwrap_or(here)
}

fn refusal(answer: std::result::Result<Answer, Refusal>) -> Refusal {
    answer.err().unwrap_or_else(|| "the answer was to another question".to_owned())
}

fn catalogue(search: &str, out: &mut impl Write) -> io::Result<()> {
    let matches = |m: &Metric| {
        m.name.to_lowercase().contains(search) || m.description.to_lowercase().contains(search)
    };
    let defined = metric::defined();
    let own = CATALOGUE.iter().chain(LAUNCH).chain(defined);
    let found: Vec<&Metric> = own.filter(|metric| matches(metric)).collect();
    found.iter().try_for_each(|metric| show(metric, out))?;
    // Old names only where they were looked for: there are more of them than of ours.
    if search.is_empty() {
        let (translated, refused) = (legacy().count(), legacy_refused().count());
        return writeln!(
            out,
            "\n{} names of older profilers are understood as well ({refused} are refused with the reason); \
             `cargo gpuprof metrics TEXT` searches them too",
            translated + refused
        );
    }
    legacy().filter(|metric| matches(metric)).try_for_each(|metric| show(metric, out))?;
    for (name, reason) in legacy_refused().filter(|(name, _)| name.contains(search)) {
        writeln!(out, "{name}\n    no equivalent: {reason}")?;
    }
    Ok(())
}

fn show(metric: &Metric, out: &mut impl Write) -> io::Result<()> {
    let better = match metric.direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    };
    let class = match (metric.class_on(true), metric.class_on(false)) {
        (Class::Exact, Class::Exact) => "exact",
        (Class::Exact, Class::Noisy) => "exact on the emulator, noisy on a GPU",
        (Class::Noisy, _) => "noisy",
    };
    let needs = match metric.origin {
        Origin::Time => "a GPU",
        Origin::Launch | Origin::Device => "the driver",
        Origin::Declared => "the annotation",
        Origin::Emulator if metric.name.starts_with("ptx__") => "the emulator",
        Origin::Emulator => "the emulator, or hardware counters",
        Origin::Hardware(name) => name,
        Origin::Derived(formula) => formula,
        Origin::Recorded => "a stored run",
    };
    let unit = match metric.unit.symbol() {
        "" => "a number",
        symbol => symbol,
    };
    writeln!(out, "{}\n    {}", metric.name, metric.description)?;
    writeln!(out, "    in {unit}; {better} is better; {class}; from: {needs}")
}

fn counters(metrics: &[Described], search: &str, out: &mut impl Write) -> io::Result<()> {
    let matches = |m: &&Described| {
        m.name.to_lowercase().contains(search) || m.description.to_lowercase().contains(search)
    };
    for Described { name, kind, description, dim_unit, .. } in metrics.iter().filter(matches) {
        writeln!(out, "{name}\n    {description}\n    {kind}{}", in_unit(dim_unit))?;
    }
    Ok(())
}

fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" of {unit}") }
}

fn sets(sections: &Sections, out: &mut impl Write) -> io::Result<()> {
    for set in Set::value_variants() {
        let value = set.to_possible_value();
        let help = value.as_ref().and_then(|v| v.get_help()).map(ToString::to_string);
        let name = value.map(|v| v.get_name().to_owned()).unwrap_or_default();
        let holds = sections.iter().filter(|section| section.sets.contains(set));
        let ids: Vec<&str> = holds.map(|section| section.id.as_str()).collect();
        writeln!(out, "{name}\n    {}\n    {}", help.unwrap_or_default(), ids.join(", "))?;
    }
    Ok(())
}

fn list_sections(sections: &Sections, chip: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let chip = chip.map(str::to_uppercase);
    if let Some(chip) = &chip {
        sections.settle(chip);
    }
    for section in sections.iter() {
        writeln!(out, "{}  {}", section.id, section.title)?;
        for column in section.columns(chip.as_deref()).columns {
            writeln!(out, "    {}: {}", column.label, column.name)?;
        }
    }
    Ok(())
}
