//! The kernels that an archive holds.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use gpuprof_model::ExitCode;

use super::built::Kernels;
use gpuprof_build::archive::Unpacked;
use gpuprof_build::declared::Needed;
use gpuprof_system::error::{Failure, Result};

/// The PTX of `packages` and the instances of `wanted` in the archive `unpacked`.
///
/// # Errors
/// It lacks one of them (exit code 103).
pub(super) fn kernels(
    unpacked: &Unpacked,
    packages: &BTreeSet<String>,
    wanted: &[Needed<'_>],
) -> Result<Kernels> {
    let lacks = |what: String| Failure::new(ExitCode::Archive, format!("the archive has {what}"));
    let entries = &unpacked.manifest.declared;
    for Needed { series, configurations } in wanted {
        for configuration in configurations {
            if entries.get(series, configuration).is_none() {
                let (id, file) = (&series.id, &series.file);
                return Err(lacks(format!("no kernel of {id} ({file}) for {configuration}")));
            }
        }
    }
    let mut modules: BTreeMap<String, Utf8PathBuf> = BTreeMap::new();
    let of_declared = if wanted.is_empty() { None } else { Some(entries.modules()) };
    let needed = packages.iter().map(String::as_str);
    for module in needed.chain(of_declared.into_iter().flatten()) {
        let file = unpacked.manifest.modules.get(module);
        let file = file.ok_or_else(|| lacks(format!("no kernels of `{module}`")))?;
        modules.insert(module.to_owned(), unpacked.folder.join(file));
    }
    let nothing = packages.is_empty() && wanted.is_empty();
    Ok(Kernels {
        modules,
        declared: if wanted.is_empty() { Default::default() } else { entries.clone() },
        assembled: BTreeMap::new(),
        assembler: None,
        toolchain: unpacked.manifest.kernel_toolchain.clone().filter(|_| !nothing),
    })
}
