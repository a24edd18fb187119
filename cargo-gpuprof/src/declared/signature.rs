//! Whether declarations fit the entry points that they name.
//!
//! Input: an instance and the entry points of its module. Output: the one that it is, or messages
//! that point at what is declared in Rust. PTX tells the number of parameters and their sizes.

use gpuprof_model::ExitCode;
use gpuprof_model::suggest::did_you_mean;

use super::instances::Asked;
use super::ptx::EntryPoint;
use crate::error::{Failure, Result};

/// How many names a message lists.
const NAMED: usize = 10;

/// The entry point called `symbol`, where the declaration of `asked` fits it.
///
/// # Errors
/// Every message.
pub(super) fn found<'p>(
    asked: &Asked<'_>,
    symbol: &str,
    points: &'p [EntryPoint],
) -> Result<&'p EntryPoint, Vec<String>> {
    let Some(point) = points.iter().find(|point| point.name == symbol) else {
        return Err(vec![not_there(asked, symbol, points)]);
    };
    let declared = &asked.declared.parameters;
    let (place, name, file) = (asked.place(), &asked.name, &asked.series.file);
    if declared.len() != point.parameters.len() {
        let (ours, theirs) = (declared.len(), point.parameters.len());
        return Err(vec![format!(
            "{place}: `{name}` is declared with {ours} parameter{}, and its PTX takes {theirs}",
            if ours == 1 { "" } else { "s" }
        )]);
    }
    let differ = declared.iter().zip(&point.parameters).enumerate().filter_map(|(at, pair)| {
        let (parameter, &bytes) = pair;
        (u64::from(parameter.bytes) != bytes).then(|| {
            format!(
                "{file}:{}:{}: `{}` is declared `{}`, {} bytes, and parameter {at} of `{name}` has \
                 {bytes} bytes in its PTX",
                parameter.line, parameter.column, parameter.name, parameter.rust, parameter.bytes
            )
        })
    });
    let differ: Vec<String> = differ.collect();
    if differ.is_empty() { Ok(point) } else { Err(differ) }
}

/// That there is no `symbol` among `points`, and what there is.
fn not_there(asked: &Asked<'_>, symbol: &str, points: &[EntryPoint]) -> String {
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
    format!("{}: {} has no entry point `{symbol}`: {told}", asked.place(), asked.module())
}

/// Ends with what is `wrong`, each once.
///
/// # Errors
/// There is something (exit code 101).
pub(super) fn refuse(wrong: &[String]) -> Result<()> {
    let mut once: Vec<&str> = Vec::new();
    for message in wrong {
        if !once.contains(&message.as_str()) {
            once.push(message);
        }
    }
    if once.is_empty() {
        return Ok(());
    }
    let message = format!("declarations do not fit their kernels:\n{}", once.join("\n"));
    Err(Failure::new(ExitCode::BuildFailed, message))
}
