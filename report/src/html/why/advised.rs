//! The advice for a series: all pieces, with their gains and metrics.

use gpuprof_model::advice::Advice;
use gpuprof_model::run::Run;
use maud::{Markup, html};

use crate::advice;
use crate::html::section::Section;

/// The pieces that are shown before the reader asks for the rest.
const FIRST: usize = 3;

/// A heading and a list; nothing where nothing is advised.
pub(super) fn render(section: &Section<'_>, run: &Run) -> Markup {
    let pieces = advice::select_advice(run, section.part);
    let (first, rest) = pieces.split_at(pieces.len().min(FIRST));
    let item = |piece: &Advice| {
        html! {
            li {
                strong { (advice::worth(piece)) } " " (advice::describe_advice(piece)) " "
                span.key { (piece.rule) ": " (piece.metrics.join(", ")) }
            }
        }
    };
    html! {
        @if !pieces.is_empty() {
            h3 { "Advice" }
            ul.advice { @for piece in first { (item(piece)) } }
            @if !rest.is_empty() {
                details {
                    summary { (rest.len()) " more" }
                    ul.advice { @for piece in rest { (item(piece)) } }
                }
            }
            p.key { (advice::KEY) "." }
        }
    }
}
