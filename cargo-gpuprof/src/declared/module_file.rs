//! What the files of modules are called.

use crate::store::sha256;

/// The longest part of a module's name that its file keeps.
const KEPT: usize = 60;

/// The name of PTX that a program holds as text.
pub(super) fn of_text(text: &str) -> String {
    format!("{}.ptx", &sha256(text.as_bytes())[..12])
}

/// The file of the module called `name`: the same for a package, and one of its own for each name
/// that is none.
pub fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.chars().all(plain) {
        return format!("{name}.ptx");
    }
    let stem = name.trim_end_matches(".ptx");
    let kept = stem.chars().map(|c| if plain(c) { c } else { '-' }).take(KEPT);
    format!("{}-{}.ptx", kept.collect::<String>(), &sha256(name.as_bytes())[..12])
}
