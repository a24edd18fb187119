//! Whether declarations fit the entry points that they name.
//!
//! Input: an instance and its module. Output: its entry point, or messages that point at the Rust
//! declaration. PTX and machine code give the number of parameters and their sizes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gpuprof_model::ExitCode;
use gpuprof_model::suggest::did_you_mean;

use super::instances::RequestedInstance;
use super::mangled;
use super::module::Module;
use crate::cuda_cpp::{Diagnostic, Entry, FilePosition, Severity, Span};
use gpuprof_system::error::{Failure, Result};

/// How many names a message lists.
const NAMED: usize = 10;

/// The entry point of `module` called `symbol`, if it fits the declaration of `asked`, in all its
/// versions for machine code. It has the launch limits in which all versions agree: which version a
/// GPU runs is not known here.
///
/// # Errors
/// What is wrong with the declaration.
pub(super) fn find_entry(
    asked: &RequestedInstance<'_>,
    symbol: &str,
    module: &Module,
) -> Result<Entry, Vec<Diagnostic>> {
    let symbol = mangled::found(symbol, &module.points).unwrap_or(symbol);
    let mut points = module.points.iter().filter(|point| point.name == symbol);
    let Some(first) = points.next() else {
        let message = not_there(asked, symbol, &module.points);
        return Err(vec![error_at(message, asked.place_of_symbol())]);
    };
    check_parameters(asked, first, module.code.what())?;
    let mut found = first.clone();
    for other in points {
        check_parameters(asked, other, module.code.what())?;
        found.max_block = found.max_block.filter(|most| other.max_block == Some(*most));
        found.required_block =
            found.required_block.filter(|only| other.required_block == Some(*only));
        found.required_cluster =
            found.required_cluster.filter(|only| other.required_cluster == Some(*only));
    }
    Ok(found)
}

/// Compares the parameters of `asked` with those of `point`, which is in `code`: PTX or machine
/// code.
///
/// # Errors
/// Every parameter that differs.
fn check_parameters(
    asked: &RequestedInstance<'_>,
    point: &Entry,
    code: &str,
) -> Result<(), Vec<Diagnostic>> {
    let (declared, name) = (&asked.parameters, &asked.name);
    if declared.len() != point.parameters.len() {
        let (ours, theirs) = (declared.len(), point.parameters.len());
        let plural = if ours == 1 { "" } else { "s" };
        let message = format!(
            "`{name}` is declared with {ours} parameter{plural}, and its {code} takes {theirs}"
        );
        return Err(vec![error_at(message, asked.place())]);
    }
    let pairs = declared.iter().zip(&point.parameters).enumerate();
    let differ = pairs.filter(|(_, (parameter, taken))| {
        let (size, align) = (u64::from(parameter.bytes), u64::from(parameter.align));
        // Machine code has no alignments.
        size != taken.size || align > 0 && taken.align > 0 && align != taken.align
    });
    let errors = differ.map(|(at, (parameter, taken))| {
        let place = FilePosition {
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
            "parameter {} of `{name}` is declared as `{}`, {} bytes{ours}, and its {code} takes \
             {}{theirs}",
            at + 1,
            parameter.rust,
            parameter.bytes,
            taken.size
        );
        error_at(message, place)
    });
    let errors: Vec<Diagnostic> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// An error in the declaration at `place`.
pub(super) fn error_at(message: String, place: FilePosition) -> Diagnostic {
    let span = Some(Span { place, text: None });
    Diagnostic { severity: Severity::Error, number: None, message, span, notes: Vec::new() }
}

/// There is no `symbol` among `points`; lists the existing ones.
fn not_there(asked: &RequestedInstance<'_>, symbol: &str, points: &[Entry]) -> String {
    let all: BTreeSet<&str> = points.iter().map(|point| point.name.as_str()).collect();
    let names = || all.iter().copied();
    // A kernel of C++ has its name and its types in the mangled one.
    let mangled = format!("{}{symbol}", symbol.len());
    let near = names().find(|name| name.contains(&mangled));
    let written = |name| mangled::written(name, points);
    let near = near.map(|name| format!("add symbol = \"{}\"", written(name)));
    let near = near.or_else(|| did_you_mean(symbol, names()));
    let known = near.unwrap_or_else(|| match all.len() {
        0 => "it has no entry points".to_owned(),
        count => {
            let more = count.saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let named: Vec<_> = names().take(NAMED).map(written).collect();
            format!("it has {}{more}", named.join(", "))
        }
    });
    format!("{} has no entry point `{symbol}`: {known}", asked.module())
}

/// Ends with what is `wrong` with declarations.
///
/// # Errors
/// There is something (exit code 101).
pub(super) fn refuse(wrong: &[Diagnostic]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    let message = format!("declarations do not fit their kernels:\n{}", texts.join("\n"));
    Err(Failure::new(ExitCode::BuildFailed, message))
}
