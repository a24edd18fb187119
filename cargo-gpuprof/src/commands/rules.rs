//! `cargo gpuprof rules`: the rules of advice, one of them in full, and the metrics that a run
//! lacks for them.
//!
//! Input: the rules of the binary and the workspace, and a stored run if one is named. Output: text
//! on standard output.

use std::io::{self, Write};

use camino::Utf8Path;
use gpuprof_analysis::advice::rule::{EstimateScope, Rule};
use gpuprof_analysis::advice::series::FINDINGS;
use gpuprof_analysis::advice::{AdviceContext, missing};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::suggest::did_you_mean;

use super::settings::Settings;
use super::stored::{layers, places, with_metrics_of};
use crate::options::RulesOptions;
use gpuprof_catalogue::rules::{self, load};
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::store::document;
use gpuprof_system::error::{Failure, Result};

/// Prints what was asked for.
///
/// # Errors
/// A rule or a run that is not there; a rule or a configuration file that is wrong; standard
/// output.
pub fn rules(options: &RulesOptions, out: &mut impl Write) -> Result<()> {
    let (root, target) = places(&options.place);
    let (layers, known) = layers(&root, &options.configuration)?;
    let settings = Settings::new(options.given.clone(), &layers);
    let folder = Settings::export(&settings.rules, &root);
    let run = match &options.run {
        Some(run) => Some(document::find(&target, run)?),
        None => None,
    };
    let catalogue =
        run.as_ref().map_or_else(|| known.clone(), |r| with_metrics_of(known.clone(), r));
    let all = match &run {
        Some(run) => rules::of_run(run, (&root, folder.as_deref()), &catalogue)?,
        None => load(&root, folder.as_deref(), &known)?,
    };
    let lacks = Lacks { run: run.as_ref(), catalogue: &catalogue, rules: &all };
    if let Some(id) = &options.rule {
        let Some(rule) = all.iter().find(|rule| rule.id == *id) else {
            return Err(Failure::usage(unknown(id, &all)));
        };
        return full(rule, &lacks, out).map_err(Failure::standard_output);
    }
    list(&all, &lacks, out).map_err(Failure::standard_output)?;
    match &options.chip {
        Some(chip) => {
            let cost = cost(&all, chip, options.cupti_path.as_deref())?;
            writeln!(out, "\n{cost}").map_err(Failure::standard_output)
        }
        None => Ok(()),
    }
}

/// The metrics that a run lacks for rules.
struct Lacks<'a> {
    run: Option<&'a Run>,
    catalogue: &'a Catalogue,
    rules: &'a [Rule],
}

impl Lacks<'_> {
    /// The metrics that no series of the run has; none without a run.
    fn find(&self, rule: &Rule) -> Option<Vec<String>> {
        let run = self.run?;
        let missing_in = |series: &SeriesResult| {
            let device = run.provenance.device_of(&series.id);
            let (rules, catalogue) = (self.rules, self.catalogue);
            missing(rule, series, &AdviceContext { rules, catalogue, device })
        };
        let each = run.series.iter().map(missing_in);
        Some(each.min_by_key(Vec::len).unwrap_or_default())
    }
}

fn list(all: &[Rule], lacks: &Lacks<'_>, out: &mut impl Write) -> io::Result<()> {
    for rule in all {
        writeln!(out, "{}  {}", rule.id, rule.name)?;
        match lacks.find(rule) {
            Some(missing) if missing.is_empty() => writeln!(out, "    the run has what it reads")?,
            Some(missing) => writeln!(out, "    lacks {}", missing.join(", "))?,
            None => writeln!(out, "    {}; {}", rule.certainty, estimated(rule))?,
        }
    }
    writeln!(out, "\nOf a whole series, without counters of their own:")?;
    FINDINGS.iter().try_for_each(|(id, what)| writeln!(out, "{id}\n    {what}"))
}

fn estimated(rule: &Rule) -> &'static str {
    match rule.estimates.first().map(|estimate| estimate.of) {
        Some(EstimateScope::Time) => "estimates what part of the time would go away",
        Some(EstimateScope::Use) => "estimates the better use of a unit",
        None => "estimates nothing",
    }
}

fn full(rule: &Rule, lacks: &Lacks<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}  {}", rule.id, rule.name)?;
    writeln!(out, "  written in {}", rule.written_in)?;
    writeln!(out, "  speaks where {}", rule.when)?;
    if let Some(unless) = &rule.unless {
        writeln!(out, "  but not where {unless}")?;
    }
    writeln!(out, "  says {}", rule.message.text())?;
    if let Some(remedy) = &rule.remedy {
        writeln!(out, "  remedy {}", remedy.text())?;
    }
    for estimate in &rule.estimates {
        let of = match estimate.of {
            EstimateScope::Time => "time",
            EstimateScope::Use => "use",
        };
        writeln!(out, "  estimate of {of}, in percent: {}", estimate.percent.text())?;
    }
    writeln!(out, "  certainty {}", rule.certainty)?;
    if let Some(tried) = &rule.tried_by {
        let way = if tried.higher { "higher" } else { "lower" };
        let name = &tried.name;
        writeln!(out, "  dropped where a neighbour has {way} {name} and none of those is faster")?;
    }
    if !rule.instead_of.is_empty() {
        writeln!(out, "  in place of {}", rule.instead_of.join(", "))?;
    }
    writeln!(out, "  reads")?;
    let required = rule.required();
    for input in &rule.inputs {
        let optional = if required.contains(&*input.name) { "" } else { " (for the estimate)" };
        writeln!(out, "    {} = {}{optional}", input.name, input.metrics.join(" or "))?;
    }
    for (name, formula) in &rule.lets {
        writeln!(out, "    {name} = {}", formula.text())?;
    }
    match lacks.find(rule) {
        Some(missing) if missing.is_empty() => writeln!(out, "  the run has what it reads"),
        Some(missing) => writeln!(out, "  the run lacks {}", missing.join(", ")),
        None => Ok(()),
    }
}

/// The cost of the counters of all rules on `chip`.
fn cost(all: &[Rule], chip: &str, cupti: Option<&Utf8Path>) -> Result<String> {
    let chip = chip.to_uppercase();
    let catalogue = Sections::built_in()?.catalogue_on(&chip);
    let metrics = rules::metrics(all, Some(&chip));
    let found = metrics.iter().filter_map(|metric| catalogue.find(metric));
    let names: std::collections::BTreeSet<String> =
        found.flat_map(|m| catalogue.hardware_names(&m)).map(|name| name.into_owned()).collect();
    let count = names.len();
    let names = names.into_iter().collect();
    Ok(match cupti::ask(cupti, Question::Cost { chip: chip.clone(), names, each: false })? {
        Answer::Cost(cost) => {
            let refused: Vec<&str> = cost.refused.iter().map(|(name, _)| &**name).collect();
            let without = match refused.as_slice() {
                [] => String::new(),
                names => format!(", without {}", names.join(", ")),
            };
            format!(
                "--advice on {chip}: {count} counters in {} passes for a configuration{without}",
                cost.passes
            )
        }
        answer => {
            format!(
                "--advice on {chip}: {count} counters; the passes need CUPTI: {}",
                answer.refusal()
            )
        }
    })
}

fn unknown(id: &str, all: &[Rule]) -> String {
    if let Some((_, what)) = FINDINGS.iter().find(|(finding, _)| *finding == id) {
        return format!("`{id}` is not a rule but part of gpuprof: it says {what}");
    }
    let near = did_you_mean(id, all.iter().map(|rule| &*rule.id))
        .unwrap_or_else(|| "`cargo gpuprof rules` lists them".to_owned());
    format!("no rule is named `{id}`: {near}")
}
