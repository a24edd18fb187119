gpuprof::main!(operations);
