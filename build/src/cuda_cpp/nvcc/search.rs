//! Which nvcc is taken.

use std::env;
use std::ffi::OsString;

use crate::toolkit::{self, Program};

/// The program.
pub const PROGRAM: Program = Program {
    name: "nvcc",
    variable: "GPUPROF_NVCC",
    // The wheels of CUDA 12 have no nvcc.
    packages: &["nvidia/cu13/bin"],
    install: "python3 -m pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt \
              nvidia-cuda-runtime nvidia-cuda-cccl",
    absent: "no nvcc was found",
    remedy: "it is part of the CUDA toolkit, and `{}` installs it with what it needs, but for a \
             host compiler such as g++ (Debian: `apt install g++`); GPUPROF_NVCC names its file or \
             folder",
};

/// Where to look for nvcc, and which one may be taken.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Where to look.
    pub program: toolkit::Search,
    /// The variables that nvcc itself obeys, with their values, but for options that choose
    /// architectures: gpuprof does that.
    pub settings: Vec<(&'static str, OsString)>,
    /// The newest CUDA version that the driver takes PTX of; none where no driver is asked. A newer
    /// nvcc that was not named is passed over.
    pub newest: Option<(u32, u32)>,
}

/// Variables that change nvcc's results: options before and after its own, and the host's compiler.
const SETTINGS: [&str; 3] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"];

/// Options of nvcc that choose architectures.
const ARCHITECTURES: [&str; 6] =
    ["-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--gpu-code"];

/// `flags` without the options that choose architectures: those of a library that the same shell
/// builds, as `-gencode arch=compute_80,code=compute_80`.
fn without_architectures(flags: &str) -> String {
    let mut kept = Vec::new();
    let mut words = flags.split_whitespace();
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').map_or((word, None), |(o, v)| (o, Some(v)));
        match (ARCHITECTURES.contains(&option), value) {
            (false, _) => kept.push(word),
            (true, Some(_)) => {}
            (true, None) => drop(words.next()),
        }
    }
    kept.join(" ")
}

impl Search {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        let settings = SETTINGS.into_iter().filter_map(|name| {
            let value = env::var_os(name)?;
            let text = value.to_str().filter(|_| name != "NVCC_CCBIN");
            Some((name, text.map_or_else(|| value.clone(), |it| without_architectures(it).into())))
        });
        Self {
            program: toolkit::Search::from_environment(&PROGRAM),
            settings: settings.collect(),
            newest: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architecture_options_are_dropped() {
        let flags = "-cudart=shared -gencode arch=compute_90,code=sm_90 -arch=sm_80 -lineinfo \
                     --generate-code=arch=compute_80,code=compute_80 --gpu-code sm_80 -DN=1";
        assert_eq!(without_architectures(flags), "-cudart=shared -lineinfo -DN=1");
        assert_eq!(without_architectures("-gencode"), "");
        assert_eq!(without_architectures(""), "");
    }
}
