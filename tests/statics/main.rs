//! No hidden state: nothing that a process holds for itself can change, but for what is listed.
//!
//! Input: every Rust file of the workspace. Output: no `static` with interior mutability, no
//! `thread_local!` and no leak, except those of [`allowed::ALLOWED`], each of which has its reason.

mod allowed;
#[path = "../house/files.rs"]
#[allow(dead_code, reason = "packages are the house's business")]
mod files;
mod found;

use std::fs;

use allowed::ALLOWED;

/// What was found, as `ALLOWED` names it: a file and a name.
fn all() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for file in files::with_extension("rs") {
        // Fixtures with compile errors may not even be tokens.
        let Ok(tokens) = fs::read_to_string(&file).unwrap().parse() else { continue };
        let shown = files::shown(&file);
        all.extend(found::hidden_state(tokens).into_iter().map(|name| (shown.clone(), name)));
    }
    all
}

#[test]
fn hidden_process_state_has_a_reason() {
    let allowed = |(file, name): &&(String, String)| {
        ALLOWED.iter().any(|it| it.file == file.as_str() && it.name == name.as_str())
    };
    let all = all();
    let new: Vec<String> = all
        .iter()
        .filter(|found| !allowed(found))
        .map(|(file, name)| format!("{file}: {name}"))
        .collect();
    assert!(
        new.is_empty(),
        "A value that is handed on is easier to test and to follow than state that a process \
         hides. Hand it on, or give tests/statics/allowed.rs the reason why it cannot be:\n{}",
        new.join("\n")
    );
    let gone: Vec<String> = ALLOWED
        .iter()
        .filter(|it| !all.iter().any(|(file, name)| it.file == file && it.name == name))
        .map(|it| format!("{}: {}", it.file, it.name))
        .collect();
    assert!(gone.is_empty(), "No longer there, and still allowed:\n{}", gone.join("\n"));
}

#[test]
fn every_exception_has_a_reason() {
    for it in ALLOWED {
        assert!(it.reason.split(' ').count() > 3, "{}: {}: {:?}", it.file, it.name, it.reason);
    }
}
