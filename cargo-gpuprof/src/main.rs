//! `cargo gpuprof`, the executable. On Linux it is [`cargo_gpuprof::tool`]; elsewhere it builds,
//! and refuses.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    cargo_gpuprof::tool::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!(
        "error: cargo gpuprof runs on Linux (x86-64 or aarch64), and this is {}. Kernels and harnesses compile here \
         (cargo check, rust-analyzer); to profile them, use a Linux machine, a container or WSL 2. The emulated \
         driver needs no GPU there.",
        std::env::consts::OS
    );
    // `ExitCode::NotPossible` of gpuprof-model, which is not built here.
    ExitCode::from(107)
}
