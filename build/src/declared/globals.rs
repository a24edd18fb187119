//! Variables of the device that annotations set: found in the module, and compared with their
//! declaration.
//!
//! Input: an instance and the variables of its module. Output: the name of each in the module, or
//! messages at the declaration. A variable that the kernel reads and nothing sets is a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gpuprof_model::declared::DeclaredGlobal;
use gpuprof_model::suggest::did_you_mean;

use super::instances::RequestedInstance;
use super::signature::error_at;
use crate::cuda_cpp::{
    self, Compiled, Diagnostic, FilePosition, Instance, Note, Severity, Variable,
};

/// The variables of `asked` as expressions of a program, each once.
pub(super) fn instances(asked: &[RequestedInstance<'_>]) -> Vec<Instance> {
    let mut names = BTreeSet::new();
    let all =
        asked.iter().flat_map(|asked| asked.declared.globals.iter().map(move |it| (asked, it)));
    let once = all.filter(|(_, global)| names.insert(global.symbol.as_str()));
    let instance = |(asked, global): (&RequestedInstance<'_>, &DeclaredGlobal)| Instance {
        expression: expression(global),
        parameters: Vec::new(),
        declared_at: place(asked, global),
        named_at: place(asked, global),
    };
    once.map(instance).collect()
}

/// Its address, which names it in C++.
fn expression(global: &DeclaredGlobal) -> String {
    format!("&{}", global.symbol)
}

fn place(asked: &RequestedInstance<'_>, global: &DeclaredGlobal) -> FilePosition {
    FilePosition {
        file: PathBuf::from(&asked.series.file),
        line: global.line,
        column: Some(global.column),
    }
}

/// The names of the variables that the annotation of `asked` sets, as its module with these
/// `variables` spells them.
///
/// # Errors
/// One that it does not have, or of another size.
pub(super) fn found(
    asked: &RequestedInstance<'_>,
    compiled: Option<&Compiled>,
    variables: &[Variable],
) -> Result<BTreeMap<String, String>, Vec<Diagnostic>> {
    let (mut found, mut faults) = (BTreeMap::new(), Vec::new());
    for global in &asked.declared.globals {
        let symbol = match compiled.and_then(|it| it.entries.get(&expression(global))) {
            Some(Ok(symbol)) => symbol,
            Some(Err(diagnostics)) => {
                faults.extend(diagnostics.iter().cloned());
                continue;
            }
            None => &global.symbol,
        };
        let reason = match variables.iter().find(|it| it.name == *symbol) {
            Some(it) if it.bytes == global.bytes => {
                found.insert(global.name.clone(), symbol.clone());
                continue;
            }
            Some(it) => format!(
                "`{}` is declared as `{}`, {} bytes, and it has {}",
                global.symbol, global.rust, global.bytes, it.bytes
            ),
            None => not_there(asked, symbol, variables),
        };
        faults.push(error_at(reason, place(asked, global)));
    }
    if faults.is_empty() { Ok(found) } else { Err(faults) }
}

fn not_there(asked: &RequestedInstance<'_>, symbol: &str, variables: &[Variable]) -> String {
    let names = || variables.iter().map(|it| it.name.as_str());
    let mangled = format!("{}{symbol}", symbol.len());
    let near = names().find(|name| name.contains(&mangled));
    let near = near.map(|name| format!(": add #[link_name = \"{name}\"]"));
    let near = near.or_else(|| did_you_mean(symbol, names()).map(|near| format!(": {near}")));
    format!("{} has no variable `{symbol}`{}", asked.module(), near.unwrap_or_default())
}

/// That `asked`, which is `symbol` in `ptx`, reads constant memory which has no value and is not in
/// `set`.
pub(super) fn unset(
    asked: &RequestedInstance<'_>,
    ptx: &str,
    symbol: &str,
    set: &BTreeMap<String, String>,
) -> Vec<Diagnostic> {
    let without = cuda_cpp::constants_without_value(ptx, symbol);
    let without = without.iter().filter(|name| set.values().all(|other| other != *name));
    let warning = |name: &String| Diagnostic {
        severity: Severity::Warning,
        notes: vec![Note {
            message: format!(
                "declare it in the block, such as `static {name}: [f32; 16];`, and set it with \
                 globals({name} = …)"
            ),
            span: None,
        }],
        ..error_at(
            format!("`{}` reads the constant `{name}`, which nothing sets: it is zero", asked.name),
            asked.place(),
        )
    };
    without.map(warning).collect()
}
