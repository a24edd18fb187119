//! The harness that `cargo gpuprof` builds and runs: it names the crate whose kernels it holds.

gpuprof::main!(csr);
