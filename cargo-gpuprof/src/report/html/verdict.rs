//! The verdict: one sentence, and what decided each threshold.

use gpuprof_model::run::Run;
use gpuprof_model::verdict::{Judgement, Weight};
use maud::{Markup, html};

use super::section::Section;
use crate::report::chart;
use crate::report::evidence::{evidence, others};
use crate::report::summary_line;

/// How the run went, in one sentence, and the counts behind it.
pub(super) fn sentence(run: &Run) -> Markup {
    let judgements = || run.series.iter().flat_map(|series| &series.judgements);
    let some = |weight: Weight| judgements().any(|judgement| judgement.weight() == weight);
    let (class, sentence) = if some(Weight::Bad) {
        ("bad", "✘ A threshold is violated.")
    } else if some(Weight::Doubtful) {
        ("doubtful", "? Not every threshold could be decided.")
    } else if some(Weight::Warning) {
        ("warning", "! Every threshold that can fail the run holds; a warning does not.")
    } else if judgements().next().is_some() {
        ("fine", "✔ Every threshold holds.")
    } else {
        ("none", "There are no thresholds: this run says what was measured, and judges nothing.")
    };
    html! {
        p.verdict.(class) { (sentence) }
        p { (summary_line(run)) "." }
    }
}

/// Every judged threshold, the worst first.
pub(super) fn thresholds(sections: &[Section<'_>]) -> Markup {
    let mut all: Vec<(&Section<'_>, &Judgement)> = sections
        .iter()
        .flat_map(|s| s.part.series.judgements.iter().map(move |judgement| (s, judgement)))
        .collect();
    all.sort_by_key(|(_, judgement)| match judgement.weight() {
        Weight::Bad => 0,
        Weight::Doubtful => 1,
        Weight::Warning => 2,
        Weight::Fine => 3,
    });
    html! {
        @if !all.is_empty() {
            div.wide tabindex="0" role="region" aria-label="Thresholds" {
                table {
                    thead {
                        tr {
                            th { "verdict" } th { "series" } th { "threshold" }
                            th { "value and limit" } th { "margin" } th { "decided by" } th { "written in" }
                        }
                    }
                    tbody { @for (section, judgement) in &all { (row(section, judgement)) } }
                }
            }
        }
    }
}

fn row(section: &Section<'_>, judgement: &Judgement) -> Markup {
    let (class, sign) = match judgement.weight() {
        Weight::Fine => ("fine", "✔"),
        Weight::Bad => ("bad", "✘"),
        Weight::Warning => ("warning", "!"),
        Weight::Doubtful => ("doubtful", "?"),
    };
    let place = judgement.configuration.as_deref().and_then(|key| section.row_of(key));
    let ends = judgement.interval.as_ref().map(|interval| (interval.low, interval.high));
    html! {
        tr {
            td.(class) { (sign) " " (judgement.word()) }
            td { a href={ "#" (section.id()) } { (section.part.series.id.kernel) } }
            td { code { (judgement.threshold) } }
            td {
                @if let (Some(value), Some(limit)) = (judgement.value, judgement.limit) {
                    (chart::interval(value.value, ends, limit.value))
                }
            }
            td.number {
                @if let Some(margin) = judgement.margin_percent { (format!("{margin:+.1} %")) }
            }
            td {
                @match place {
                    Some(id) => a href={ "#" (id) } { (evidence(judgement)) },
                    None => (evidence(judgement)),
                }
                @for line in others(judgement) { br; (line) }
            }
            td { (judgement.written_in()) }
        }
    }
}
