//! The device's turn: processes prepare while another one measures, and only one measures.
//!
//! Input: the path of a file that the runner makes when the process before this one is done.
//! What needs the device waits for it. A runner that is gone makes no file; then this process is
//! gone as well (`parent_death.rs`).

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// How often a process looks whether its turn has come.
const TICK: Duration = Duration::from_millis(1);

/// What a process waits for before it uses the device.
#[derive(Debug)]
pub(crate) struct Handover {
    file: Option<PathBuf>,
}

impl Handover {
    /// The turn that `file` announces; none where the device is free.
    pub(crate) fn of(file: Option<PathBuf>) -> Self {
        Self { file }
    }

    /// Returns when the turn has come.
    pub(crate) fn take(&self) {
        while self.file.as_ref().is_some_and(|file| !file.exists()) {
            thread::sleep(TICK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Instant;

    #[test]
    fn a_turn_comes_with_its_file() {
        Handover::of(None).take();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("turn");
        let turn = Handover::of(Some(file.clone()));
        let written = thread::spawn({
            let file = file.clone();
            move || {
                thread::sleep(Duration::from_millis(30));
                let now = Instant::now();
                fs::write(file, "").unwrap();
                now
            }
        });
        turn.take();
        let taken = Instant::now();
        assert!(taken >= written.join().unwrap());
        turn.take();
    }
}
