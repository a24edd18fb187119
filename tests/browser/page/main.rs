//! The page as a browser has it.

mod heard;
mod looks;
mod opens;
mod source;
mod tools;

use std::path::PathBuf;

use gpuprof_browser_tests::browser::Browser;
use gpuprof_browser_tests::runs;
use gpuprof_model::run::Run;

/// A page in a separate file.
struct Opened {
    browser: Browser,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

/// The page of `run`, not yet opened.
fn page_of(run: &Run) -> Opened {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("page.html");
    std::fs::write(&file, runs::page(run)).expect("it can be written");
    Opened { browser: Browser::new(), file, _folder: folder }
}

/// The page of `run`, opened.
fn opened(run: &Run) -> Opened {
    let page = page_of(run);
    page.browser.open(&page.file);
    page
}
