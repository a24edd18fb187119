//! The tool prints the first screens of the book. `UPDATE_SCREENS=1`, with one test thread, writes
//! them again.

use std::{env, fs};

use crate::support::{Outcome, Workspace, repository_folder};

/// Asserts that the page shows `command` with the standard output and the exit code of `outcome`.
pub fn is_shown(command: &str, outcome: &Outcome) {
    let path = repository_folder().join("docs/book/src/first-screens.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let code = outcome.code.expect("no signal ended it");
    let screen = format!("$ {command}\n{}$ echo $?\n{code}\n```\n", outcome.tidy_stdout());
    let begin = page.find(&format!("$ {command}\n")).expect("the page shows the command");
    let end = begin + page[begin..].find("\n```\n").expect("the block ends") + "\n```\n".len();
    if env::var_os("UPDATE_SCREENS").is_some() {
        let page = [&page[..begin], &screen, &page[end..]].concat();
        fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert_eq!(without_run(&page[begin..end]), without_run(&screen), "UPDATE_SCREENS=1 writes it");
}

/// `text` without the parts that differ from run to run: how long a comparison took, and names of
/// runs.
fn without_run(text: &str) -> String {
    let kept = |line: &str| match line.split_once(':') {
        Some(("Regression", _)) => line.rsplit_once("; ").map(|(said, _)| said.to_owned()),
        _ => line.split_once(", run ").map(|(baseline, _)| baseline.to_owned()),
    };
    text.lines().map(|line| kept(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[test]
fn the_book_shows_the_main_job_and_the_tuning_of_a_kernel() {
    for command in ["run --package saxpy --series block=64..1024", "run --package matmul"] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let tool = Workspace::repository().tool(&arguments);
        let outcome = tool.env("GPUEMU_ESTIMATE", "1").run();
        is_shown(&format!("cargo gpuprof {command}"), &outcome);
    }
}
