//! Whether declarations fit the entry points that they name.
//!
//! Input: an instance and the entry points of its module. Output: the one that it is, or messages
//! that point at what is declared in Rust. PTX tells the number of parameters and their sizes.

use std::path::PathBuf;

use gpuprof_model::ExitCode;
use gpuprof_model::suggest::did_you_mean;

use super::instances::Asked;
use crate::cuda_cpp::{Diagnostic, Entry, Place, Severity, Span};
use crate::error::{Failure, Result};

/// How many names a message lists.
const NAMED: usize = 10;

/// The entry point called `symbol`, where the declaration of `asked` fits it.
///
/// # Errors
/// What is wrong with the declaration.
pub(super) fn found<'p>(
    asked: &Asked<'_>,
    symbol: &str,
    points: &'p [Entry],
) -> Result<&'p Entry, Vec<Diagnostic>> {
    let here = |message| vec![wrong(message, asked.place())];
    let Some(point) = points.iter().find(|point| point.name == symbol) else {
        return Err(here(not_there(asked, symbol, points)));
    };
    let (declared, name) = (&asked.parameters, &asked.name);
    if declared.len() != point.parameters.len() {
        let (ours, theirs) = (declared.len(), point.parameters.len());
        let plural = if ours == 1 { "" } else { "s" };
        return Err(here(format!(
            "`{name}` is declared with {ours} parameter{plural}, and its PTX takes {theirs}"
        )));
    }
    let pairs = declared.iter().zip(&point.parameters).enumerate();
    let differ = pairs.filter(|(_, (parameter, taken))| {
        let (size, align) = (u64::from(parameter.bytes), u64::from(parameter.align));
        size != taken.size || align > 0 && align != taken.align
    });
    let told = differ.map(|(at, (parameter, taken))| {
        let place = Place {
            file: PathBuf::from(&asked.series.file),
            line: parameter.line,
            column: Some(parameter.column),
        };
        let same_size = u64::from(parameter.bytes) == taken.size;
        let aligned = |align: u64| match same_size {
            true => format!(" aligned to {align}"),
            false => String::new(),
        };
        let (ours, theirs) = (aligned(parameter.align.into()), aligned(taken.align));
        let message = format!(
            "parameter {} of `{name}` is declared as `{}`, {} bytes{ours}, and its PTX takes \
             {}{theirs}",
            at + 1,
            parameter.rust,
            parameter.bytes,
            taken.size
        );
        wrong(message, place)
    });
    let told: Vec<Diagnostic> = told.collect();
    if told.is_empty() { Ok(point) } else { Err(told) }
}

/// That something is wrong with the declaration at `place`.
pub(super) fn wrong(message: String, place: Place) -> Diagnostic {
    let span = Some(Span { place, text: None });
    Diagnostic { severity: Severity::Error, number: None, message, span, notes: Vec::new() }
}

/// That there is no `symbol` among `points`, and what there is.
fn not_there(asked: &Asked<'_>, symbol: &str, points: &[Entry]) -> String {
    let names = || points.iter().map(|point| point.name.as_str());
    // A kernel of C++ has its name and its types in the mangled one.
    let mangled = format!("{}{symbol}", symbol.len());
    let near = names().find(|name| name.contains(&mangled));
    let near = near.map(|name| format!("add symbol = \"{name}\""));
    let near = near.or_else(|| did_you_mean(symbol, names()));
    let told = near.unwrap_or_else(|| match points.len() {
        0 => "it has no entry points".to_owned(),
        count => {
            let more = count.saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("it has {}{more}", names().take(NAMED).collect::<Vec<_>>().join(", "))
        }
    });
    format!("{} has no entry point `{symbol}`: {told}", asked.module())
}

/// Ends with `diagnostics` of declarations, each once.
///
/// # Errors
/// There are some (exit code 101).
pub(super) fn refuse(diagnostics: &[Diagnostic]) -> Result<()> {
    let mut once: Vec<String> = Vec::new();
    for text in diagnostics.iter().map(ToString::to_string) {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    if once.is_empty() {
        return Ok(());
    }
    let message = format!("declarations do not fit their kernels:\n{}", once.join("\n"));
    Err(Failure::new(ExitCode::BuildFailed, message))
}
