//! `cargo gpuprof merge`: one stored run of the slices of a plan.
//!
//! Input: folders with slices. Output: a run in the target folder, judged over all of them, on
//! which reports, comparisons, baselines and exports work as on any other. It needs no GPU, no
//! archive and no cargo.

mod absent;
mod agree;
mod chosen;
mod judged;
mod parts;
mod spans;
mod union;

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use camino::Utf8PathBuf;
use gpuprof_analysis::advice;
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::outcome::{Gate, RunOutcome};
use gpuprof_model::ExitCode;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{MissingSlices, Run, SharedRows};

use super::StandardOutput;
use super::run::against;
use super::run::new_baseline::NewBaseline;
use super::run::{Exports, prune};
use super::settings::{Layers, Settings};
use super::stored::{check_view, layers, places, with_metrics_of};
use super::viewed::{self, PlacedView};
use crate::options::{MergeOptions, MessageFormat};
use absent::Absent;
use gpuprof_catalogue::rules;
use gpuprof_engine::store::RunFolder;
use gpuprof_engine::store::baseline::Baselines;
use gpuprof_engine::store::manifest::{Outline, OutlineScope, OwnSeries};
use gpuprof_engine::store::slices::{self, StoredSlice};
use gpuprof_report::{Format, FormatSettings};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

/// Merges the slices that `options` name.
///
/// # Errors
/// No slices, or slices of different plans (exit code 2); invalid files (exit code 96); output that
/// cannot be written (exit code 110).
pub fn merge(
    options: &MergeOptions,
    stdout: StandardOutput,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let (root, target) = places(&options.place);
    if !options.missing {
        RunFolder::remove_last_verdict(&target);
    }
    let all = slices::all(&options.from, &mut SharedRows::default())?;
    agree::check(&all)?;
    agree::journals(&all)?;
    let (mut all, twice) = chosen::chosen(all, options.prefer);
    agree::disjoint(&all)?;
    let absent = Absent::find(&all);
    if options.missing {
        let written = if absent.is_none() { Ok(()) } else { writeln!(out, "{}", absent.again()) };
        written.and_then(|()| out.flush()).map_err(Failure::standard_output)?;
        return Ok(ExitCode::Success);
    }
    let mut opened = Opened::new(options, root, target)?;
    if all.iter().any(|slice| slice.manifest.provenance.strict) {
        opened.settings.make_strict();
    }
    let Some(plan) = all.first().map(|slice| slice.manifest.plan.clone()) else {
        return Err(Failure::usage("no slice to merge"));
    };
    let save_to = options.save_baseline.as_deref();
    let save_to =
        save_to.map(|name| Ok((name, opened.baselines.place_of_run(name)?))).transpose()?;
    let folder = RunFolder::create(&opened.target)?;
    let lacks = absent.record(plan.slices, options.partial);
    let judged = join(&opened, &folder.id, (&plan, &mut all), lacks);
    let joined = judged.inspect_err(|_| folder.discard())?;
    let run = &joined.run;
    let notes = opened.settings.notes();
    twice.iter().for_each(console::say);
    all.iter().filter_map(lost_lines).for_each(console::say);
    absent.lines(&plan).iter().for_each(console::say);
    // Without a counterpart, thresholds relative to it do not count yet, as in a run.
    let gate = Gate { first: save_to.is_some() && !joined.compared, ..opened.settings.gate() };
    let outcome = RunOutcome::decide(run, gate, []);
    let kept = save_to.as_ref().map(|(name, path)| {
        NewBaseline::new((name, path), (run, outcome), absent.no_baseline(name))
    });
    let outcome = kept.as_ref().map_or(outcome, |kept| kept.adjust(outcome));
    let outcome = opened.write(&folder, &joined, outcome, stdout, out)?;
    if let Some(kept) = kept {
        kept.write(run, notes)?;
    }
    prune(&opened.target, opened.settings.keep_runs.value, notes);
    Ok(outcome.exit_code)
}

/// Lines of a second process in the journal of a slice do not count, and are reported.
fn lost_lines(slice: &StoredSlice) -> Option<String> {
    let (dropped, folder) = (slice.found.dropped, &slice.folder);
    (dropped > 0).then(|| {
        format!(
            "{folder}: two processes measured this slice at once; {dropped} lines of the one that \
             began earlier do not count"
        )
    })
}

/// The workspace, or the folder where none is, with its settings.
struct Opened {
    root: Utf8PathBuf,
    target: Utf8PathBuf,
    settings: Settings,
    view: PlacedView,
    exports: Exports,
    catalogue: Catalogue,
    baselines: Baselines,
    /// The user's folder of rules, in addition to the workspace's.
    rules: Option<Utf8PathBuf>,
}

impl Opened {
    fn new(options: &MergeOptions, root: Utf8PathBuf, target: Utf8PathBuf) -> Result<Self> {
        let (layers, catalogue): (Layers, _) = layers(&root, &options.configuration)?;
        let settings = Settings::new(options.given.clone(), &layers);
        let view = viewed::placed(&settings, options.view.all, options.verbose)?;
        let exports = Exports::open(&settings, &root)?;
        let baselines = Baselines::new(&root, &target);
        let rules = Settings::export(&settings.rules, &root);
        Ok(Self { root, target, settings, view, exports, catalogue, baselines, rules })
    }

    /// The other side of the comparison: the other revision that every slice measured, or a stored
    /// baseline.
    fn against(&self, plan: &Outline, base: Option<&Run>) -> Result<Option<Against>> {
        let OutlineScope { whole, filters, other_packages, targets } = plan.scope.clone();
        let scope = Scope { whole, filters, other_packages, targets };
        let across_devices = self.settings.across_devices.value;
        if let (Some(name), Some(base)) = (&plan.base, base) {
            // On the emulated driver nothing is timed, and so nothing is in rounds.
            let in_rounds = base.provenance.device.as_ref().is_some_and(|d| !d.emulated);
            let run = Ok(base.clone());
            return Ok(Some(Against { name: name.clone(), run, across_devices, in_rounds, scope }));
        }
        let Some(name) = self.settings.baseline_of(&self.root) else { return Ok(None) };
        let run = against::found(&self.baselines, &name, &self.settings, false)?.into();
        Ok(Some(Against { name, run, across_devices, in_rounds: false, scope }))
    }

    /// Writes the run to its folder, to the files that are asked for, and shows it. All are tried.
    fn write(
        &self,
        folder: &RunFolder,
        Joined { run, base, .. }: &Joined,
        outcome: RunOutcome,
        stdout: StandardOutput,
        out: &mut impl Write,
    ) -> Result<RunOutcome> {
        let save = |outcome: RunOutcome| {
            folder.save(run, base.as_ref(), outcome.exit_code, outcome.gate.gated)
        };
        let format = match self.settings.message_format.value {
            MessageFormat::Json => Format::JsonLines,
            MessageFormat::Human => Format::Table,
        };
        let screen = stdout.screen(self.settings.color.value);
        let show = |outcome, out: &mut dyn Write| {
            let report = format.report(FormatSettings { screen, outcome: Some(outcome) });
            report.write_as(&self.view.view, run, out)
        };
        self.exports.conclude(run, (outcome, Ok(())), save, (self.settings.notes(), out), show)
    }
}

/// Slices as one run.
struct Joined {
    /// The run, judged.
    run: Run,
    /// The other revision's, if the slices measured one.
    base: Option<Run>,
    /// Whether there is another side to compare the run with.
    compared: bool,
}

/// The run `id` that `slices` of `plan` make.
fn join(
    opened: &Opened,
    id: &str,
    (plan, slices): (&Outline, &mut [StoredSlice]),
    lacks: Option<MissingSlices>,
) -> Result<Joined> {
    let mut union = union::join(id, slices)?;
    spans::add(&mut union.run.provenance, slices)?;
    union.run.provenance.missing_slices = lacks;
    opened.settings.record_gate(&mut union.run.provenance);
    if let Some(base) = &mut union.base {
        for slice in &*slices {
            base.provenance.sources.join(slice.base_sources()?);
        }
    }
    let catalogue = with_metrics_of(opened.catalogue.clone(), &union.run);
    check_view(&opened.view, &catalogue, &union.run)?;
    let base = union.base.take();
    let mut against = opened.against(plan, base.as_ref())?;
    against.iter_mut().for_each(|against| against.name_as(&union.run.series));
    let rules = rules::of_run(&union.run, (&opened.root, opened.rules.as_deref()), &catalogue)?;
    let mut run = judged::run(union, (plan, &each(slices)), &catalogue, against.as_ref())?;
    if let Some(comparison) = &mut run.comparison {
        comparison.notes = notes(slices);
    }
    run.advice = advice::of_run(&run, &rules, &catalogue);
    let compared = against.is_some_and(|against| against.run.is_ok());
    Ok(Joined { run, base, compared })
}

/// The slices' notes on the comparison, each once.
fn notes(slices: &[StoredSlice]) -> Vec<String> {
    let mut said = HashSet::new();
    let all = slices.iter().flat_map(|slice| &slice.manifest.notes);
    all.filter(|note| said.insert(*note)).cloned().collect()
}

/// The slices' notes on each series of the run, in its order.
fn each(slices: &[StoredSlice]) -> Vec<OwnSeries> {
    let mut own: BTreeMap<usize, OwnSeries> = BTreeMap::new();
    for series in slices.iter().flat_map(|slice| &slice.manifest.own) {
        own.entry(series.position).or_insert_with(|| series.clone());
    }
    own.into_values().collect()
}

#[cfg(test)]
mod tests;
