//! Runs a user's program to its end with our standard streams. The program does not outlive this
//! process: the child asks the system to be killed with its parent.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process, set_parent_process_death_signal};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::interrupt::Interrupt;

/// Runs `command` and waits for its end. The first signal is handed on to the program, but for a
/// SIGINT where a terminal sends Ctrl-C to the program as well.
///
/// # Errors
/// It could not be started or waited for.
pub fn run_program(command: &mut Command, interrupt: &Interrupt) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let program = Pid::from_child(&child);
    let status = BlockingCall::start(move || child.wait())?;
    loop {
        if let Some(ended) = status.result() {
            return ended;
        }
        if let Some(signal) = interrupt.signal() {
            if let Some(signal) = for_the_program(i32::from(signal), has_terminal()) {
                // One that has ended meanwhile needs no signal.
                let _ = kill_process(program, signal);
            }
            // What was heard stays readable: from here on only the end is waited for.
            let gone = || Err(io::Error::other("the program could not be waited for"));
            return status.within(Duration::MAX).unwrap_or_else(gone);
        }
        interrupt.wait(&[status.as_fd()], None)?;
    }
}

/// What is handed on of `signal`, with a terminal that sends Ctrl-C to both or without.
fn for_the_program(signal: i32, has_terminal: bool) -> Option<Signal> {
    match signal {
        SIGINT => (!has_terminal).then_some(Signal::INT),
        SIGTERM => Some(Signal::TERM),
        SIGHUP => Some(Signal::HUP),
        _ => None,
    }
}

/// Whether this process is in the foreground of a terminal.
fn has_terminal() -> bool {
    let foreground =
        || -> io::Result<bool> { Ok(tcgetpgrp(File::open("/dev/tty")?)? == getpgrp()) };
    foreground().unwrap_or(false)
}

/// Becomes `command`, which is killed when its parent, the process `parent`, ends. Returns only if
/// it cannot be started.
pub fn become_program(command: &mut Command, parent: u32) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // One that has ended before sends nothing.
    if parent_id() != parent {
        return io::Error::other("its parent has ended");
    }
    command.exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_interrupt_is_not_forwarded_twice() {
        assert_eq!(for_the_program(SIGINT, true), None);
        assert_eq!(for_the_program(SIGINT, false), Some(Signal::INT));
        assert_eq!(for_the_program(SIGTERM, true), Some(Signal::TERM));
        assert_eq!(for_the_program(SIGHUP, true), Some(Signal::HUP));
    }
}
