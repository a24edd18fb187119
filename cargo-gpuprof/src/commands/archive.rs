//! `cargo gpuprof archive`: packs what another machine needs to run.

use std::collections::BTreeSet;
use std::fs;

use super::settings::{Layers, Settings, build_options};
use super::{KernelTarget, Opened, Wanted};
use crate::config::DEFAULT_PATH;
use crate::options::{ArchiveOptions, BuildOptions, ConfigurationOptions, KernelOptions};
use crate::rules;
use crate::sections::{self, Sections};
use gpuprof_build::archive::{Contents, pack};
use gpuprof_build::declared::Needed;
use gpuprof_engine::discover;
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_engine::store::check_writable;
use gpuprof_system::console::Notes;
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
    let opened = Opened::new(&Wanted {
        archive: None,
        extract_to: None,
        cargo: &options.cargo,
        configuration: &ConfigurationOptions::default(),
    })?;
    let root = opened.root();
    let config = fs::read_to_string(root.join(DEFAULT_PATH)).ok();
    let sections = sections::own(root)?;
    let known = Sections::built_in()?.with(&sections, opened.catalogue.clone())?;
    let sections = OwnFile::below(root, sections);
    let layers = Layers::new(&opened.config, None)?;
    let folder = Settings::export(&layers.rules(None), root);
    let rules = rules::own(root, folder.as_deref())?;
    rules::all(&rules, known.catalogue())?;
    let quiet = layers.quiet(options.quiet.then_some(true)).value;
    let KernelOptions { kernel_arch, kernel_toolchain } = options.kernels.clone();
    let arch = layers.kernel_arch(kernel_arch).value;
    let built = build_options(&options.cargo, quiet, &layers);
    let (_, source) = opened.build(BuildOptions { kernel_arch: arch.clone(), ..built })?;
    let folder = Scratch::new()?;
    let process = HarnessProcess::asked(folder.path(), interrupt);
    let described = discover::series(&process, &source.harnesses)?;
    let declared: Vec<Needed<'_>> =
        described.values().flatten().filter_map(Needed::every).collect();
    let device_functions = described.values().flatten().filter(|series| series.device_function);
    let packages: BTreeSet<String> = device_functions.map(|s| s.source_package.clone()).collect();
    let toolchain = layers.kernel_toolchain(kernel_toolchain).value;
    let toolchain = toolchain.as_deref();
    let target = KernelTarget { arch: &arch, toolchain, newest: None, interrupt };
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
    // What is half packed is removed by who packs it.
    interrupt.keep();
    let bytes = pack(&options.archive_file, &contents)?;
    let (harnesses, modules) = (source.harnesses.len(), contents.modules.len());
    Notes::new(quiet).say(format_args!(
        "wrote {}: {series} series in {harnesses} {}, {modules} kernel {}, {:.1} MiB",
        options.archive_file,
        if harnesses == 1 { "harness" } else { "harnesses" },
        if modules == 1 { "module" } else { "modules" },
        bytes as f64 / 1_048_576.0
    ));
    Ok(())
}
