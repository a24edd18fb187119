//! `cargo gpuprof doctor`: the abilities of this machine, and the remedy for each problem.
//!
//! Input: the settings of a run in the same place. Output: one line a check, `ok`, `warn`
//! or `fail`, each of the latter with its remedy, those of the machine first and then those of
//! every device, and whether the main job runs here. Nothing is changed: clocks and permissions are
//! read. Libraries of other makers (driver, NVML, CUPTI) are asked in child processes.

mod check;
mod configured;
mod devices;
mod gpu;
mod host;
mod json;
mod oxide;
mod packed;

use std::fs;
use std::io::Write;
use std::path::Path;

use gpuprof_model::ExitCode;
use gpuprof_model::protocol::DriverProbe;

use crate::commands::backend::is_emulated;
use crate::options::{DoctorOptions, MessageFormat};
use check::{Check, PARAMETERS, State};
use configured::Configured;
use devices::{Devices, Examined};
use gpuprof_build::built_kernels::newest_cuda;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::printable_output::show_plain;

/// Checks this machine.
///
/// # Errors
/// The configuration file; devices that are asked for and not there; processes of our own that
/// cannot be started; standard output.
pub fn doctor(
    options: &DoctorOptions,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let (configured, archive) = Configured::new(options)?;
    let settings = &configured.settings;
    let ask = |question| cupti::ask(configured.cupti.as_deref(), question);
    let driver = ask(Question::Driver)?;
    let has_gpu = matches!(driver, Answer::Driver(_));
    let expected = !matches!(is_emulated(settings.backend.value, || Ok(probed(&driver))), Ok(true));
    let devices = Devices::find(&driver, expected, &configured)?;
    let mut checks = vec![gpu::driver(&driver, expected)];
    if has_gpu {
        checks.push(gpu::permission(fs::read_to_string(PARAMETERS).ok().as_deref()));
    }
    let located = ask(Question::Locate)?;
    let has_cupti = matches!(located, Answer::Located(_));
    checks.push(host::library(located, has_gpu));
    let archive = options.archive_file.as_deref().zip(archive);
    checks.push(match archive {
        Some((file, archive)) => packed::archive(file, archive, settings, interrupt),
        None => host::kernels(settings.kernel_toolchain.value.as_deref()),
    });
    checks.push(host::assembler());
    checks.push(host::disassembler());
    let newest = Some(newest_cuda(gpu::version(&driver)));
    checks.push(host::compiler_of_cuda_cpp(newest, interrupt)?);
    checks.push(host::second_compiler(newest, interrupt));
    if options.archive_file.is_none() {
        checks.push(oxide::backend());
    }
    checks.push(Check::new(
        State::Ok,
        "emulator",
        "part of this program: exact counters and estimated times",
    ));
    let examined = devices.examine(&configured, has_cupti)?;
    let (code, sentence) = conclusion(&checks, expected, &examined);
    if settings.message_format.value == MessageFormat::Json {
        return json::write(&checks, &examined, code, &sentence, out)
            .map(|()| code)
            .map_err(Failure::standard_output);
    }
    let mut text: String = checks.iter().map(ToString::to_string).collect();
    for device in &examined {
        text.push_str(&format!("\n{}\n", device.heading()));
        text.extend(device.checks().map(ToString::to_string));
    }
    text.push_str(&format!("\n{sentence}\n"));
    show_plain(out, |out| out.write_all(text.as_bytes())).map_err(Failure::standard_output)?;
    Ok(code)
}

/// `answer`, as a harness of a run gives it.
fn probed(answer: &Answer) -> DriverProbe {
    match answer {
        Answer::Driver(devices) => DriverProbe::Devices(devices.clone()),
        // A kernel module without its library is a broken driver.
        Answer::NoDriver(_) if !Path::new("/proc/driver/nvidia/version").exists() => {
            DriverProbe::Absent
        }
        _ => DriverProbe::NoDevice,
    }
}

/// The conclusion of all checks. The code is that of a run with the same `--devices`; the sentence
/// covers every device.
fn conclusion(checks: &[Check], expected: bool, devices: &[Examined]) -> (ExitCode, String) {
    if let Some(obstacle) = checks.iter().find_map(|check| check.obstacle) {
        return (obstacle.code, obstacle.sentence.to_owned());
    }
    let devices_in = |state: State| -> Vec<usize> {
        devices.iter().filter(|d| d.counters.state == state).map(|d| d.at).collect()
    };
    let (working, untried, failing) =
        (devices_in(State::Ok), devices_in(State::Warn), devices_in(State::Fail));
    let needed = devices.iter().any(|d| d.used && d.counters.state == State::Fail);
    let code = if expected && needed { ExitCode::NotPossible } else { ExitCode::Success };
    if devices.is_empty() {
        return match expected {
            true => (
                ExitCode::NotPossible,
                "a GPU was requested, but none answers; --backend emulator runs without one"
                    .to_owned(),
            ),
            false => (
                ExitCode::Success,
                "no GPU here; the emulator works and gives exact counters and estimated times"
                    .to_owned(),
            ),
        };
    }
    let rest = match untried.as_slice() {
        [] => String::new(),
        [_] => format!("; {} was not tested", listed(&untried)),
        _ => format!("; {} were not tested", listed(&untried)),
    };
    let sentence = match (working.as_slice(), failing.as_slice()) {
        ([], []) => "times can be measured here; counters were not tested".to_owned(),
        (_, []) => format!("times and counters can be measured here{rest}"),
        ([], _) if untried.is_empty() => {
            "times can be measured here, but counters cannot; use --replay-mode none, or count \
             with --backend emulator"
                .to_owned()
        }
        ([], failing) => {
            format!("times can be measured here, but counters cannot on {}{rest}", listed(failing))
        }
        (working, failing) => {
            let working: Vec<String> = working.iter().map(ToString::to_string).collect();
            let (failing, working) = (listed(failing), working.join(","));
            format!(
                "times can be measured here, but counters cannot on {failing}; use --devices \
                 {working}{rest}"
            )
        }
    };
    (code, sentence)
}

/// "device 1", "devices 0, 1 and 3".
fn listed(devices: &[usize]) -> String {
    let all: Vec<String> = devices.iter().map(ToString::to_string).collect();
    match all.as_slice() {
        [] => "no device".to_owned(),
        [one] => format!("device {one}"),
        [first @ .., last] => format!("devices {} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::check::Obstacle;
    use super::*;
    use gpuprof_analysis::fixture::h200;

    /// Devices with trials that ended like this; a run measures on the first.
    fn devices(states: &[State]) -> Vec<Examined> {
        let device = |(at, &state): (usize, &State)| Examined {
            at,
            device: h200(),
            used: at == 0,
            settings: Vec::new(),
            counters: Check::new(state, "counters", ""),
        };
        states.iter().enumerate().map(device).collect()
    }

    fn concluded(states: &[State]) -> (ExitCode, String) {
        conclusion(&[], true, &devices(states))
    }

    #[test]
    fn the_exit_code_says_whether_the_main_job_can_run() {
        assert_eq!(concluded(&[State::Ok]).0, ExitCode::Success);
        assert_eq!(concluded(&[State::Fail]).0, ExitCode::NotPossible);
        assert_eq!(concluded(&[]).0, ExitCode::NotPossible);
        let (code, sentence) = conclusion(&[], false, &[]);
        assert_eq!(code, ExitCode::Success);
        assert!(sentence.contains("the emulator works"));
        // The name of a check decides nothing.
        let obstacle = Obstacle { code: ExitCode::BuildFailed, sentence: "▒▒▒" };
        let broken = [Check::obstacle(obstacle, "▒▒▒", "")];
        assert_eq!(conclusion(&broken, false, &[]), (ExitCode::BuildFailed, "▒▒▒".to_owned()));
        let unneeded = [Check::new(State::Fail, "toolchain", "")];
        assert_eq!(conclusion(&unneeded, false, &[]).0, ExitCode::Success);
    }

    #[test]
    fn the_sentence_covers_all_devices_and_the_exit_code_selected_ones() {
        use State::{Fail, Ok, Warn};
        let said = |states: &[State], code, sentence: &str| {
            assert_eq!(concluded(states), (code, sentence.to_owned()), "{states:?}");
        };
        let (fine, not) = (ExitCode::Success, ExitCode::NotPossible);
        said(&[Ok, Ok], fine, "times and counters can be measured here");
        let third = "times can be measured here, but counters cannot on device 2; use --devices \
                     0,1";
        said(&[Ok, Ok, Fail], fine, third);
        let first = "times can be measured here, but counters cannot on devices 0, 1 and 2; use \
                     --devices 3";
        said(&[Fail, Fail, Fail, Ok], not, first);
        let all = "times can be measured here, but counters cannot; use --replay-mode none, or \
                   count with --backend emulator";
        said(&[Fail, Fail], not, all);
        said(&[Ok, Warn], fine, "times and counters can be measured here; device 1 was not tested");
        said(&[Warn, Warn], fine, "times can be measured here; counters were not tested");
        let both =
            "times can be measured here, but counters cannot on device 0; device 1 was not tested";
        said(&[Fail, Warn], not, both);
    }
}
