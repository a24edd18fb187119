//! `emulate`: any CUDA program on the emulated driver.
//!
//! Input: a command. Output: the program's output, the emulated driver's messages (standard error),
//! and at the end a table of the launches. The exit code is the program's, but 105 if a kernel
//! faulted: a program that ignores its errors did not succeed. If the driver could not write its
//! log, faults are unknown.

use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus};
use std::{env, io};

use camino::Utf8Path;
use gpuprof_model::ExitCode;

use crate::options::{BecomeOptions, EmulateOptions};
use gpuprof_engine::emulator::{emulator_folder, write_static_runtimes};
use gpuprof_engine::execute::{self, CHECKS_ENV, run_program};
use gpuprof_report::emulate_report::{self, Emulated};
use gpuprof_system::console::{self, Notes};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::library_path::{LIBRARY_PATH, with_first_library_folder};
use gpuprof_system::scratch::Scratch;
use gpuprof_system::whole::write_whole_by;

/// The subcommand of the child that becomes the program.
pub const SUBCOMMAND: &str = "__become";

/// Variables for the driver's messages and the path of its log.
const TELL_ENV: &str = "GPUEMU_TELL";
const LOG_ENV: &str = "GPUEMU_LOG";

/// The file that it removes where it cannot.
const WHOLE_ENV: &str = "GPUEMU_LOG_WHOLE";

/// The file with the place of a long launch, which stays if the program is killed in it.
const PLACE_ENV: &str = "GPUEMU_WHERE";

/// Times between events: none, or this computer's.
const TIMES_ENV: &str = "GPUEMU_EVENT_TIMES";

/// Why there is no report on a program.
const UNWRITTEN: &str = "the emulated driver's report could not be written (its own \
                         message says why), so that nobody knows whether a kernel faulted. TMPDIR \
                         names a folder with room";

/// The exit code of shells for a missing program.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Runs the program; how it ended, as an exit code.
///
/// # Errors
/// The driver cannot be unpacked; a file, the table or the driver's log cannot be written.
pub fn emulate(options: &EmulateOptions, interrupt: &Interrupt) -> Result<u8> {
    if let Some(folder) = &options.export_cudart {
        return write_static_runtimes(folder).map(|()| ExitCode::Success.into());
    }
    for file in [&options.export_csv, &options.export_json].into_iter().flatten() {
        if file == "-" {
            return Err(Failure::usage(
                "standard output belongs to the program: give --export-csv and --export-json a file",
            ));
        }
    }
    let folder = Scratch::new()?;
    let own = folder.path();
    let log = own.join("events.jsonl");
    let (refused, whole) = (own.join("refused"), own.join("whole"));
    let place = env::var_os(PLACE_ENV).filter(|path| !path.is_empty());
    let place = place.map_or_else(|| own.join("place").into_std_path_buf(), PathBuf::from);
    File::create(&whole).map_err(Failure::writing(&whole))?;
    let failed = |e: io::Error| {
        Failure::new(ExitCode::NotPossible, format!("cannot start gpuprof's own child: {e}"))
    };
    let itself = env::current_exe().map_err(failed)?;
    let mut command = Command::new(itself);
    command
        .args(["gpuprof", SUBCOMMAND, &process::id().to_string(), refused.as_str(), "--"])
        .args(&options.command)
        .env(LIBRARY_PATH, with_first_library_folder(emulator_folder(own)?))
        .env(CHECKS_ENV, options.check.to_string())
        .env(TELL_ENV, "1")
        .env(TIMES_ENV, "host")
        .env(LOG_ENV, &log)
        .env(PLACE_ENV, &place)
        .env(WHOLE_ENV, &whole);
    // One of an earlier program says nothing about this one.
    let _ = fs::remove_file(&place);
    interrupt.keep();
    let status = run_program(&mut command, interrupt).map_err(failed)?;
    if refused.exists() {
        return Ok(code(status, false));
    }
    if !whole.exists() {
        return Err(Failure::new(ExitCode::OutputFailed, UNWRITTEN));
    }
    let emulated = read(&log)?;
    if let Some(signal) = status.signal() {
        let place = fs::read_to_string(&place).unwrap_or_default();
        let join = if place.is_empty() { "" } else { ": " };
        console::say(format_args!("signal {signal} ended the program{join}{place}"));
    }
    let shown = tell(&emulated, options, status);
    write(&emulated, options)?;
    shown.map_err(|e| Failure::output(Path::new("the table to standard error"), &e))?;
    Ok(code(status, emulated.has_fault()))
}

/// Becomes the program, as a child of [`emulate`]; returns the exit code if it cannot be started.
pub fn become_program(options: &BecomeOptions) -> u8 {
    let [program, arguments @ ..] = &*options.command else { return NOT_STARTED };
    let mut command = Command::new(program);
    let error = execute::become_program(command.args(arguments), options.parent);
    // The exit code alone does not show the parent that the program never started.
    if let Err(error) = File::create(&options.refused) {
        console::error(Failure::output(options.refused.as_std_path(), &error));
    }
    let name = program.display();
    console::error(format_args!("cannot start `{name}`: {error}"));
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
}

/// The driver's log; empty if no process opened it.
fn read(log: &Utf8Path) -> Result<Emulated> {
    match File::open(log) {
        Ok(file) => Emulated::read(BufReader::new(file)).map_err(Failure::writing(log)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Emulated::default()),
        Err(error) => Err(Failure::output(log.as_std_path(), &error)),
    }
}

/// Shows the table and notes.
///
/// # Errors
/// The table cannot be shown.
fn tell(emulated: &Emulated, options: &EmulateOptions, status: ExitStatus) -> io::Result<()> {
    // One that was ended may have been in the middle of its first launch.
    if emulated.is_empty() && status.code().is_some() {
        console::say(
            "the program launched no kernel on the emulated driver; one that was linked to \
             another libcuda.so by path does not find it",
        );
    }
    Notes::new(options.quiet).must_show(|out| emulate_report::table(emulated, out))
}

fn write(emulated: &Emulated, options: &EmulateOptions) -> Result<()> {
    if let Some(path) = &options.export_csv {
        write_whole_by(path, |out| emulate_report::csv(emulated, out))
            .map_err(Failure::writing(path))?;
    }
    if let Some(path) = &options.export_json {
        write_whole_by(path, |out| emulate_report::json(emulated, out))
            .map_err(Failure::writing(path))?;
    }
    Ok(())
}

/// The program's own code, 128 and the signal that ended it, or 105 after a fault.
fn code(status: ExitStatus, fault: bool) -> u8 {
    if fault {
        return ExitCode::ProcessFailed.code();
    }
    let signalled = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(signalled);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_programs_unless_a_kernel_faulted() {
        let ended = |raw| ExitStatus::from_raw(raw);
        assert_eq!(code(ended(0), false), 0);
        assert_eq!(code(ended(3 << 8), false), 3);
        assert_eq!(code(ended(9), false), 137);
        assert_eq!(code(ended(0), true), 105);
        assert_eq!(code(ended(3 << 8), true), 105);
    }
}
