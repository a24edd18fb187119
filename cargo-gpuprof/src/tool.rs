//! The tool: reads the command line, runs it, and maps the outcome to an exit code.

use std::fs::File;
use std::io::{self, LineWriter};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use crate::broken_pipe::{MayLeave, MayStop};
use crate::cli::{self, Command, Gpuprof};
use crate::commands::{
    StandardOutput, archive, baselines, calibrate, check, completions, doctor, emulate, history,
    list, man, merge, metrics, rules, run, runs, show_config, stored,
};
use crate::options::{Color, RunsAction};
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
    let parsed = cli::parse(std::env::args_os());
    // The guard listens to no signal: main's second one would end it with clocks locked.
    if let Some(Command::Guard(options)) = &parsed.command {
        return end(&guard::guard(&options.clone().into()));
    }
    // Nor does one that becomes a program, which handles signals itself.
    if let Some(Command::Become(options)) = &parsed.command {
        return ExitCode::from(emulate::become_program(options));
    }
    let kept = keeps_something(&parsed);
    let interrupt = match if kept { Interrupt::listen() } else { Interrupt::end_at_once() } {
        Ok(interrupt) => interrupt,
        Err(error) => {
            return end(&Err(Failure::usage(format!("cannot listen for signals: {error}"))));
        }
    };
    // It ends as the program does that it runs, with whatever code.
    if let Some(Command::Emulate(options)) = &parsed.command {
        return match emulate::emulate(options, &interrupt) {
            Ok(code) => ExitCode::from(code),
            Err(failure) => end(&Err(failure)),
        };
    }
    let measures = matches!(
        &parsed.command,
        None | Some(Command::Run(_) | Command::Check(_) | Command::Calibrate(_))
    );
    let outcome = dispatch(parsed, &interrupt);
    match (interrupt.signal(), &outcome) {
        // Other failures follow from the signal, except for results that could not be kept.
        (Some(signal), Err(failure)) => {
            if failure.code == Code::OutputFailed {
                end(&outcome);
            }
            ExitCode::from(128 + signal)
        }
        // A run that saw the signal reports it; the signal does not undo one that had ended before.
        (Some(signal), Ok(_)) if !measures => ExitCode::from(128 + signal),
        _ => end(&outcome),
    }
}

/// Whether a signal finds something to keep or to end first: what was measured, processes, files
/// that are packed. All other commands only read and write, and end where they are.
fn keeps_something(parsed: &Gpuprof) -> bool {
    match &parsed.command {
        None => parsed.run.gate.load_baseline.is_none(),
        Some(Command::Run(options)) => options.gate.load_baseline.is_none(),
        Some(Command::Calibrate(options)) => options.from.is_none(),
        Some(
            Command::Check(_)
            | Command::List(_)
            | Command::Doctor(_)
            | Command::Emulate(_)
            | Command::ShowConfig(_)
            | Command::Archive(_)
            | Command::Ask(_)
            | Command::Guard(_),
        ) => true,
        Some(
            Command::Metrics(_)
            | Command::Rules(_)
            | Command::Compare(_)
            | Command::Report(_)
            | Command::Merge(_)
            | Command::Baseline(_)
            | Command::Runs(_)
            | Command::History(_)
            | Command::Completions(_)
            | Command::Become(_)
            | Command::Nvrtc(_)
            | Command::Man(_),
        ) => false,
    }
}

/// Standard output, line by line. A signal ends its writer, even if the pipe is full.
fn unstoppable(interrupt: &Interrupt) -> Result<LineWriter<MayStop<'_, File>>> {
    // Not the buffer of Rust's own one, which would wait for the reader when the process ends.
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    let stdout = stdout.map_err(|e| Failure::output(Path::new("standard output"), &e))?;
    Ok(LineWriter::new(MayStop::new(File::from(stdout), interrupt)))
}

fn dispatch(parsed: Gpuprof, interrupt: &Interrupt) -> Result<Code> {
    let mut out = unstoppable(interrupt)?;
    let stdout = StandardOutput::of_process();
    let mut printed = MayLeave(unstoppable(interrupt)?);
    match parsed.command {
        None => run::run(&parsed.run, stdout, interrupt, &mut out),
        Some(Command::Run(options)) => run::run(&options, stdout, interrupt, &mut out),
        Some(Command::Check(options)) => check::check(&options, stdout, interrupt, &mut out),
        Some(Command::List(options)) => {
            done(list::list(&options, stdout.screen(Color::Auto), interrupt, &mut printed))
        }
        Some(Command::Metrics(options)) => {
            let width = stdout.width_of(options.message_format);
            let mut shown = PrintableOutput::new(&mut printed).within(width);
            metrics::metrics(&options, &mut shown).map(|()| Code::Success)
        }
        Some(Command::Rules(options)) => {
            let mut shown = PrintableOutput::new(&mut printed);
            rules::rules(&options, &mut shown).map(|()| Code::Success)
        }
        Some(Command::Doctor(options)) => doctor::doctor(&options, interrupt, &mut printed),
        Some(Command::Guard(options)) => guard::guard(&options.into()),
        Some(Command::Emulate(options)) => {
            emulate::emulate(&options, interrupt).map(|_| Code::Success)
        }
        // Became a program, or ended, before it came here.
        Some(Command::Become(_)) => Ok(Code::Success),
        Some(Command::Ask(options)) => cupti::run_child(&options.request, &options.reply)
            .map(|()| Code::Success)
            .map_err(|e| Failure::output(&options.reply, &e)),
        Some(Command::Nvrtc(options)) => cuda_cpp::run_child(&options.request, &options.reply)
            .map(|()| Code::Success)
            .map_err(|e| Failure::output(&options.reply, &e)),
        Some(Command::Compare(options)) => stored::compare(&options, stdout, &mut printed),
        Some(Command::Report(options)) => done(stored::report(&options, stdout, &mut printed)),
        Some(Command::Merge(options)) => merge::merge(&options, stdout, &mut printed),
        Some(Command::Baseline(options)) => {
            done(baselines::baseline(&options, stdout.screen(Color::Auto), &mut printed))
        }
        Some(Command::Runs(options)) => {
            let color = match &options.action {
                RunsAction::Show { color, .. } => *color,
                RunsAction::List { .. } | RunsAction::Rm(_) => Color::Auto,
            };
            runs::runs(&options, stdout.screen(color), &mut printed).map(|()| Code::Success)
        }
        Some(Command::History(options)) => done(history::history(&options, stdout, &mut printed)),
        Some(Command::Calibrate(options)) => calibrate::calibrate(&options, interrupt, &mut out),
        Some(Command::ShowConfig(options)) => {
            done(show_config::show_config(&options, interrupt, &mut printed))
        }
        Some(Command::Archive(options)) => done(archive::archive(&options, interrupt)),
        Some(Command::Completions(options)) => {
            done(completions::completions(&options, &cli::command(), &mut printed))
        }
        Some(Command::Man(options)) => done(man::man(&options, cli::command(), &mut printed)),
    }
}

/// The exit code of a command that only succeeds or fails.
fn done(outcome: Result<()>) -> Result<Code> {
    outcome.map(|()| Code::Success)
}

fn end(outcome: &Result<Code>) -> ExitCode {
    if let Err(failure) = outcome {
        console::error(failure);
    }
    ExitCode::from(outcome.as_ref().map_or_else(|failure| failure.code, |&code| code).code())
}
