//! `cargo gpuprof archive`: packs everything that another machine needs to run.

use std::collections::BTreeSet;
use std::fs;

use super::settings::{Layers, Settings};
use super::{Opened, Wanted};
use crate::config::DEFAULT_PATH;
use crate::options::ArchiveOptions;
use gpuprof_build::archive::{Contents, pack};
use gpuprof_build::built_kernels::KernelTarget;
use gpuprof_build::declared::Needed;
use gpuprof_catalogue::chips::is_installed;
use gpuprof_catalogue::rules;
use gpuprof_catalogue::sections;
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_engine::store::check_writable;
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::own_file::OwnFile;
use gpuprof_system::scratch::Scratch;

/// Builds and packs, and says what was written.
///
/// # Errors
/// Build, discovery, files.
pub fn archive(options: &ArchiveOptions, interrupt: &Interrupt) -> Result<()> {
    check_writable(&options.archive_file)?;
    let opened = Opened::new(&Wanted::from(&options.cargo))?;
    let root = opened.root();
    let config = fs::read_to_string(root.join(DEFAULT_PATH)).ok();
    let sections = sections::own(root)?;
    let known = opened.sections.clone().with(&sections, |name| is_installed(None, name))?;
    let sections = OwnFile::below(root, sections);
    let layers = Layers::new(&opened.config, None)?;
    let settings = Settings::new(options.given.clone(), &layers);
    let folder = Settings::export(&settings.rules, root);
    let rules = rules::own(root, folder.as_deref())?;
    rules::all(&rules, known.catalogue())?;
    let (_, source) = opened.build(settings.build_options((&options.cargo).into()))?;
    let folder = Scratch::new()?;
    let process = HarnessProcess::for_query(folder.path(), interrupt);
    let described = source.describe(&process)?;
    let declared: Vec<Needed<'_>> =
        described.values().flatten().filter_map(Needed::every).collect();
    let device_functions = described.values().flatten().filter(|series| series.device_function);
    let packages: BTreeSet<String> = device_functions.map(|s| s.source_package.clone()).collect();
    let arch = &settings.kernel_arch.value;
    let toolchain = settings.kernel_toolchain.value.as_deref();
    let target = KernelTarget { arch, toolchain, newest: None, interrupt };
    let kernels = source.kernels(&packages, &declared, target)?;
    let series: usize = described.values().map(Vec::len).sum();
    let contents = Contents {
        modules: kernels.modules,
        declared: kernels.declared,
        config,
        sections,
        rules,
        kernel_toolchain: kernels.toolchain,
        git_revision: source.git_revision(),
        harnesses: &source.harnesses,
    };
    // The packer itself removes a partial archive.
    interrupt.keep();
    let bytes = pack(&options.archive_file, &contents)?;
    let (harnesses, modules) = (source.harnesses.len(), contents.modules.len());
    settings.notes().say(format_args!(
        "wrote {}: {series} series in {harnesses} {}, {modules} kernel {}, {:.1} MiB",
        options.archive_file,
        if harnesses == 1 { "harness" } else { "harnesses" },
        if modules == 1 { "module" } else { "modules" },
        bytes as f64 / 1_048_576.0
    ));
    Ok(())
}
