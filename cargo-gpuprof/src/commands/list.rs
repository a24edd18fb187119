//! `cargo gpuprof list`: kernels, axes, configuration counts.

use std::io::{self, Write};

use gpuprof_model::axis::{Axis, AxisKind};
use gpuprof_model::protocol::SeriesDescription;

use super::selection::{Named, selection};
use super::settings::{Layers, Settings};
use super::{Opened, Wanted};
use crate::options::{ListOptions, MessageFormat};
use gpuprof_engine::divide::{Division, describe_empty};
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_engine::plan::{self, PlannedSeries};
use gpuprof_report::Screen;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::printable_output::shown_within;
use gpuprof_system::{console, json_text};

/// Lists the selected series.
///
/// # Errors
/// Build, discovery, selection; standard output.
pub fn list(
    options: &ListOptions,
    screen: Screen,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<()> {
    let named = Named::from(&options.selection);
    named.check()?;
    let (archive, configuration) = (options.archive_file.clone(), options.configuration.file());
    let wanted = Wanted { archive, configuration, ..(&options.cargo).into() };
    let opened = Opened::new(&wanted)?;
    let layers = Layers::new(&opened.config, options.configuration.preset.as_deref())?;
    let settings = Settings::new(options.given.clone(), &layers);
    let (folder, source) = opened.build(settings.build_options(wanted.cargo))?;
    let folder = folder.path();
    let process = HarnessProcess::for_query(folder, interrupt);
    let described = source.describe(&process)?;
    let all = described.values().flatten();
    let selection = selection(&named, (&layers, &settings), all)?;
    let flat = described.into_iter().flat_map(|(h, all)| all.into_iter().map(move |s| (h, s)));
    let mut planned = plan::plan(flat, &selection)?;
    if let Some(part) = options.part.partition {
        let all: Vec<&PlannedSeries> = planned.iter().collect();
        let places = (&*source.root(), &*source.stored);
        let division = Division::new(&options.part.cut(part), &all, places)?;
        division.describe_time(&all).iter().for_each(console::say);
        planned = division.take(planned, |planned| planned);
        if planned.is_empty() {
            console::say(describe_empty(part));
        }
    }
    planned.iter().flat_map(|series| &series.unlisted).for_each(console::warn);
    let written = match settings.message_format.value {
        MessageFormat::Human => shown_within(out, screen.width, |mut out| {
            planned.iter().try_for_each(|series| human(series, &mut out))
        }),
        MessageFormat::Json => planned.iter().try_for_each(|series| json(series, out)),
    };
    written.map_err(Failure::standard_output)
}

fn human(planned: &PlannedSeries, out: &mut impl Write) -> io::Result<()> {
    let SeriesDescription { id, file, line, docs, space, thresholds, .. } = &planned.series;
    writeln!(out, "{id}  {file}:{line}")?;
    for line in docs.trim().lines() {
        writeln!(out, "{}", format!("    {}", line.trim()).trim_end())?;
    }
    for axis in &space.axes {
        // As the annotation writes it: an axis of types has no `const`.
        let is_constant = space.constants.contains_key(&axis.name);
        let constant = if is_constant && axis.kind() != AxisKind::Word { "const " } else { "" };
        let zip = space.zips.iter().find(|zip| zip.contains(&axis.name));
        let zipped = zip.map(|zip| format!("  (zip of {})", zip.join(", "))).unwrap_or_default();
        writeln!(out, "    {constant}{} = {}{zipped}", axis.name, values(axis))?;
    }
    for derived in &space.derived {
        writeln!(out, "    {} = {}", derived.name, derived.formula)?;
    }
    for filter in &space.filters {
        writeln!(out, "    where {filter}")?;
    }
    for threshold in thresholds {
        writeln!(out, "    threshold: {threshold}")?;
    }
    let (taken, all) = (planned.configurations.len(), space.points().combinations());
    let of_all = if taken as u64 == all { String::new() } else { format!(" of {all}") };
    writeln!(out, "    {taken}{of_all} configuration{}", if all == 1 { "" } else { "s" })
}

fn values(axis: &Axis) -> String {
    let texts: Vec<String> = axis.values.iter().map(ToString::to_string).collect();
    match texts.len() {
        0..=12 => texts.join(", "),
        count => format!("{}, …, {} ({count} values)", texts[..6].join(", "), texts[count - 1]),
    }
}

fn json(planned: &PlannedSeries, out: &mut impl Write) -> io::Result<()> {
    let line = serde_json::json!({
        "reason": "series",
        "series": planned.series,
        "configurations": planned.configurations.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    json_text::line(out, &line)
}
