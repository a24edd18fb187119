//! `emulate`: any CUDA program on the emulated driver.
//!
//! Input: a command. Output: what the program writes, what the emulated driver says as it happens
//! (standard error), and at the end a table of the launches. The exit code is the program's, but
//! 105 where a kernel faulted: a program that does not look at its errors is no success.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;

use crate::console::{self, Notes};
use crate::error::{Failure, Result};
use crate::execute::{Interrupt, run_program};
use crate::options::EmulateOptions;
use crate::report::emulated::{self, Emulated};
use crate::store::{emulator_folder, write_whole_by};

/// Where the driver looks for what it is to tell, and where it writes what happens.
const TELL_ENV: &str = "GPUEMU_TELL";
const LOG_ENV: &str = "GPUEMU_LOG";

/// Times between events: none, or this computer's.
const TIMES_ENV: &str = "GPUEMU_EVENT_TIMES";

/// What shells answer for a program that is not there.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Runs the program; how it ended, as an exit code.
///
/// # Errors
/// The driver cannot be unpacked, or a file cannot be written.
pub fn emulate(options: &EmulateOptions, interrupt: &Interrupt) -> Result<u8> {
    for file in [&options.export_csv, &options.export_json].into_iter().flatten() {
        if file == "-" {
            return Err(Failure::usage(
                "standard output belongs to the program: give --export-csv and --export-json a file",
            ));
        }
    }
    let folder = tempfile::tempdir().map_err(|e| Failure::output(&env::temp_dir(), &e))?;
    let own = Utf8PathBuf::from_path_buf(folder.path().to_owned()).map_err(|path| {
        Failure::usage(format!("the temporary folder {} is not UTF-8", path.display()))
    })?;
    let log = own.join("events.jsonl");
    let [program, arguments @ ..] = &*options.command else {
        return Err(Failure::usage("no program was given"));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_LIBRARY_PATH", before_others(&emulator_folder(&own)?))
        .env(TELL_ENV, "1")
        .env(TIMES_ENV, "host")
        .env(LOG_ENV, &log);
    interrupt.keep();
    let status = match run_program(&mut command, interrupt) {
        Ok(status) => status,
        Err(error) => {
            let name = program.display();
            console::error(format_args!("cannot start `{name}`: {error}"));
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            return Ok(if missing { NOT_FOUND } else { NOT_STARTED });
        }
    };
    let emulated = read(&log)?;
    tell(&emulated, options, status);
    write(&emulated, options)?;
    Ok(code(status, emulated.has_fault()))
}

/// `folder` before what the program's libraries are looked for in.
fn before_others(folder: &Utf8Path) -> OsString {
    let mut paths = OsString::from(folder.as_str());
    if let Some(inherited) = env::var_os("LD_LIBRARY_PATH").filter(|paths| !paths.is_empty()) {
        paths.push(":");
        paths.push(inherited);
    }
    paths
}

/// What the driver wrote; nothing where no process opened it.
fn read(log: &Utf8Path) -> Result<Emulated> {
    match File::open(log) {
        Ok(file) => {
            Emulated::read(BufReader::new(file)).map_err(|e| Failure::output(log.as_std_path(), &e))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Emulated::default()),
        Err(error) => Err(Failure::output(log.as_std_path(), &error)),
    }
}

fn tell(emulated: &Emulated, options: &EmulateOptions, status: ExitStatus) {
    if let Some(signal) = status.signal() {
        console::say(format_args!("signal {signal} ended the program"));
    }
    if emulated.is_empty() {
        console::say(
            "the program launched no kernel on the emulated driver; one that was linked to \
             another libcuda.so by path does not find it",
        );
    }
    Notes::new(options.quiet).shown(|out| emulated::table(emulated, out));
}

fn write(emulated: &Emulated, options: &EmulateOptions) -> Result<()> {
    if let Some(path) = &options.export_csv {
        write_whole_by(path, |out| emulated::csv(emulated, out))
            .map_err(|e| Failure::output(path.as_std_path(), &e))?;
    }
    if let Some(path) = &options.export_json {
        write_whole_by(path, |out| emulated::json(emulated, out))
            .map_err(|e| Failure::output(path.as_std_path(), &e))?;
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
