#[gpuprof::kernel(
    series(block = 64),
    grid = 1,
    threshold("best throughput => 60% of peak"),
    threshold("every duration <= 5 uss"),
    threshold("every registers <= 5 us"),
    threshold("every duraton <= 5 us"),
    threshold("where blok==64 duration <= 5 us"),
    threshold("every duration <= baseline + 5"),
    threshold("where block==129 duration <= 5 us"),
    threshold(registers),
    threshold(),
)]
pub unsafe fn nothing() {}

fn main() {}
