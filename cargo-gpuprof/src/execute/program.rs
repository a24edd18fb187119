//! A program of the user's, run to its end with our standard streams.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGTERM;

use super::Interrupt;
use crate::awaited::Awaited;

/// Runs `command` and waits for its end. A terminal sends Ctrl-C to the program as well; a SIGTERM
/// that only this process got is handed on.
///
/// # Errors
/// It could not be started or waited for.
pub fn run_program(command: &mut Command, interrupt: &Interrupt) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let status = Awaited::start(move || child.wait())?;
    let mut told = false;
    loop {
        if let Some(ended) = status.result() {
            return ended;
        }
        let terminated = interrupt.signal().map(i32::from) == Some(SIGTERM);
        if let (true, false, Some(program)) = (terminated, told, group) {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(program, Signal::TERM);
            told = true;
        }
        if interrupt.signal().is_some() {
            // What was heard stays readable: from here on only the end is waited for.
            let gone = || Err(io::Error::other("the program could not be waited for"));
            return status.within(Duration::MAX).unwrap_or_else(gone);
        }
        interrupt.wait(&[status.as_fd()], None)?;
    }
}
