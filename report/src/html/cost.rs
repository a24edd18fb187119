//! The time that each pass of a run took.
//!
//! Input: the spans of a run. Output: a line for each kind of pass, with its number, total time,
//! and share of the run.

use std::collections::BTreeMap;

use gpuprof_model::run::{MOST_SPANS, Run, Span, Spent};
use maud::{Markup, html};

use crate::number::grouped;

/// The subject of a line, the number of its spans, and their microseconds.
type Line = (String, usize, u64);

/// The cost of `run`; nothing without spans, as in runs of older versions.
pub(super) fn render(run: &Run) -> Markup {
    let spans = &run.provenance.spans;
    let end = spans.iter().map(|span| span.begin_us + span.length_us).max().unwrap_or(0);
    let begin = spans.iter().map(|span| span.begin_us).min().unwrap_or(0);
    let whole = end - begin;
    html! {
        @if whole > 0 {
            details {
                summary { "Cost: the parts of " (seconds(whole)) }
                div.wide tabindex="0" role="region" aria-label="Cost" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "spent on" }
                                th.number scope="col" { "how often" }
                                th.number scope="col" { "together" }
                                th.number scope="col" { "of the run" }
                            }
                        }
                        tbody {
                            @for (what, count, length) in lines(spans) {
                                tr {
                                    td { (what) }
                                    td.number { (count) }
                                    td.number { (seconds(length)) }
                                    td.number { (percent(length, whole)) }
                                }
                            }
                        }
                    }
                }
                p.key {
                    @if spans.len() >= MOST_SPANS { "Only the first " (MOST_SPANS) " spans are kept. " }
                    "Processes prepare while others run, so parts may add up to more than the run. "
                    code { "cargo gpuprof report --format chrome-trace" }
                    " writes every span, for ui.perfetto.dev."
                }
            }
        }
    }
}

/// Passes by their activity, everything else by its kind; in the order in which each first began.
fn lines(spans: &[Span]) -> Vec<Line> {
    let mut lines: BTreeMap<String, (u64, usize, u64)> = BTreeMap::new();
    for span in spans {
        let name = match span.spent {
            Spent::Pass | Spent::Build => span.what.clone(),
            // Its parts are counted.
            Spent::Process => continue,
            Spent::Lock | Spent::Turn | Spent::Waiting | Spent::Leaving => {
                span.spent.of_many().to_owned()
            }
        };
        let line = lines.entry(name).or_insert((span.begin_us, 0, 0));
        *line = (line.0.min(span.begin_us), line.1 + 1, line.2 + span.length_us);
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, (begin, ..))| *begin);
    lines.into_iter().map(|(name, (_, count, length))| (name, count, length)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a time to read")]
fn seconds(microseconds: u64) -> String {
    let seconds = microseconds as f64 / 1e6;
    format!("{} s", grouped(seconds, if seconds < 10.0 { 2 } else { 1 }))
}

#[expect(clippy::cast_precision_loss, reason = "a part to read")]
fn percent(length: u64, whole: u64) -> String {
    format!("{}%", grouped(100.0 * length as f64 / whole as f64, 1))
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;

    use super::*;

    #[test]
    fn time_is_summed_by_kind_of_pass_and_split_by_process() {
        let span = |spent, what: &str, begin_us, length_us| Span {
            spent,
            what: what.into(),
            process: 1,
            device: 0,
            slice: 0,
            begin_us,
            length_us,
        };
        let mut run = fixture::run("1", Vec::new());
        assert_eq!(render(&run).into_string(), "");
        run.provenance.spans = vec![
            span(Spent::Build, "builds <kernels>", 0, 1_000_000),
            span(Spent::Pass, "times 1", 1_000_000, 500_000),
            span(Spent::Pass, "times 1", 1_500_000, 250_000),
            span(Spent::Process, "000-saxpy", 1_000_000, 1_000_000),
        ];
        let page = render(&run).into_string();
        assert!(page.contains("Cost: the parts of 2.00 s"), "{page}");
        assert!(page.contains("<td>builds &lt;kernels&gt;</td>"), "{page}");
        let times = "<td>times 1</td><td class=\"number\">2</td><td class=\"number\">0.75 s</td>\
                     <td class=\"number\">37.5%</td>";
        assert!(page.contains(times), "{page}");
        assert!(!page.contains("000-saxpy"), "{page}");
    }
}
