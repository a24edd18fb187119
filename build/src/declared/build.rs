//! From declarations to modules and entries.

use std::collections::BTreeMap;

use gpuprof_model::declared::{DeclaredInstance as Instance, DeclaredSource};

use super::built::Built;
use super::compile::{self, NoEntry, Tools};
use super::grouped_messages::{InstanceMessage, grouped};
use super::instances::{Needed, RequestedInstance};
use super::module::{Code, Module};
use super::{embedded, globals, signature};
use gpuprof_system::console::Notes;
use gpuprof_system::error::Result;

/// Finds or compiles every instance that is `needed`.
///
/// # Errors
/// Every declaration that does not fit its kernel, sources that cannot be read or compiled, and no
/// compiler (exit code 101); a folder that cannot be written (110).
pub fn build(needed: &[Needed<'_>], tools: &Tools<'_>) -> Result<Built> {
    let mut by_module: BTreeMap<String, Vec<RequestedInstance<'_>>> = BTreeMap::new();
    let mut held = Vec::new();
    for asked in needed.iter().flat_map(RequestedInstance::of_all) {
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
        let compiled = compiled.get(&module);
        let Some(read) = Module::prepare(first, compiled, tools.folder)? else { continue };
        built.compilers.extend(compiled.map(|it| it.compiler.clone()));
        for asked in &asked {
            let symbol = match compiled {
                Some(compiled) => compile::symbol(asked, compiled),
                None => Ok(asked.name.clone()),
            };
            let found = symbol.and_then(|symbol| {
                let point = signature::find_entry(asked, &symbol, &read)?;
                Ok((point, globals::found(asked, compiled, &read.variables)?))
            });
            match found {
                Ok((point, set)) => {
                    if let Code::Ptx(text) = &read.code {
                        let about = globals::unset(asked, text, &point.name, &set);
                        unset.extend(
                            about.into_iter().map(|it| InstanceMessage::attribute(asked, it)),
                        );
                    }
                    let mut entry = asked.entry(&module, &point, set);
                    if let Code::Machine(code) = &read.code {
                        entry.machine_code = Some(Box::new(code.clone()));
                    }
                    built.entries.insert(asked, Instance::Ready(entry));
                }
                Err(NoEntry::Invalid(reason)) => {
                    built.entries.insert(asked, Instance::Refused(reason));
                }
                Err(NoEntry::Wrong(diagnostics)) => {
                    wrong.extend(
                        diagnostics.into_iter().map(|it| InstanceMessage::attribute(asked, it)),
                    );
                }
            }
        }
        built.modules.insert(module, read.file);
    }
    signature::refuse(&grouped(wrong))?;
    for warning in grouped(unset) {
        Notes::new(false).plain(warning);
    }
    Ok(built)
}
