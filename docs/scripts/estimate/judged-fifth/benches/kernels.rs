//! The harness that `cargo gpuprof` builds and runs.

gpuprof::main!(judged_fifth);
