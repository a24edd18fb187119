gpuprof::main!(planted);
