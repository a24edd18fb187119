gpuprof::main!(oxide_kernels);
