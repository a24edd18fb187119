//! The loader's cache: the libraries that programs find by name.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::files::{distinct, is_library, numbers};

/// The files of `library` in the cache, the newest first.
pub(super) fn files(library: &str) -> Vec<PathBuf> {
    let output = ["ldconfig", "/sbin/ldconfig"].into_iter().find_map(|program| {
        let mut command = Command::new(program);
        command.arg("-p").stdin(Stdio::null()).stderr(Stdio::null());
        command.output().ok().filter(|output| output.status.success())
    });
    let text = output.map(|output| output.stdout).unwrap_or_default();
    files_in_list(&String::from_utf8_lossy(&text), library)
}

/// Of lines like `libnvrtc.so.12 (libc6,x86-64) => /usr/lib/…/libnvrtc.so.12`, the files of
/// `library`.
fn files_in_list(list: &str, library: &str) -> Vec<PathBuf> {
    let found = list.lines().filter_map(|line| line.split_once(" => ")).filter(|(name, _)| {
        name.split_whitespace().next().is_some_and(|name| is_library(name, library))
    });
    let mut found: Vec<&str> = found.map(|(_, path)| path.trim()).collect();
    found.sort_by_key(|path| Reverse(numbers(path.rsplit('/').next().unwrap_or(path))));
    distinct(found.into_iter().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_loader_cache_are_sorted_newest_first() {
        let list = "2 libs found in cache `/etc/ld.so.cache'\n\
                    \tlibnvrtc.so.12 (libc6,x86-64) => /nowhere/libnvrtc.so.12\n\
                    \tlibnvrtc.so.13 (libc6,x86-64) => /nowhere/libnvrtc.so.13\n\
                    \tlibnvrtc-builtins.so.13.0 (libc6,x86-64) => /nowhere/libnvrtc-builtins.so.13.0\n";
        let expected: [PathBuf; 2] =
            ["/nowhere/libnvrtc.so.13".into(), "/nowhere/libnvrtc.so.12".into()];
        assert_eq!(files_in_list(list, "libnvrtc.so"), expected);
    }
}
