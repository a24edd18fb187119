//! Both versions in one harness.

gpuprof::main!(rodinia, ported);
