gpuprof::main!(changed_line);
