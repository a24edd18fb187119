//! `cargo gpuprof metrics`: our catalogue, a chip's, sets and sections.
//!
//! Input: what to list. Output: text on standard output. A chip's counters come from CUPTI, which
//! needs no GPU; where it is not to be had, they come without descriptions from what this version
//! knows of the chip, and standard error says how to get CUPTI.

mod describe;
mod sets;
mod shown;

use std::io::{self, Write};
use std::path::Path;

use camino::Utf8Path;
use gpuprof_model::metric::{
    Catalogue, Metric, attributes, group, groups, launch_facts, legacy, legacy_refused,
};

use crate::chips::{self, BREAKDOWN, Chips, expanded};
use crate::config::{self, Config};
use crate::console;
use crate::cupti::{self, Answer, Described, Question};
use crate::error::{Failure, Result};
use crate::options::MetricsOptions;
use crate::sections::{self, SectionFile, Sections};
use shown::{described, show};

/// Prints what was asked for.
///
/// # Errors
/// A metric that is not there; sections or a configuration file that are wrong; standard output.
pub fn metrics(options: &MetricsOptions, out: &mut impl Write) -> Result<()> {
    let output = |e: io::Error| Failure::output(Path::new("standard output"), &e);
    let manifest = options.manifest_path.as_ref().map(|path| path.as_std_path().join(".."));
    let here = manifest.map_or_else(std::env::current_dir, |path| path.canonicalize()).ok();
    let root = here.as_deref().and_then(Utf8Path::from_path).map(settled_root);
    let mut sections = Sections::built_in()?;
    if let Some(root) = root {
        let (_, catalogue) = Config::load(root, None, sections.catalogue())?;
        sections = sections.with(&SectionFile::all(root)?, catalogue)?;
    }
    let known = sections.catalogue();
    if options.list_sets {
        let chip = options.chip.as_deref();
        return sets::list(&sections, chip, options.cupti_path.as_deref(), out);
    }
    let cupti = options.cupti_path.as_deref();
    if options.list_chips {
        return writeln!(out, "{}", chips::known(cupti)?.join("\n")).map_err(output);
    }
    let chips = Chips::shipped();
    if let Some(chip) = options.chip.as_deref().filter(|chip| !chips.knows(chip)) {
        let known = chips::known(cupti)?;
        if !known.contains(&chip.to_uppercase()) {
            return Err(Failure::usage(cupti::no_chip(chip, &known)));
        }
    }
    if options.list_sections {
        return list_sections(&sections, options.chip.as_deref(), out).map_err(output);
    }
    let named = options.describe.as_deref().or(options.search.as_deref());
    if let Some(metrics) = named.and_then(group) {
        return writeln!(out, "{}", metrics.join("\n")).map_err(output);
    }
    if let Some(name) = named.filter(|name| name.starts_with(BREAKDOWN)) {
        let metrics = expanded(vec![name.to_owned()], options.chip.as_deref())?;
        return writeln!(out, "{}", metrics.join("\n")).map_err(output);
    }
    // What is a metric's whole name is described as one, and not only looked for.
    let whole = options.search.as_deref().filter(|name| known.find(name).is_some());
    if let Some(name) = options.describe.as_deref().or(whole) {
        return describe::one(name, &sections, options, out);
    }
    let search = options.search.as_deref().unwrap_or("");
    let found = match &options.chip {
        None => catalogue(known, search, out),
        Some(chip) => counters(&of_chip(&chips, &chip.to_uppercase(), cupti)?, search, out),
    };
    if !found.map_err(output)? {
        return Err(Failure::usage(nothing(known, search, options.chip.as_deref())));
    }
    Ok(())
}

/// The metrics of a chip: as CUPTI describes them, or else as this version knows them.
///
/// # Errors
/// A chip that only CUPTI knows, and it cannot tell.
fn of_chip(chips: &Chips, chip: &str, cupti: Option<&Utf8Path>) -> Result<Vec<Described>> {
    let answer = cupti::ask(cupti, Question::Catalogue { chip: chip.to_owned() })?;
    let refusal = match answer {
        Answer::Catalogue(metrics) => return Ok(metrics),
        answer => answer.refusal(),
    };
    let Some(metrics) = chips.metrics(chip) else { return Err(Failure::usage(refusal.reason)) };
    console::say(format_args!(
        "{chip} as CUPTI {} knows it; descriptions and passes need CUPTI: {refusal}",
        chips.cupti()
    ));
    Ok(metrics.map(|metric| metric.described()).collect())
}

/// That nothing is called or described so, and where else to look.
fn nothing(known: &Catalogue, search: &str, chip: Option<&str>) -> String {
    match chip {
        None => {
            format!("{}\n--chip gh100 searches the counters of a chip", known.unknown(search))
        }
        Some(chip) => format!(
            "no counter of {} holds `{search}` in its name or description; leave out --chip to \
             search gpuprof's own metrics and the names of other profilers",
            chip.to_uppercase()
        ),
    }
}

/// The nearest folder with settings, as cargo would find the workspace, without asking cargo for
/// it.
fn settled_root(here: &Utf8Path) -> &Utf8Path {
    let settled = |folder: &&Utf8Path| {
        folder.join(config::DEFAULT_PATH).exists() || folder.join(sections::FOLDER).exists()
    };
    here.ancestors().find(settled).unwrap_or(here)
}

/// Lists what is ours; whether anything is.
fn catalogue(known: &Catalogue, search: &str, out: &mut impl Write) -> io::Result<bool> {
    let lower = search.to_lowercase();
    let matches = |m: &Metric| {
        m.name.to_lowercase().contains(&lower) || m.description.to_lowercase().contains(&lower)
    };
    let own = known.own().map(|metric| Metric::clone(metric)).chain(launch_facts());
    let own = own.chain(known.defined().map(|metric| Metric::clone(metric)));
    let mut found: Vec<Metric> = own.filter(matches).collect();
    // Device attributes and old names only where they were looked for: there are more of them than
    // of ours.
    if search.is_empty() {
        found.iter().try_for_each(|metric| show(known, metric, out))?;
        let (translated, refused) = (legacy().count(), legacy_refused().count());
        writeln!(
            out,
            "\n{} names from other profilers ({refused} of them without an equivalent) and {} \
             device attributes work as well; `cargo gpuprof metrics TEXT` searches them too",
            translated + refused,
            attributes().count()
        )?;
        return Ok(true);
    }
    found.extend(attributes().chain(legacy()).filter(matches));
    found.iter().try_for_each(|metric| show(known, metric, out))?;
    let refused: Vec<_> = legacy_refused().filter(|(name, _)| name.contains(&lower)).collect();
    for (name, reason) in &refused {
        writeln!(out, "{name}\n    no equivalent: {reason}")?;
    }
    let groups: Vec<_> = groups().filter(|(name, _)| name.contains(&lower)).collect();
    for (name, metrics) in &groups {
        writeln!(out, "{name}\n    {}", metrics.join(", "))?;
    }
    Ok(!found.is_empty() || !refused.is_empty() || !groups.is_empty())
}

/// Lists those of a chip's counters; whether there are any.
fn counters(metrics: &[Described], search: &str, out: &mut impl Write) -> io::Result<bool> {
    let lower = search.to_lowercase();
    let matches = |m: &&Described| {
        m.name.to_lowercase().contains(&lower) || m.description.to_lowercase().contains(&lower)
    };
    let mut any = false;
    for metric in metrics.iter().filter(matches) {
        writeln!(out, "{}\n{}", metric.name, described(metric, "    "))?;
        any = true;
    }
    Ok(any)
}

fn list_sections(sections: &Sections, chip: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let chip = chip.map(str::to_uppercase);
    for section in sections.iter() {
        writeln!(out, "{}  {}", section.id, section.title)?;
        let section = section.columns(chip.as_deref());
        for column in section.columns {
            writeln!(out, "    {}: {}", column.label, column.name)?;
        }
        for table in section.tables {
            writeln!(out, "    table {}", table.title)?;
            for row in table.rows {
                let cells =
                    table.columns.iter().zip(&row.cells).filter(|(_, name)| !name.is_empty());
                for (column, name) in cells {
                    writeln!(out, "        {}, {column}: {name}", row.label)?;
                }
            }
        }
    }
    Ok(())
}
