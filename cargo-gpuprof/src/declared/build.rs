//! From declarations to modules and entries.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8PathBuf;
use gpuprof_model::ExitCode;
use gpuprof_model::declared::{DeclaredInstance as Instance, DeclaredSource};

use super::built::{Built, written};
use super::compile::{self, NoEntry, Tools};
use super::instances::{Asked, Needed};
use super::{embedded, globals, signature};
use crate::console::Notes;
use crate::cuda_cpp;
use crate::error::{Failure, Result};

/// Finds or compiles every instance that is `needed`.
///
/// # Errors
/// Every declaration that does not fit its kernel, sources that cannot be read or compiled, and no
/// compiler (exit code 101); a folder that cannot be written (110).
pub fn build(needed: &[Needed<'_>], tools: &Tools<'_>) -> Result<Built> {
    let mut by_module: BTreeMap<String, Vec<Asked<'_>>> = BTreeMap::new();
    let mut held = Vec::new();
    for asked in needed.iter().flat_map(Asked::of_all) {
        match asked.declared.source {
            DeclaredSource::Embedded(_) => held.push(asked),
            _ => by_module.entry(asked.module()).or_default().push(asked),
        }
    }
    let compiled = compile::all(&by_module, tools)?;
    let mut built = Built::default();
    let (mut wrong, mut unset) = (Vec::new(), Vec::new());
    embedded::add(held, tools, (&mut built, &mut wrong))?;
    for (module, asked) in by_module {
        let Some(first) = asked.first() else { continue };
        let (file, text) = match (&first.declared.source, compiled.get(&module)) {
            (_, Some(compiled)) => {
                built.compilers.insert(compiled.compiler.clone());
                (written(tools.folder, &compiled.ptx)?, compiled.ptx.clone())
            }
            (DeclaredSource::PtxFile(file), _) => read(first, file)?,
            (DeclaredSource::PtxText(text), _) => (written(tools.folder, text)?, text.clone()),
            (DeclaredSource::Cuda(_) | DeclaredSource::Embedded(_), None) => continue,
        };
        let points = cuda_cpp::every_entry(&text);
        let variables = cuda_cpp::variables(&text);
        for asked in &asked {
            let symbol = match compiled.get(&module) {
                Some(compiled) => compile::symbol(asked, compiled),
                None => Ok(asked.name.clone()),
            };
            let found = symbol.and_then(|symbol| {
                let point = signature::found(asked, &symbol, &points)?;
                Ok((point, globals::found(asked, compiled.get(&module), &variables)?))
            });
            match found {
                Ok((point, set)) => {
                    unset.extend(globals::unset(asked, &text, &point.name, &set));
                    let entry = asked.entry(&module, point, set);
                    built.entries.insert(asked, Instance::Ready(entry));
                }
                Err(NoEntry::Invalid(reason)) => {
                    built.entries.insert(asked, Instance::Refused(reason));
                }
                Err(NoEntry::Wrong(diagnostics)) => wrong.extend(diagnostics),
            }
        }
        built.modules.insert(module, file);
    }
    signature::refuse(&wrong)?;
    let warnings = unset.iter().map(ToString::to_string).collect();
    compile::once(warnings).iter().for_each(|warning| Notes::new(false).plain(warning));
    Ok(built)
}

/// The PTX file that `asked` names, and its text.
///
/// # Errors
/// It cannot be read (exit code 101).
fn read(asked: &Asked<'_>, file: &str) -> Result<(Utf8PathBuf, String)> {
    let folder = Utf8PathBuf::from_path_buf(asked.series.source_folder.clone());
    let path = folder.unwrap_or_default().join(file);
    let text = fs::read_to_string(&path).map_err(|e| {
        let place = asked.place();
        let message =
            format!("{place}: cannot read {path}, where the kernel is declared to be: {e}");
        Failure::new(ExitCode::BuildFailed, message)
    })?;
    Ok((path, text))
}
