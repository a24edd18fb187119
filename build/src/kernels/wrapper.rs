//! rustc as cargo starts it in a kernel build: every kernel crate gets the crate attributes that
//! its source does not have, and some flags.
//!
//! Input: the arguments that cargo gives its `RUSTC_WRAPPER`: this executable. Output: rustc, in
//! this process's place. A kernel crate depends on `gpuprof`, under any name: the
//! package that is built, or one of its dependencies. Everything else (`core`, helpers without
//! `std`, build scripts, macros) is compiled unchanged.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::KERNEL_TARGET as TARGET;
use gpuprof_system::console;

/// Says that this executable is started as a wrapper.
pub(super) const MARK: &str = "__GPUPROF_KERNEL_RUSTC";

/// The wrapper that the user has, such as sccache.
pub(super) const USERS: &str = "__GPUPROF_USERS_RUSTC_WRAPPER";

/// The features that device functions need.
pub(super) const FEATURES: [&str; 3] = ["abi_ptx", "stdarch_nvptx", "asm_experimental_arch"];

/// The flags of a kernel crate. The lines of a macro's code are those of its use, except in a
/// function that the macro generates. Its warnings were shown when the host built the same source.
pub(super) const FLAGS: [&str; 3] =
    ["-Zcrate-attr=no_std", "-Ccollapse-macro-debuginfo=yes", "-Awarnings"];

/// Whether cargo started this process in rustc's place.
pub fn is_wrapper() -> bool {
    env::var_os(MARK).is_some()
}

/// Becomes rustc.
pub fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if is_kernel_crate(&arguments) {
        let missing = missing_features(&arguments);
        let given = missing.iter().map(|feature| format!("-Zcrate-attr=feature({feature})").into());
        arguments.extend(FLAGS.map(OsString::from).into_iter().chain(given));
    }
    let users = env::var_os(USERS).filter(|wrapper| !wrapper.is_empty());
    let all = users.into_iter().chain(arguments);
    let mut all = all.skip_while(|program| program.is_empty());
    let Some(program) = all.next() else {
        console::error(format_args!("{MARK} is set, and no rustc is named"));
        return ExitCode::from(2);
    };
    let error = Command::new(&program).args(all).env_remove(MARK).env_remove(USERS).exec();
    console::error(format_args!("cannot start {}: {error}", program.to_string_lossy()));
    ExitCode::from(2)
}

/// Whether these arguments compile, for the device, a crate that depends on `gpuprof`.
fn is_kernel_crate(arguments: &[OsString]) -> bool {
    let on_device = arguments.iter().any(|argument| argument == TARGET);
    let of_gpuprof = |argument: &OsString| {
        let path = argument.to_str().and_then(|text| Some(text.rsplit_once('=')?.1));
        let name = path.and_then(|path| Path::new(path).file_name()).and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with("libgpuprof-") || name.starts_with("libgpuprof."))
    };
    on_device && arguments.iter().any(of_gpuprof)
}

/// The features that a kernel crate does not have in its own file.
fn missing_features(arguments: &[OsString]) -> Vec<&'static str> {
    let is_source = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let root = arguments.iter().map(PathBuf::from).find(|path| is_source(&path));
    let text = root.and_then(|root| fs::read_to_string(root).ok()).unwrap_or_default();
    let own = inner_attributes(&text).join("\n");
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let named: Vec<&str> = own.split(word).collect();
    FEATURES.into_iter().filter(|feature| !named.contains(feature)).collect()
}

/// The texts of the `#![…]` at the beginning of a source file.
fn inner_attributes(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    if rest.starts_with("#!") && !rest.starts_with("#![") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    loop {
        rest = rest.trim_start();
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
        } else if let Some(attribute) = rest.strip_prefix("#![") {
            let mut depth = 1_usize;
            let end = attribute.find(|c| {
                depth = match c {
                    '[' => depth + 1,
                    ']' => depth - 1,
                    _ => depth,
                };
                depth == 0
            });
            let Some(end) = end else { return found };
            found.push(&attribute[..end]);
            rest = &attribute[end + 1..];
        } else {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_file_are_recognised_and_not_repeated() {
        let text = "#!/usr/bin/env x\n// no\n/* feature(no) */\n#![no_std]\n\
                    #![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx))]\n\n//! Docs.\n\
                    use core::fmt;\n#![feature(late)]\n";
        let attributes = inner_attributes(text);
        assert_eq!(attributes[0], "no_std");
        assert!(attributes[1].contains("abi_ptx") && attributes.len() == 2, "{attributes:?}");
        assert_eq!(inner_attributes("#![feature(abi_ptx"), [""; 0]);
    }

    #[test]
    fn kernel_crates_are_recognised_by_their_dependency_on_gpuprof() {
        let arguments = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let device = "rustc --crate-name a src/lib.rs --target nvptx64-nvidia-cuda --extern";
        assert!(is_kernel_crate(&arguments(&format!("{device} gp=/t/libgpuprof-0a.rmeta"))));
        assert!(!is_kernel_crate(&arguments(&format!("{device} core=/t/libcore-0a.rmeta"))));
        assert!(!is_kernel_crate(&arguments(&format!("{device} m=/t/libgpuprof_macros-0a.so"))));
        let host = "rustc --crate-name a src/lib.rs --extern gpuprof=/t/libgpuprof-0a.rlib";
        assert!(!is_kernel_crate(&arguments(host)));
        assert!(!is_kernel_crate(&arguments("rustc - --crate-name ___ --print=file-names")));
    }
}
