gpuprof::main!(peers);
