//! The outcome of a run: exit code, both outputs, and a transcript that is the same on every
//! machine.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::support::{repository_folder, target_folder};

/// A subcommand that has ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    folder: PathBuf,
}

impl Outcome {
    pub(crate) fn new(output: Output, folder: PathBuf) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("both outputs are UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Self { code: output.status.code(), stdout, stderr, folder }
    }

    /// The same outcome, after its exit code was asserted.
    ///
    /// # Panics
    /// It ended in another way.
    pub fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Exit code and both outputs; folders and times, which differ from run to run, in brackets.
    pub fn transcript(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        let (stdout, stderr) = (self.tidy(&self.stdout), self.tidy(&self.stderr));
        format!("exit code: {code}\n----- stdout -----\n{stdout}\n----- stderr -----\n{stderr}")
    }

    /// Standard output as in [`Self::transcript`].
    pub fn tidy_stdout(&self) -> String {
        self.tidy(&self.stdout)
    }

    /// The JSON objects of standard output, one a line.
    ///
    /// # Panics
    /// A line that is not a JSON object with a `reason`.
    pub fn events(&self) -> Vec<Value> {
        let event = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert!(event["reason"].is_string(), "no reason: {line}");
            event
        };
        self.stdout.lines().map(event).collect()
    }

    /// The events of one reason.
    pub fn events_of(&self, reason: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["reason"] == reason).collect()
    }

    fn tidy(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let folders = [
            (self.folder.clone(), "[WORKSPACE]"),
            (target_folder(), "[TARGET]"),
            (repository_folder().to_owned(), "[REPOSITORY]"),
        ];
        for (folder, name) in folders {
            text = text.replace(&folder.display().to_string(), name);
        }
        text.lines().map(|line| without_time(line).trim_end().to_owned() + "\n").collect()
    }
}

/// `… in 0.04 s` → `… in [TIME]`
fn without_time(line: &str) -> String {
    let timed = line.strip_suffix(" s").and_then(|rest| rest.rsplit_once(" in "));
    match timed {
        Some((head, number)) if number.parse::<f64>().is_ok() => format!("{head} in [TIME]"),
        _ => line.to_owned(),
    }
}
