//! Shared by the tests of locks and clocks: this executable as another process.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// This test executable again, as another process that runs the ignored test `name` alone.
pub fn as_process(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a test knows its executable"));
    command
        .args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A process that reports on standard output.
pub struct Talking {
    /// The process.
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Talking {
    /// Starts it.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("it can be started");
        let lines = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, lines }
    }

    /// Waits until it says a line that begins with `word`, and returns the rest.
    pub fn says(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.lines.read_line(&mut line).expect("it is UTF-8") > 0 {
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].trim().to_owned();
            }
            line.clear();
        }
        panic!("it ended without saying {word:?}: {:?}", self.child.wait());
    }
}

/// Waits until `done`, for ten minutes at most: no machine is slower.
pub fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(600), "timed out waiting: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
