//! The tool: reads the command line, runs it, and maps the outcome to an exit code.

use std::fs::File;
use std::io::{self, LineWriter};
use std::os::fd::AsFd;
use std::process::ExitCode;

use crate::broken_pipe::{MayLeave, MayStop};
use crate::cli::{self, Command, Gpuprof};
use crate::commands::{
    StandardOutput, archive, baselines, calibrate, characterize, check, completions, doctor,
    emulate, history, list, man, merge, metrics, rules, run, runs, show_config, stored,
};
use crate::options::{AskOptions, Color, RunsAction};
use gpuprof_build::cuda_cpp;
use gpuprof_build::kernels::wrapper;
use gpuprof_engine::cupti;
use gpuprof_engine::device::guard;
use gpuprof_model::ExitCode as Code;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::printable_output::PrintableOutput;

/// The entry point of the executable.
pub fn main() -> ExitCode {
    if wrapper::is_wrapper() {
        return wrapper::main();
    }
    let Gpuprof { command, run } = cli::parse(std::env::args_os());
    let command = command.unwrap_or_else(|| Command::Run(Box::new(run)));
    let on_signal = OnSignal::of(&command);
    let interrupt = match on_signal {
        OnSignal::OwnHandlers => Ok(Interrupt::default()),
        OnSignal::Ends => Interrupt::end_at_once(),
        OnSignal::CleansUp | OnSignal::Reports => Interrupt::listen(),
    };
    let interrupt = match interrupt {
        Ok(interrupt) => interrupt,
        Err(error) => {
            return end(&Err(Failure::usage(format!("cannot listen for signals: {error}"))));
        }
    };
    let outcome = dispatch(command, &interrupt);
    match (interrupt.signal(), &outcome) {
        // Other failures follow from the signal, except for results that could not be kept.
        (Some(signal), Err(failure)) => {
            if failure.code == Code::OutputFailed {
                end(&outcome);
            }
            ExitCode::from(128 + signal)
        }
        // A run that saw the signal reports it; the signal does not undo a run that had already
        // ended.
        (Some(signal), Ok(_)) if on_signal != OnSignal::Reports => ExitCode::from(128 + signal),
        _ => end(&outcome),
    }
}

/// The effect of a signal on a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnSignal {
    /// The command has its own handlers: the guard ends with its owner alone, since an end by the
    /// second signal would leave clocks locked, and a program handles signals itself.
    OwnHandlers,
    /// The command ends where it is: it only reads and writes.
    Ends,
    /// The command ends processes and removes unfinished files first.
    CleansUp,
    /// The command keeps what was measured, and its exit code says how it ended.
    Reports,
}

impl OnSignal {
    fn of(command: &Command) -> Self {
        match command {
            Command::Guard(_) | Command::Become(_) => Self::OwnHandlers,
            Command::Run(options) if options.gate.load_baseline.is_some() => Self::Ends,
            Command::Calibrate(options) if options.from.is_some() => Self::Ends,
            Command::Run(_) | Command::Check(_) | Command::Calibrate(_) | Command::Emulate(_) => {
                Self::Reports
            }
            Command::List(_)
            | Command::Doctor(_)
            | Command::ShowConfig(_)
            | Command::Archive(_)
            | Command::Characterize(_)
            | Command::Ask(_) => Self::CleansUp,
            Command::Metrics(_)
            | Command::Rules(_)
            | Command::Compare(_)
            | Command::Report(_)
            | Command::Merge(_)
            | Command::Baseline(_)
            | Command::Runs(_)
            | Command::History(_)
            | Command::Completions(_)
            | Command::Nvrtc(_)
            | Command::Man(_) => Self::Ends,
        }
    }
}

/// Standard output, line by line. A signal ends its writer, even if the pipe is full.
fn unstoppable(interrupt: &Interrupt) -> Result<LineWriter<MayStop<'_, File>>> {
    // Not the buffer of Rust's own one, which would wait for the reader when the process ends.
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    let stdout = stdout.map_err(Failure::standard_output)?;
    Ok(LineWriter::new(MayStop::new(File::from(stdout), interrupt)))
}

/// Runs `command` to its exit code.
fn dispatch(command: Command, interrupt: &Interrupt) -> Result<u8> {
    let out = || unstoppable(interrupt);
    let printed = || unstoppable(interrupt).map(MayLeave);
    let stdout = StandardOutput::of_process();
    let ended = match command {
        Command::Run(options) => run::run(&options, stdout, interrupt, &mut out()?),
        Command::Check(options) => check::check(&options, stdout, interrupt, &mut out()?),
        Command::Calibrate(options) => calibrate::calibrate(&options, interrupt, &mut out()?),
        Command::Characterize(options) => characterize::show(&options, interrupt, &mut printed()?),
        Command::List(options) => {
            done(list::list(&options, stdout.screen(Color::Auto), interrupt, &mut printed()?))
        }
        Command::Metrics(options) => {
            let width = stdout.width_of(options.message_format);
            let mut printed = printed()?;
            let mut shown = PrintableOutput::new(&mut printed).within(width);
            done(metrics::metrics(&options, &mut shown))
        }
        Command::Rules(options) => {
            done(rules::rules(&options, &mut PrintableOutput::new(&mut printed()?)))
        }
        Command::Doctor(options) => doctor::doctor(&options, interrupt, &mut printed()?),
        Command::Guard(options) => guard::guard(&options.into()),
        // If it fails, the exit code is that of the failure, after a signal too.
        Command::Emulate(options) => {
            return Ok(emulate::emulate(&options, interrupt).unwrap_or_else(|e| failed(&e)));
        }
        Command::Become(options) => return Ok(emulate::become_program(&options)),
        Command::Ask(AskOptions { request, reply }) => {
            done(cupti::run_child(&request, &reply).map_err(|e| Failure::output(&reply, &e)))
        }
        Command::Nvrtc(AskOptions { request, reply }) => {
            done(cuda_cpp::run_child(&request, &reply).map_err(|e| Failure::output(&reply, &e)))
        }
        Command::Compare(options) => stored::compare(&options, stdout, &mut printed()?),
        Command::Report(options) => done(stored::report(&options, stdout, &mut printed()?)),
        Command::Merge(options) => merge::merge(&options, stdout, &mut printed()?),
        Command::Baseline(options) => {
            done(baselines::baseline(&options, stdout.screen(Color::Auto), &mut printed()?))
        }
        Command::Runs(options) => {
            let color = match &options.action {
                RunsAction::Show { color, .. } => *color,
                RunsAction::List { .. } | RunsAction::Rm(_) => Color::Auto,
            };
            done(runs::runs(&options, stdout.screen(color), &mut printed()?))
        }
        Command::History(options) => done(history::history(&options, stdout, &mut printed()?)),
        Command::ShowConfig(options) => {
            done(show_config::show_config(&options, interrupt, &mut printed()?))
        }
        Command::Archive(options) => done(archive::archive(&options, interrupt)),
        Command::Completions(options) => {
            done(completions::completions(&options, &cli::command(), &mut printed()?))
        }
        Command::Man(options) => done(man::man(&options, cli::command(), &mut printed()?)),
    };
    ended.map(Code::code)
}

/// The exit code of a command that only succeeds or fails.
fn done(outcome: Result<()>) -> Result<Code> {
    outcome.map(|()| Code::Success)
}

fn end(outcome: &Result<u8>) -> ExitCode {
    ExitCode::from(outcome.as_ref().map_or_else(failed, |code| *code))
}

/// Writes `failure` to standard error; its exit code.
fn failed(failure: &Failure) -> u8 {
    console::error(failure);
    failure.code.code()
}
