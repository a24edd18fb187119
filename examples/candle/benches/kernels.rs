gpuprof::main!(candle);
