//! The harness that `cargo gpuprof` builds and runs: it names the crate of its kernels.

gpuprof::main!(ten_kernels);
