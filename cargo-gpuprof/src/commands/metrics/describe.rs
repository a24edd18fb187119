//! Describes one metric: its meaning, its hardware unit, its cost.
//!
//! Input: a name of a threshold, or a counter's with or without a roll-up. Output: our own entry
//! with its formula and passes; for a single counter of the chip, its kind, hardware unit and
//! submetrics. NVIDIA's description and the passes come from CUPTI: if it does not answer, standard
//! error says why.

use std::borrow::Cow;
use std::io::Write;

use gpuprof_model::failure::MetricRefusal;
use gpuprof_model::metric::{Catalogue, DEVICE_ATTRIBUTE, Origin};

use super::json::{self, Line};
use super::text::{described, show, show_grounds};
use crate::options::{MessageFormat, MetricsOptions};
use gpuprof_catalogue::chips::{self, Chips};
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::cupti::{self, Answer, Described, Question, Refusal, RefusalKind};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

/// The default chip: the one of the emulated driver and the documentation.
const DEFAULT_CHIP: &str = "GH100";

/// Describes the metric `name`.
///
/// # Errors
/// A metric that is not there, with the nearest names, or a roll-up that it does not have, with
/// those it has.
pub(super) fn one(
    name: &str,
    sections: &Sections,
    options: &MetricsOptions,
    out: &mut impl Write,
) -> Result<()> {
    let chip = options.chip.as_deref().unwrap_or(DEFAULT_CHIP).to_uppercase();
    // A section's definition may use other counters on this chip.
    let catalogue = sections.catalogue_on(&chip);
    let known = catalogue.find(name);
    let own = known.filter(|metric| metric.origin != Origin::Hardware(metric.name.clone()));
    let Some(own) = own else { return counter(&catalogue, name, &chip, options, out) };
    if options.message_format == MessageFormat::Json {
        Line::metric(&catalogue, &own).write(out).map_err(Failure::standard_output)?;
        for counter in catalogue.hardware_names(&own) {
            ask_about(&counter, &chip, options)?
                .line(&counter, &chip)
                .write(out)
                .map_err(Failure::standard_output)?;
        }
        return Ok(());
    }
    show(&catalogue, &own, out).map_err(Failure::standard_output)?;
    show_grounds(&catalogue, &own, out).map_err(Failure::standard_output)?;
    let counters = catalogue.hardware_names(&own);
    let text = match counters.as_slice() {
        [] if catalogue.counts_instructions(&own) => {
            "    costs no counter pass; on a GPU another process for each configuration\n"
                .to_owned()
        }
        [] => "    costs no counter pass\n".to_owned(),
        [counter] => match ask_about(counter, &chip, options)? {
            OnChip::Found(of_chip) if *counter == own.name => of_chip.text(&chip, ""),
            OnChip::Found(of_chip) => format!("    by {counter}\n{}", of_chip.text(&chip, "    ")),
            OnChip::Refused(reason) => {
                format!("    not available on {chip}, or unknown here: {reason}\n")
            }
        },
        several => cost(several, &chip, options)?,
    };
    out.write_all(text.as_bytes()).map_err(Failure::standard_output)
}

/// A counter of the chip that is not one of our metrics.
fn counter(
    catalogue: &Catalogue,
    name: &str,
    chip: &str,
    options: &MetricsOptions,
    out: &mut impl Write,
) -> Result<()> {
    match ask_about(name, chip, options)? {
        OnChip::Found(of_chip) => {
            if options.message_format == MessageFormat::Json {
                let metric = catalogue.find(name).map(|metric| Line::metric(catalogue, &metric));
                let lines = metric.into_iter().chain([OnChip::Found(of_chip).line(name, chip)]);
                return json::write(lines, out).map_err(Failure::standard_output);
            }
            match catalogue.find(name) {
                Some(metric) => show(catalogue, &metric, out)
                    .and_then(|()| show_grounds(catalogue, &metric, out)),
                // A counter without a roll-up has no value, and so no direction.
                None => writeln!(out, "{name}"),
            }
            .and_then(|()| out.write_all(of_chip.text(chip, "").as_bytes()))
            .map_err(Failure::standard_output)
        }
        OnChip::Refused(_) if catalogue.find(name).is_none() && !counters_name(name) => {
            Err(Failure::usage(catalogue.unknown(name)))
        }
        OnChip::Refused(refusal) => {
            let near = match refusal.kind {
                RefusalKind::UnknownMetric => {
                    chips::nearest(options.cupti_path.as_deref(), chip, name)?
                }
                RefusalKind::Other => None,
            };
            let near = near.map(|near| format!("; {near}")).unwrap_or_default();
            Err(Failure::usage(format!("{refusal}{near}")))
        }
    }
}

/// Whether `name` could be a counter's, which only the chip's list knows.
fn counters_name(name: &str) -> bool {
    name.contains("__") && !name.starts_with("launch__") && !name.starts_with(DEVICE_ATTRIBUTE)
}

/// What is known of a counter on a chip.
enum OnChip {
    /// The chip has it.
    Found(OfChip),
    /// CUPTI refuses it, or no catalogue knows it.
    Refused(Refusal),
}

impl OnChip {
    /// What is known of `name` as a line of JSON.
    fn line(self, name: &str, chip: &str) -> Line {
        match self {
            Self::Refused(refusal) => {
                Line::Refused { name: name.to_owned(), why: refusal.to_string() }
            }
            Self::Found(OfChip { described, submetrics: of_chip, passes: told }) => {
                let mut line = Line::counter(Some(chip), &described);
                if let Line::Counter { submetrics, passes, .. } = &mut line {
                    (*submetrics, *passes) = (Some(of_chip), told.flatten());
                }
                line
            }
        }
    }
}

/// What is said about a counter that a chip has.
struct OfChip {
    described: Described,
    submetrics: Vec<String>,
    /// The passes it takes alone, none if it cannot be collected; `None` if CUPTI does not answer.
    passes: Option<Option<usize>>,
}

impl OfChip {
    /// Its lines, indented by `more` than those of a metric.
    fn text(&self, chip: &str, more: &str) -> String {
        let described = described(&self.described, &format!("{more}    "));
        let cost = match self.passes {
            Some(Some(count)) => format!("{} alone", passes(count)),
            Some(None) => "cannot be collected alone".to_owned(),
            None => "its passes need CUPTI".to_owned(),
        };
        let submetrics = self.submetrics.join(" ");
        format!("{described}\n{more}    on {chip}: {cost}\n{more}    submetrics: {submetrics}\n")
    }
}

/// A counter's description from CUPTI, or else from this version.
fn ask_about(name: &str, chip: &str, options: &MetricsOptions) -> Result<OnChip> {
    let question = Question::Describe { chip: chip.to_owned(), name: name.to_owned() };
    let refusal = match cupti::ask(options.cupti_path.as_deref(), question)? {
        Answer::Described { metric: described, submetrics, passes } => {
            return Ok(OnChip::Found(OfChip { described, submetrics, passes: Some(passes) }));
        }
        answer => answer.refusal(),
    };
    let chips = Chips::shipped();
    if refusal.kind == RefusalKind::UnknownMetric || !chips.knows(chip) {
        return Ok(OnChip::Refused(refusal));
    }
    Ok(match chips.find(name, Some(chip)) {
        Ok(metric) => {
            console::say(&refusal);
            let (described, submetrics) = (metric.described(), metric.submetrics().to_vec());
            OnChip::Found(OfChip { described, submetrics, passes: None })
        }
        Err(problem) => {
            let kind = match problem.refused().kind {
                MetricRefusal::UnknownMetric => RefusalKind::UnknownMetric,
                MetricRefusal::WrongRollup => RefusalKind::Other,
            };
            OnChip::Refused(Refusal { kind, reason: problem.to_string() })
        }
    })
}

/// The common cost of several counters.
fn cost(names: &[Cow<'_, str>], chip: &str, options: &MetricsOptions) -> Result<String> {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let list = names.join(", ");
    let question = Question::Cost { chip: chip.to_owned(), names: names.clone(), each: false };
    Ok(match cupti::ask(options.cupti_path.as_deref(), question)? {
        Answer::Cost(cost) if cost.refused.is_empty() => {
            format!("    on {chip}: {} alone, by {list}\n", passes(cost.passes))
        }
        Answer::Cost(cost) => {
            let reasons: Vec<String> = cost.refused.into_iter().map(|(_, reason)| reason).collect();
            format!("    not on {chip}: {}\n", reasons.join("; "))
        }
        answer => {
            let chips = Chips::shipped();
            let problems = names.iter().filter_map(|name| chips.validate(name, Some(chip)).err());
            let reasons: Vec<String> = problems.map(|problem| problem.to_string()).collect();
            match reasons.as_slice() {
                [] => format!("    on {chip} by {list}\n    {}\n", answer.refusal()),
                reasons => format!("    not on {chip}: {}\n", reasons.join("; ")),
            }
        }
    })
}

fn passes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "pass" } else { "passes" })
}
