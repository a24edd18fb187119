//! The verdict: the conclusion of the run, and the evidence for each threshold.

use std::cmp::Reverse;

use gpuprof_analysis::gate::conclusion::stored_or_new;
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_model::comparison::Outcome;
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{Run, Status};
use gpuprof_model::verdict::{Judgement, Weight};
use maud::{Markup, html};

use super::prose::prose;
use super::section::Section;
use crate::conclusion::{self, List};
use crate::estimates::sign_of;
use crate::judgement::{Evidence, evidence, others};
use crate::{chart, summary_line};

/// The conclusion of a run that ended with `outcome`: one sentence, its reasons, its lists, and the
/// counts behind it.
pub(super) fn sentence(run: &Run, outcome: Option<RunOutcome>) -> Markup {
    let conclusion = conclusion::conclude_ended(run, outcome);
    let judged = stored_or_new(run).is_some();
    html! {
        @if !judged { (unjudged(run)) }
        @if let Some(conclusion) = &conclusion {
            @let (class, sign) = marked(conclusion.weight);
            p.verdict.(class) { (sign) " " (prose(&conclusion.sentence)) }
            @for note in &conclusion.notes { p { (prose(note)) } }
            @for list in &conclusion.lists { (listed(list)) }
        }
        @if !judged {
            @if let Some(list) = conclusion::unfinished_list(run) { (listed(&list)) }
        }
        p { (summary_line(run)) "." }
    }
}

/// What is said of a run without thresholds: what did not finish comes first.
fn unjudged(run: &Run) -> Markup {
    let rows = || run.series.iter().flat_map(|series| &series.configurations);
    let failed = rows().filter(|row| row.status.is_failure()).count();
    let finished = rows().any(|row| row.status == Status::Finished);
    html! {
        @if rows().count() > 0 && !finished {
            p.verdict.bad {
                "✘ Nothing was measured: none of " (rows().count()) " configurations finished."
            }
            p { code { "cargo gpuprof doctor" } " checks this machine." }
        } @else if failed > 0 {
            p.verdict.doubtful {
                "? " (failed) " of " (rows().count()) " configurations failed, and there are no thresholds \
                 to judge the others."
            }
        } @else {
            p.verdict.none {
                "There are no thresholds: this run says what was measured, and judges nothing."
            }
        }
    }
}

/// A list of failed, improved or undecided entries.
fn listed(list: &List) -> Markup {
    html! {
        h2.list { (list.title) }
        @if list.columns.is_empty() {
            ul { @for line in &list.lines { li { (prose(line)) } } }
        } @else {
            div.wide tabindex="0" role="region" aria-label=(list.title) {
                table {
                    thead { tr { @for column in &list.columns { th { (column.title) } } } }
                    tbody {
                        @for row in 0..list.columns[0].cells.len() {
                            tr {
                                @for column in &list.columns {
                                    td.number[column.numeric] data-label=(column.title) {
                                        (column.cells[row])
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @for rest in &list.rest { p.faint { (prose(rest)) } }
    }
}

/// How many thresholds that pass are shown without being asked for.
const PASSES: usize = 8;

/// Every judged threshold, the worst first; many passing ones are folded.
pub(super) fn thresholds(sections: &[Section<'_>]) -> Markup {
    let mut all: Vec<(&Section<'_>, &Judgement)> = sections
        .iter()
        .flat_map(|s| s.part.series.judgements.iter().map(move |judgement| (s, judgement)))
        .collect();
    all.sort_by_key(|(_, judgement)| Reverse(judgement.weight()));
    let passed = all.partition_point(|(_, judgement)| judgement.weight() != Weight::Fine);
    let (open, passed) = all.split_at(passed);
    html! {
        @if passed.len() <= PASSES {
            @if !all.is_empty() { (table("Thresholds", &all)) }
        } @else {
            @if !open.is_empty() { (table("Thresholds", open)) }
            details {
                summary { (passed.len()) " thresholds passed" }
                (table("Thresholds that passed", passed))
            }
        }
        @if !all.is_empty() {
            p.key {
                "● the value, to scale between the two numbers · bar: its interval, between processes or \
                 of the model (≈) · \
                 red line: the limit · margin: how far the value is from the limit, in percent of the \
                 limit; below 0 it is beyond · set by: the kernel's "
                code { "attribute" } ", a configuration file, " code { "--threshold" }
                " of the command line, or the " code { "default" } " gate of gpuprof"
            }
        }
    }
}

fn table(label: &str, rows: &[(&Section<'_>, &Judgement)]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(label) {
            table {
                thead {
                    tr {
                        th { "verdict" } th { "series" } th { "threshold" }
                        th { "value and limit" } th { "margin" } th { "decided by" } th { "set by" }
                    }
                }
                tbody {
                    @for (at, (section, judgement)) in rows.iter().enumerate() {
                        @let above = at.checked_sub(1).map(|above| rows[above].1);
                        (row(section, judgement, above.is_some_and(|it| says_the_same(it, judgement))))
                    }
                }
            }
        }
    }
}

/// Whether neither threshold has a value, for the same reason.
fn says_the_same(one: &Judgement, other: &Judgement) -> bool {
    one.value.is_none() && other.value.is_none() && one.reason == other.reason
}

/// A threshold; `repeated` if the one above it has the same reason.
fn row(section: &Section<'_>, judgement: &Judgement, repeated: bool) -> Markup {
    let (class, sign) = marked(judgement.weight());
    let place = judgement.configuration.as_deref().and_then(|key| section.row_of(key));
    let ends = judgement.interval.as_ref().map(|interval| (interval.low, interval.high));
    html! {
        tr {
            td.(class) { (sign) " " (judgement.word()) }
            td data-label="series" { a href={ "#" (section.id()) } { (section.part.series.id.name()) } }
            td data-label="threshold" { code { (judgement.threshold.text) } }
            td data-label="value and limit" {
                @if let (Some(value), Some(limit)) = (judgement.value, judgement.limit)
                    && value.unit != Unit::GpuUnit
                {
                    (chart::interval((sign_of(judgement), value), ends, limit))
                }
            }
            td.number data-label="margin" {
                @if let Some(margin) = judgement.margin_percent { (format!("{margin:+.1} %")) }
            }
            td data-label="decided by" {
                @match place {
                    Some(id) => {
                        @let Evidence { value, limit, rest } = evidence(judgement);
                        a href={ "#" (id) } { (prose(&(value + &limit))) } (prose(&rest))
                    }
                    None if repeated => "as above",
                    None => (prose(&evidence(judgement).to_string())),
                }
                @for line in others(judgement) { br; (prose(&line)) }
            }
            td data-label="set by" { (judgement.written_in()) }
        }
    }
}

/// The class and the sign of a weight.
fn marked(weight: Weight) -> (&'static str, &'static str) {
    match weight {
        Weight::Fine => ("fine", "✔"),
        Weight::Warning => ("warning", "!"),
        Weight::Doubtful => ("doubtful", "?"),
        Weight::Bad => ("bad", "✘"),
    }
}

/// The class of the outcome of a comparison, which sets its colour.
pub(super) fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Worse | Outcome::Missing => "bad",
        Outcome::Better => "fine",
        Outcome::Inconclusive | Outcome::Incomparable | Outcome::Changed => "doubtful",
        Outcome::Same | Outcome::New => "none",
    }
}
