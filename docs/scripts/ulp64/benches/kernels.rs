//! One harness for all functions.

gpuprof::main!(ulp64);
