//! `cargo gpuprof merge`: one stored run of the slices of a plan.
//!
//! Input: folders with slices. Output: a run in the target folder, judged over all of them, on
//! which reports, comparisons, baselines and exports work as on any other. It needs no GPU, no
//! archive and no cargo.

use std::io::Write;

use camino::Utf8PathBuf;
use gpuprof_analysis::advice;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::outcome::{Gate, RunOutcome};
use gpuprof_model::ExitCode;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Run;

use super::StandardOutput;
use super::run::baseline::new_baseline::NewBaseline;
use super::run::baseline::selected_baseline;
use super::run::{Exports, Storage, StoredView, prune};
use super::settings::{Layers, Settings};
use super::stored::{check_view, layers, places, with_metrics_of};
use super::view_settings::{self, PlacedView};
use crate::options::MergeOptions;
use gpuprof_catalogue::rules;
use gpuprof_engine::merge::{Slices, Union};
use gpuprof_engine::store::RunFolder;
use gpuprof_engine::store::baselines::Baselines;
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
    let slices = Slices::find(&options.from, options.prefer)?;
    let absent = slices.absent();
    if options.missing {
        let written = if absent.is_none() { Ok(()) } else { writeln!(out, "{}", absent.again()) };
        written.and_then(|()| out.flush()).map_err(Failure::standard_output)?;
        return Ok(ExitCode::Success);
    }
    let mut opened = Opened::new(options, root, target)?;
    if slices.is_strict() {
        opened.settings.make_strict();
    }
    let save_to = options.save_baseline.as_deref();
    let save_to =
        save_to.map(|name| Ok((name, opened.baselines.place_of_run(name)?))).transpose()?;
    let folder = RunFolder::create(&opened.target)?;
    let slice_notes = slices.notes();
    let union = slices.join(&folder.id, options.partial);
    let judged = union.and_then(|union| opened.judge(union));
    let Judged { run, base, compared } = judged.inspect_err(|_| folder.discard())?;
    let notes = opened.settings.notes();
    slice_notes.iter().for_each(console::say);
    // Without a counterpart, thresholds relative to it do not count yet, as in a run.
    let gate = Gate { first: save_to.is_some() && !compared, ..opened.settings.gate() };
    let outcome = RunOutcome::decide(&run, gate, []);
    let baseline = save_to
        .as_ref()
        .map(|(name, path)| NewBaseline::new(name, path, &run, outcome, absent.no_baseline(name)));
    let save = |outcome: RunOutcome| {
        folder.save(&run, base.as_ref(), outcome.exit_code, outcome.gate.gated)
    };
    let storage = Storage { save, baseline };
    let shown = StoredView { view: &opened.view.view, settings: &opened.settings, stdout };
    let outcome = opened.exports.conclude_stored(&run, outcome, storage, shown, out)?;
    prune(&opened.target, opened.settings.keep_runs.value, notes);
    Ok(outcome.exit_code)
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
}

/// A merged run.
struct Judged {
    run: Run,
    /// The other revision's, if the slices measured one.
    base: Option<Run>,
    /// Whether there is another side to compare the run with.
    compared: bool,
}

impl Opened {
    fn new(options: &MergeOptions, root: Utf8PathBuf, target: Utf8PathBuf) -> Result<Self> {
        let (layers, catalogue): (Layers, _) = layers(&root, &options.configuration)?;
        let settings = Settings::new(options.given.clone(), &layers);
        let view = view_settings::placed(&settings, options.view.all, options.verbose)?;
        let exports = Exports::open(&settings, &root)?;
        let baselines = Baselines::new(&root, &target);
        Ok(Self { root, target, settings, view, exports, catalogue, baselines })
    }

    /// Judges the run of slices.
    fn judge(&self, mut union: Union) -> Result<Judged> {
        self.settings.record_gate(&mut union.run.provenance);
        let catalogue = with_metrics_of(self.catalogue.clone(), &union.run);
        check_view(&self.view, &catalogue, &union.run)?;
        let mut against = match union.measured_base(self.settings.across_devices.value) {
            Some(base) => Some(base),
            None => self.baseline(&union)?,
        };
        against.iter_mut().for_each(|against| against.name_as(&union.run.series));
        let own = Settings::export(&self.settings.rules, &self.root);
        let rules = rules::of_run(&union.run, (&self.root, own.as_deref()), &catalogue)?;
        let base = union.base.take();
        let mut run = union.judge(&catalogue, against.as_ref())?;
        run.advice = advice::of_run(&run, &rules, &catalogue);
        let compared = against.is_some_and(|against| against.run.is_ok());
        Ok(Judged { run, base, compared })
    }

    /// The stored baseline to compare `union` with.
    fn baseline(&self, union: &Union) -> Result<Option<Against>> {
        selected_baseline::stored(
            &self.baselines,
            (&self.settings, &self.root),
            union.scope().clone(),
            None,
        )
    }
}
