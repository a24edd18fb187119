//! `cargo gpuprof man`: manual pages in roff.
//!
//! Input: the command line's description. Output: the page of `cargo gpuprof` on standard output,
//! or that page and one for every subcommand in a folder, named as `man` and `cargo help` look for
//! them: `cargo-gpuprof-run.1`.

use std::fs;
use std::io::{self, Write};

use camino::Utf8Path;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::options::ManOptions;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole;

/// The word that cargo passes before our own arguments.
pub const WORD: &str = "gpuprof";

/// Writes the pages.
///
/// # Errors
/// A file that cannot be written; standard output.
pub fn man(options: &ManOptions, cargo: clap::Command, out: &mut impl Write) -> Result<()> {
    let mut cargo = without_help_subcommands(cargo);
    cargo.build();
    let gpuprof = cargo.find_subcommand(WORD).expect("cargo passes this word");
    let version = gpuprof.get_version().unwrap_or_default();
    match &options.out_dir {
        Some(folder) => {
            fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
            pages(gpuprof, version, folder)
        }
        None => page(gpuprof, version)
            .and_then(|page| out.write_all(&page))
            .map_err(Failure::standard_output),
    }
}

/// `help` repeats the text of each page.
fn without_help_subcommands(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help_subcommands)
}

/// Writes the page of a command and of all that users see below it.
fn pages(command: &clap::Command, version: &str, folder: &Utf8Path) -> Result<()> {
    let file = folder.join(Man::new(command.clone()).get_filename());
    page(command, version)
        .and_then(|page| write_whole(&file, &page))
        .map_err(Failure::writing(&file))?;
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    shown.into_iter().try_for_each(|it| pages(it, version, folder))
}

/// The page of one command.
fn page(command: &clap::Command, version: &str) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source(format!("gpuprof {version}")).manual("gpuprof");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(codes) = command.get_after_help() {
        exit_status(&codes.to_string()).to_writer(&mut page)?;
    }
    Ok(page)
}

/// The exit codes as the help lists them, a line each.
fn exit_status(codes: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]).control("nf", []);
    for line in codes.lines().skip(1) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []);
    roff
}
