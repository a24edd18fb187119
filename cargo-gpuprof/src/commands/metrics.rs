//! `cargo gpuprof metrics`: our catalogue, a chip's, sets and sections.
//!
//! Input: the selection. Output: text on standard output. A chip's counters come from CUPTI, which
//! needs no GPU; without it, they come without descriptions from this version's data, and standard
//! error says how to get CUPTI.

mod describe;
mod json;
mod sets;
mod text;

use std::io::{self, Write};

use camino::Utf8Path;
use gpuprof_model::metric::{
    Catalogue, Metric, attributes, group, groups, launch_facts, legacy, legacy_refused,
};
use gpuprof_model::run::SectionColumns;

use crate::config::{self, Config};
use crate::options::{MessageFormat, MetricsOptions};
use gpuprof_catalogue::chips::{self, BREAKDOWN, Chips, expanded};
use gpuprof_catalogue::sections::{self, Sections};
use gpuprof_engine::cupti::{self, Answer, Described, Question};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use json::Line;
use text::{described, show};

/// Prints what was asked for.
///
/// # Errors
/// A metric that is not there; sections or a configuration file that are wrong; standard output.
pub fn metrics(options: &MetricsOptions, out: &mut impl Write) -> Result<()> {
    let manifest = options.manifest_path.as_ref().map(|path| path.as_std_path().join(".."));
    let here = manifest.map_or_else(std::env::current_dir, |path| path.canonicalize()).ok();
    let root = here.as_deref().and_then(Utf8Path::from_path).map(settled_root);
    let mut sections = Sections::built_in()?;
    if let Some(root) = root {
        let (_, catalogue) = Config::load(root, None, sections.catalogue())?;
        let knows = |name: &str| chips::is_installed(options.cupti_path.as_deref(), name);
        sections = sections.over(catalogue).with(&sections::own(root)?, knows)?;
    }
    let known = sections.catalogue();
    let as_json = options.message_format == MessageFormat::Json;
    if options.list_sets {
        return match as_json {
            true => json::write(sets::lines(&sections), out).map_err(Failure::standard_output),
            false => {
                sets::list(&sections, options.chip.as_deref(), options.cupti_path.as_deref(), out)
            }
        };
    }
    let cupti = options.cupti_path.as_deref();
    if options.list_chips {
        return names(chips::known(cupti)?, as_json, out, |name| Line::Chip { name });
    }
    let chips = Chips::shipped();
    if let Some(chip) = options.chip.as_deref().filter(|chip| !chips.knows(chip)) {
        let known = chips::known(cupti)?;
        if !known.contains(&chip.to_uppercase()) {
            return Err(Failure::usage(cupti::no_chip(chip, &known)));
        }
    }
    if options.list_sections {
        let chip = options.chip.as_deref().map(str::to_uppercase);
        return match as_json {
            true => json::write(section_lines(&sections, chip.as_deref()), out),
            false => list_sections(&sections, chip.as_deref(), out),
        }
        .map_err(Failure::standard_output);
    }
    let named = options.describe.as_deref().or(options.search.as_deref());
    if let Some((name, metrics)) = named.and_then(|name| Some((name, group(name)?))) {
        let metrics = metrics.iter().map(ToString::to_string).collect();
        return several(name, metrics, as_json, out);
    }
    if let Some(name) = named.filter(|name| name.starts_with(BREAKDOWN)) {
        let metrics = expanded(vec![name.to_owned()], options.chip.as_deref())?;
        return several(name, metrics, as_json, out);
    }
    // What is a metric's whole name is described as one, and not only looked for.
    let whole = options.search.as_deref().filter(|name| known.find(name).is_some());
    if let Some(name) = options.describe.as_deref().or(whole) {
        return describe::one(name, &sections, options, out);
    }
    search(known, &chips, options, out)
}

/// Lists the matches of the search; everything without a search.
///
/// # Errors
/// Nothing matches; an unknown chip; standard output.
fn search(
    known: &Catalogue,
    chips: &Chips,
    options: &MetricsOptions,
    out: &mut impl Write,
) -> Result<()> {
    let as_json = options.message_format == MessageFormat::Json;
    let search = options.search.as_deref().unwrap_or("");
    let any = match &options.chip {
        None => {
            let found = Found::search(known, search);
            match as_json {
                true => json::write(found.lines(known), out),
                false => found.show(known, search, out),
            }
            .map_err(Failure::standard_output)?;
            found.any()
        }
        Some(chip) => {
            let chip = chip.to_uppercase();
            let all = of_chip(chips, &chip, options.cupti_path.as_deref())?;
            let found = counters(&all, search);
            match as_json {
                true => json::write(found.iter().map(|it| Line::counter(Some(&chip), it)), out),
                false => found
                    .iter()
                    .try_for_each(|it| writeln!(out, "{}\n{}", it.name, described(it, "    "))),
            }
            .map_err(Failure::standard_output)?;
            !found.is_empty()
        }
    };
    match any {
        true => Ok(()),
        false => Err(Failure::usage(nothing(known, search, options.chip.as_deref()))),
    }
}

/// Writes `all`, of which `line` makes a line of JSON each.
///
/// # Errors
/// Standard output.
fn names(
    all: Vec<String>,
    as_json: bool,
    out: &mut impl Write,
    line: impl Fn(String) -> Line,
) -> Result<()> {
    match as_json {
        true => json::write(all.into_iter().map(line), out),
        false => writeln!(out, "{}", all.join("\n")),
    }
    .map_err(Failure::standard_output)
}

/// Writes the `metrics` of the group `name`.
///
/// # Errors
/// Standard output.
fn several(name: &str, metrics: Vec<String>, as_json: bool, out: &mut impl Write) -> Result<()> {
    let group = || Line::Group { name: name.to_owned(), metrics: metrics.clone() };
    match as_json {
        true => group().write(out),
        false => writeln!(out, "{}", metrics.join("\n")),
    }
    .map_err(Failure::standard_output)
}

/// The metrics of a chip: as CUPTI describes them, or else as this version knows them.
///
/// # Errors
/// A chip that only CUPTI could know, and it does not answer.
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

/// Nothing matches; suggests where else to look.
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
pub(super) fn settled_root(here: &Utf8Path) -> &Utf8Path {
    let settled = |folder: &&Utf8Path| {
        folder.join(config::DEFAULT_PATH).exists() || folder.join(sections::FOLDER).exists()
    };
    here.ancestors().find(settled).unwrap_or(here)
}

/// What is ours, other profilers' and the device's, of which the name or the description holds a
/// text.
struct Found {
    metrics: Vec<Metric>,
    refused: Vec<(String, String)>,
    groups: Vec<(String, Vec<String>)>,
}

impl Found {
    /// Device attributes and old names only if searched for: they outnumber our metrics.
    fn search(known: &Catalogue, search: &str) -> Self {
        let lower = search.to_lowercase();
        let matches = |m: &Metric| {
            m.name.to_lowercase().contains(&lower) || m.description.to_lowercase().contains(&lower)
        };
        let own = known.own().map(|metric| Metric::clone(metric)).chain(launch_facts());
        let own = own.chain(known.defined().map(|metric| Metric::clone(metric)));
        let mut found = Self {
            metrics: own.filter(matches).collect(),
            refused: Vec::new(),
            groups: Vec::new(),
        };
        if !search.is_empty() {
            found.metrics.extend(attributes().chain(legacy()).filter(matches));
            let refused = legacy_refused().filter(|(name, _)| name.contains(&lower));
            found.refused = refused.map(|(name, why)| (name.into(), why.into())).collect();
            let groups = groups().filter(|(name, _)| name.contains(&lower));
            let texts = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
            found.groups = groups.map(|(name, of)| (name.into(), texts(of.to_vec()))).collect();
        }
        found
    }

    fn any(&self) -> bool {
        !self.metrics.is_empty() || !self.refused.is_empty() || !self.groups.is_empty()
    }

    fn lines<'f>(&'f self, known: &'f Catalogue) -> impl Iterator<Item = Line> + 'f {
        let metrics = self.metrics.iter().map(|metric| Line::metric(known, metric));
        let refused = self.refused.iter().cloned().map(|(name, why)| Line::Refused { name, why });
        let groups =
            self.groups.iter().cloned().map(|(name, metrics)| Line::Group { name, metrics });
        metrics.chain(refused).chain(groups)
    }

    fn show(&self, known: &Catalogue, search: &str, out: &mut impl Write) -> io::Result<()> {
        self.metrics.iter().try_for_each(|metric| show(known, metric, out))?;
        for (name, reason) in &self.refused {
            writeln!(out, "{name}\n    no equivalent: {reason}")?;
        }
        for (name, metrics) in &self.groups {
            writeln!(out, "{name}\n    {}", metrics.join(", "))?;
        }
        if !search.is_empty() {
            return Ok(());
        }
        let (translated, refused) = (legacy().count(), legacy_refused().count());
        writeln!(
            out,
            "\n{} names from other profilers ({refused} of them without an equivalent) and {} \
             device attributes work as well; `cargo gpuprof metrics TEXT` searches them too",
            translated + refused,
            attributes().count()
        )
    }
}

/// Those of a chip's counters of which the name or the description holds `search`.
fn counters<'m>(metrics: &'m [Described], search: &str) -> Vec<&'m Described> {
    let lower = search.to_lowercase();
    let matches = |m: &&Described| {
        m.name.to_lowercase().contains(&lower) || m.description.to_lowercase().contains(&lower)
    };
    metrics.iter().filter(matches).collect()
}

/// The sections, a line each.
fn section_lines<'s>(
    sections: &'s Sections,
    chip: Option<&'s str>,
) -> impl Iterator<Item = Line> + 's {
    sections.iter().map(move |section| {
        let SectionColumns { columns, sampled, .. } = section.columns(chip);
        let columns = columns.into_iter().map(|column| column.name);
        let metrics = columns.chain(sampled.into_iter().map(|counter| counter.name)).collect();
        Line::Section { id: section.id.clone(), title: section.title.clone(), metrics }
    })
}

fn list_sections(sections: &Sections, chip: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    for section in sections.iter() {
        writeln!(out, "{}  {}", section.id, section.title)?;
        let section = section.columns(chip);
        for column in section.columns {
            writeln!(out, "    {}: {}", column.label, column.name)?;
        }
        for counter in section.sampled {
            writeln!(out, "    over time, {}: {}", counter.label, counter.name)?;
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
